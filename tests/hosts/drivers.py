"""The three hosts, each driven the same way: set up, asked, continued, spoken to at a terminal."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from hosts.model import Rule, Say
from hosts.place import Place, Ran, Terminal, merge_json

# Each of the three knows these, under these names.
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PreCompact",
    "PostCompact",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "SessionEnd",
)
SUMMARY = "The user asked; the model answered."


@dataclass
class Host:
    """What every host can do."""

    place: Place
    name: ClassVar[str]
    command: ClassVar[str]
    compact: ClassVar[str] = "/compact"
    leave: ClassVar[str] = "/quit"
    ready: ClassVar[str]
    events: ClassVar[tuple[str, ...]] = EVENTS
    rules: ClassVar[tuple[Rule, ...]] = ()

    def set_up(self) -> None:
        """The model's address, a made-up key, and nothing that would talk to anybody else."""
        self.place.model.rules += self.rules

    def hook(self, command: str, events: Iterable[str] | None = None) -> None:
        """`command` answers these events, in the user's settings; {event} in it is the event."""
        raise NotImplementedError

    def allow(self, server: str) -> None:
        """Lets the model call a server's tools without asking."""

    def serve(self, name: str, command: list[str]) -> None:
        """An MCP server, in the user's own settings."""
        raise NotImplementedError

    def prompt(self, text: str, *more: str, resume: bool = False) -> Ran:
        """One prompt, without a terminal; with `resume`, in the latest conversation."""
        raise NotImplementedError

    def full(self) -> int:
        """At how many tokens it compacts by itself: few enough, and set here if it must be."""
        raise NotImplementedError

    def interactive(self, *more: str) -> Terminal:
        """A conversation at a terminal."""
        return self.place.terminal([self.command, *more], self.ready)

    def tool(self, server: str, tool: str) -> str:
        """The name under which the model calls a server's tool."""
        return f"mcp__{server}__{tool}"

    def _groups(self, command: str, events: Iterable[str] | None) -> dict[str, Any]:
        """The form of `hooks` that the three have in common."""
        return {
            event: [{"hooks": [{"type": "command", "command": command.replace("{event}", event)}]}]
            for event in events or self.events
        }


