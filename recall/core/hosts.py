"""The coding agents that recall works inside, and how each treats what a hook hands it.

What is written here was seen with the real hosts; docs/hosts.md says how, and with which version.
"""

from __future__ import annotations

from recall.tuples import NamedTuple

EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreCompact", "PostCompact", "SessionEnd"),
    "PreToolUse",
)
"""The hooks that recall answers; all hosts name them alike."""
STARTS, PROMPT, COMPACTS, COMPACTED, ENDS, TOOL = EVENTS


class Host(NamedTuple):
    """One coding agent. `name` is the word after `--host`, and the first part of session ids."""

    name: str
    most: int
    """How much of one hook's text reaches the model whole, in `unit`."""
    unit: str = "utf-16"
    """utf-16: 16-bit units, as JavaScript counts; utf-8: bytes."""
    start_anchored: bool = False
    """SessionStart's text stands in the system prompt: it outlives a compaction, each resume
    replaces it, and the transcript does not show it."""
    reply: tuple[bytes, ...] = (b'"type":"assistant"', b'"role":"assistant"')
    """What a line of its transcript holds where the model has answered."""
    compaction: tuple[bytes, ...] = ()
    """What a line of its transcript holds where the conversation was compacted."""
    recorded_at_start: bool = False
    """A compaction stands in the transcript by the time a start tells of it."""
    shell_env: tuple[str, ...] = ()
    """Variables that it sets for the commands that its model runs."""
    program: str = ""
    """Its process's name."""
    session_env: str = ""
    """The variable that gives its MCP servers the session's id; empty where none does, or where
    it is wrong after a resume."""

    def size(self, text: str) -> int:
        """Return what the text counts against `most`."""
        if self.unit == "utf-8":
            return len(text.encode("utf-8", "replace"))
        return len(text) + sum(character > "\uffff" for character in text)


HOSTS = {
    host.name: host
    for host in (
        Host(
            "claude-code",
            9_900,
            compaction=(b'"subtype":"compact_boundary"',),
            shell_env=("CLAUDECODE",),
            program="claude",
        ),
        Host(
            "qwen-code",
            40_000,
            start_anchored=True,
            compaction=(b'"subtype":"chat_compression"',),
            recorded_at_start=True,
            shell_env=("QWEN_CODE",),
            program="qwen",
            session_env="QWEN_CODE_SESSION_ID",
        ),
        Host(
            "codex",
            9_900,
            unit="utf-8",
            shell_env=("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"),
            program="codex",
            compaction=(b'"type":"compacted"',),
            recorded_at_start=True,
        ),
    )
}


def session_of(host: str, id: str) -> str:
    """Return the name under which a host's session is kept, in every process alike."""
    return f"{host}:{id}"
