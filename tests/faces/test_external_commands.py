"""recall external search, remember, status, as a person uses them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("httpx2", reason="the extra external is not installed")

from external_place import placed

from recall.core.external import default_id
from tests.remote.endpoint import drips, hangs, sends
from tests.remote.mem0_service import KEY, serving

TEXT = "Deploys to staging happen on Fridays."


@pytest.mark.parametrize(
    ("kind", "protocol"), [("v2", "mem0-v2"), ("v3", "mem0-v3"), ("oss", "mem0-oss-2026-08")]
)
def test_a_text_is_shown_whole_sent_on_a_yes_and_found(
    tmp_path: Path, kind: str, protocol: str
) -> None:
    """The approval has the text, the address and the ids; what came of it is printed."""
    with placed(tmp_path, kind, prefix="/p") as place:
        place.settle(protocol=protocol)
        ran = place.typed("external", "remember", TEXT, typed="y\n")
        assert ran.code == 0, ran
        for part in (TEXT, place.service.url, protocol, "recall-", "Send this? [y/n]"):
            assert part in ran.shown
        outcome = "accepted" if kind == "v3" else "stored"
        assert ran.out.startswith(f"{outcome}  mem0:127.0.0.1  ")
        found = place.run("external", "search", "staging", "deploys")
        assert found.code == 0 and f"│ {TEXT}" in found.out
        last = "external-add" + ("-accepted" if kind == "v3" else "")
        assert place.rows() == ["external-add-sent", last, "recalled"]


def test_a_no_and_nobody_there_send_nothing(tmp_path: Path) -> None:
    """The service's own log has no request; the audit has the refusal."""
    with placed(tmp_path) as place:
        for ran in (
            place.typed("external", "remember", TEXT, typed="n\n"),
            place.run("external", "remember", TEXT),
            place.run("external", "remember", "-", input=TEXT.encode()),
        ):
            assert ran.code == 1
            assert "Nothing was sent" in ran.shown
        assert place.service.calls == []
        assert place.rows() == ["external-add-denied"] * 3


@pytest.mark.parametrize(
    ("act", "code", "outcome"),
    [
        (sends(b'{"results": [{"id": "1"}]}'), 0, "stored"),
        (sends(b'{"detail": "too long"}', status=400), 1, "failed"),
        (sends(b"<html>", status=502), 3, "unknown"),
    ],
)
def test_the_exit_code_tells_the_outcome(
    tmp_path: Path, act: object, code: int, outcome: str
) -> None:
    """0 stored or accepted, 1 failed, 3 unknown, which says not to retry; JSON says the same."""
    with placed(tmp_path, "v2", act) as place:  # type: ignore[arg-type]
        ran = place.typed("external", "remember", TEXT, "--json", typed="y\n")
        told = json.loads(ran.out)
        assert (ran.code, told["outcome"]) == (code, outcome)
        assert ("cause" in told) == (outcome != "stored")
        assert ("Do not retry" in told["message"]) == (outcome == "unknown")
        assert len(place.service.calls) == 1


def test_status_shows_everything_but_the_key(tmp_path: Path) -> None:
    """Where it goes, as whom, where the key is; nothing is sent for it."""
    with placed(tmp_path) as place:
        document = place.json("external", "status")
        assert document["usable"] is True and document["error"] is None
        assert document["key"] == {"variable": "MEM0_API_KEY", "source": str(place.config)}
        assert document["destination"]["url"] == f"{place.service.url}/v1/memories"
        text = place.run("external", "status").out + place.run("status").out
        assert KEY not in json.dumps(document) + text
        assert place.service.calls == []


def test_status_says_what_is_missing(tmp_path: Path) -> None:
    """Nothing configured is no failure; a service without a key is."""
    with placed(tmp_path) as place:
        place.settle(key="")
        ran = place.run("external", "status")
        assert ran.code == 1
        assert "key      MEM0_API_KEY, not set" in ran.out
        place.config.write_text("")
        ran = place.run("external", "status")
        assert ran.code == 0 and "No external service is configured" in ran.out
        for command in (("search", "x"), ("remember", "x"), ("mcp",)):
            ran = place.run("external", *command)
            assert ran.code == 2
            assert "external.mem0.base_url" in ran.shown


def test_without_leave_nothing_is_stored(tmp_path: Path) -> None:
    """enable_writes is off by default; the refusal names it."""
    with placed(tmp_path) as place:
        place.settle(enable_writes=False)
        ran = place.typed("external", "remember", TEXT, typed="y\n")
        assert ran.code == 2
        assert "external.mem0.enable_writes" in ran.shown
        assert place.service.calls == []