class ClaudeCode(Host):
    name = "claude-code"
    command = "claude"
    ready = "shortcuts"
    rules = (
        Rule(
            r"create a detailed summary of (the|this) conversation",
            Say(f"<analysis>Short.</analysis><summary>{SUMMARY}</summary>"),
        ),
    )
    leave = "/exit"

    def set_up(self) -> None:
        super().set_up()
        key = "sk-ant-made-up-0123456789abcdefghij"
        self.place.env |= {
            "ANTHROPIC_BASE_URL": self.place.model.address,
            "ANTHROPIC_API_KEY": key,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        merge_json(
            self.place.home / ".claude.json",
            {
                "hasCompletedOnboarding": True,
                "theme": "dark",
                "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
                "projects": {str(self.place.project): {"hasTrustDialogAccepted": True}},
            },
        )

    def hook(self, command: str, events: Iterable[str] | None = None) -> None:
        hooks = self._groups(command, events)
        merge_json(self.place.home / ".claude" / "settings.json", {"hooks": hooks})

    def serve(self, name: str, command: list[str]) -> None:
        server = {"type": "stdio", "command": command[0], "args": command[1:]}
        merge_json(self.place.home / ".claude.json", {"mcpServers": {name: server}})

    def allow(self, server: str) -> None:
        settings = self.place.home / ".claude" / "settings.json"
        merge_json(settings, {"permissions": {"allow": [f"mcp__{server}"]}})

    def prompt(self, text: str, *more: str, resume: bool = False) -> Ran:
        again = ["--continue"] if resume else []
        return self.place.run([self.command, *again, *more, "-p", text])

    def full(self) -> int:
        self.place.env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
        return 97_000


class QwenCode(Host):
    name = "qwen-code"
    command = "qwen"
    ready = "Type your message"
    compact = "/compress"
    rules = (
        Rule(
            r"the component that summarizes a conversation",
            Say(f"<state_snapshot><overall_goal>{SUMMARY}</overall_goal></state_snapshot>"),
        ),
        Rule(r"Scan the recent conversation history", Say("Nothing to remember.")),
    )

    def set_up(self) -> None:
        super().set_up()
        self.place.env |= {
            "OPENAI_BASE_URL": self.place.model.address + "/v1",
            "OPENAI_API_KEY": "made-up",
            "OPENAI_MODEL": "scripted",
        }
        merge_json(
            self.place.home / ".qwen" / "settings.json",
            {
                "security": {"auth": {"selectedType": "openai"}},
                "model": {"name": "scripted"},
                "privacy": {"usageStatisticsEnabled": False},
                "telemetry": {"enabled": False},
                "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            },
        )

    def hook(self, command: str, events: Iterable[str] | None = None) -> None:
        hooks = self._groups(command, events)
        merge_json(self.place.home / ".qwen" / "settings.json", {"hooks": hooks})

    def serve(self, name: str, command: list[str]) -> None:
        server = {"command": command[0], "args": command[1:]}
        merge_json(self.place.home / ".qwen" / "settings.json", {"mcpServers": {name: server}})

    def allow(self, server: str) -> None:
        settings = self.place.home / ".qwen" / "settings.json"
        merge_json(settings, {"permissions": {"allow": [f"mcp__{server}"]}})

    def prompt(self, text: str, *more: str, resume: bool = False) -> Ran:
        again = ["--continue"] if resume else []
        return self.place.run([self.command, *again, *more, "-p", text])

    def full(self) -> int:
        return 195_000  # of the 200,000 that it takes a model that it does not know to have


@dataclass
class Codex(Host):
    bypass_trust: bool = True

    name = "codex"
    command = "codex"
    ready = "Ask Codex"
    rules = (Rule(r"CONTEXT CHECKPOINT COMPACTION", Say(SUMMARY)),)

    def set_up(self) -> None:
        super().set_up()
        self.place.env |= {"SCRIPTED_KEY": "made-up"}
        (self.place.home / ".codex").mkdir(exist_ok=True)
        self.settings(
            f"""
            model = "gpt-5"
            model_provider = "scripted"
            approval_policy = "never"
            sandbox_mode = "read-only"
            check_for_update_on_startup = false

            [model_providers.scripted]
            name = "scripted"
            base_url = "{self.place.model.address}/v1"
            wire_api = "responses"
            env_key = "SCRIPTED_KEY"
            request_max_retries = 0
            stream_max_retries = 0

            [analytics]
            enabled = false

            [projects."{self.place.project}"]
            trust_level = "trusted"
            """
        )

    def full(self) -> int:
        config = self.place.home / ".codex" / "config.toml"
        config.write_text("model_auto_compact_token_limit = 60000\n" + config.read_text())
        return 70_000

    def settings(self, more: str) -> None:
        """Adds to its `config.toml`."""
        lines = "\n".join(line.strip() for line in more.strip().splitlines())
        with (self.place.home / ".codex" / "config.toml").open("a") as file:
            file.write(lines + "\n\n")

    def hook(self, command: str, events: Iterable[str] | None = None) -> None:
        hooks = self._groups(command, events)
        merge_json(self.place.home / ".codex" / "hooks.json", {"hooks": hooks})

    def serve(self, name: str, command: list[str]) -> None:
        self.settings(
            f"""
            [mcp_servers.{name}]
            command = {json.dumps(command[0])}
            args = {json.dumps(command[1:])}
            """
        )

    def prompt(self, text: str, *more: str, resume: bool = False) -> Ran:
        again = ["resume", "--last"] if resume else []
        return self.place.run([self.command, "exec", *self._trust(), *again, *more, text])

    def interactive(self, *more: str) -> Terminal:
        command = [self.command, "--no-daemon", "--no-alt-screen", *self._trust(), *more]
        return self.place.terminal(command, self.ready)

    def tool(self, server: str, tool: str) -> str:
        return f"mcp__{server}/{tool}"

    def _trust(self) -> list[str]:
        return ["--dangerously-bypass-hook-trust"] if self.bypass_trust else []


HOSTS: dict[str, type[Host]] = {host.name: host for host in (ClaudeCode, QwenCode, Codex)}