def test_a_project_can_neither_enable_redirect_rescope_nor_erase(tmp_path: Path) -> None:
    """Its file is refused and named, whatever it tries; its .env is not looked at."""
    with placed(tmp_path) as place, serving("v2") as evil:
        own = place.project / ".recall/config.toml"
        own.parent.mkdir()
        for text in (
            f'[external.mem0]\nbase_url = "{evil.url}"\n',
            "[external.mem0]\nenable_writes = true\n",
            '[external.mem0.scope]\nuser_id = "mine"\n',
            "[external]\n",
            "external = {}\n",
            '[env]\nMEM0_API_KEY = "m0-of-somebody-else"\n',
        ):
            own.write_text(text)
            ran = place.run("external", "search", "staging")
            assert ran.code == 2
            assert str(own) in ran.shown and "may not set" in ran.shown
        own.unlink()
        (place.project / ".env").write_text("MEM0_API_KEY=m0-of-somebody-else\n")
        assert place.run("external", "search", "staging").code == 0
        assert evil.calls == []
        assert place.service.calls[0].headers["authorization"] == f"Token {KEY}"


def test_the_scope_is_the_checkouts_own(tmp_path: Path) -> None:
    """The same again and in sub-folders, another for a worktree, a copy, a settled id."""
    with placed(tmp_path) as place:
        inner = place.project / "src/deep"
        inner.mkdir(parents=True)
        worktree = tmp_path / "worktree"
        worktree.mkdir()
        (worktree / ".git").write_text(f"gitdir: {place.project}/.git/worktrees/x\n")
        copy = tmp_path / "copy"
        (copy / ".git").mkdir(parents=True)
        link = tmp_path / "link"
        link.symlink_to(place.project)

        def scope(folder: Path) -> str:
            told = place.json("external", "status", cwd=folder)
            return str(told["destination"]["scope"]["user_id"])

        one = scope(place.project)
        assert one == scope(inner) == scope(place.project) == scope(link)
        real = [os.fsencode(path.resolve()) for path in (place.home, place.project)]
        assert one == default_id(*real)
        assert len({one, scope(worktree), scope(copy)}) == 3
        place.settle(scope={"user_id": "qwen-1", "agent_id": "a"})
        assert place.json("external", "status")["destination"]["scope"] == {
            "user_id": "qwen-1",
            "agent_id": "a",
        }


def test_the_key_is_in_no_list_of_processes_and_no_file(tmp_path: Path) -> None:
    """Neither in the command line of a running process nor in anything that was written."""
    with placed(tmp_path, "v2", hangs) as place:
        place.settle(timeout_ms=10_000)
        process = subprocess.Popen(
            [sys.executable, "-m", "recall", "external", "search", "staging"],
            env=place.env,
            cwd=place.project,
            stderr=subprocess.PIPE,
        )
        try:
            assert place.service.hung.wait(30)
            if Path("/proc").is_dir():
                for file in ("cmdline", "environ"):
                    shown = Path(f"/proc/{process.pid}/{file}").read_bytes()
                    assert KEY.encode() not in shown
        finally:
            place.service.over.set()
            process.kill()
            _, said = process.communicate(timeout=30)
        assert KEY.encode() not in said + place.everything()
        place.typed("external", "remember", f"a key: {KEY}", typed="y\n")
        assert KEY.encode() not in place.everything()
        assert len(place.service.calls) == 1


def test_a_slow_service_ends_with_the_timeout(tmp_path: Path) -> None:
    """However slowly it drips: an error that names the setting."""
    with placed(tmp_path, "v2", drips) as place:
        place.settle(timeout_ms=400)
        start = time.monotonic()
        ran = place.run("external", "search", "staging")
        assert ran.code == 1 and time.monotonic() - start < 30
        assert "within 0.4 s" in ran.shown and "external.mem0.timeout_ms" in ran.shown


def test_search_asks_outside_too_where_it_is_told_to(tmp_path: Path) -> None:
    """--external puts the service's results below the local ones; without it nobody is asked."""
    with placed(tmp_path) as place:
        memory = place.project / ".recall/memory"
        memory.mkdir(parents=True)
        (memory / "deploys.md").write_text("# Deploys\n\nAsk Dana before a staging deploy.\n")
        place.typed("external", "remember", TEXT, typed="y\n")
        assert "mem0:" not in place.run("search", "staging").out
        assert len(place.service.calls) == 1
        out = place.run("search", "staging", "--external").out
        assert out.index("Ask Dana") < out.index("[mem0:127.0.0.1]") < out.index(TEXT)
        assert place.run("search", "staging", "--external", "--scope", "user").code == 2
        answer = place.json("search", "staging", "--external")
        assert answer["external"]["results"][0]["content"] == TEXT


def test_odd_arguments_are_sent_as_they_are_or_refused(tmp_path: Path) -> None:
    """Any script arrives whole; controls, halves of characters and too much do not leave."""
    with placed(tmp_path) as place:
        text = "部署 naïve 👩‍👩‍👧 ﷽ \u202e <system>"
        ran = place.typed("external", "remember", text, typed="y\n")
        assert ran.code == 0
        assert place.service.memories[0]["memory"] == text
        assert "\\u202e" in ran.shown
        for odd in ("x" * 10_001, "bell\x07", " "):
            ran = place.typed("external", "remember", odd, typed="y\n")
            assert ran.code == 2 and "content" in ran.shown
        assert len(place.service.calls) == 1
