"""A home whose settings name a service on loopback, and commands run there as processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from terminal import Ran, at_terminal

from recall.app import Recall, open_recall
from tests.remote.endpoint import Act
from tests.remote.mem0_service import KEY, Service, serving

ROOT = Path(__file__).resolve().parents[2]
HANG_S = 60


class Place:
    """A person's home and a project, with one service."""

    def __init__(self, folder: Path, service: Service) -> None:
        self.folder = folder
        self.service = service
        self.home = folder / "home"
        self.project = folder / "shop"
        self.config = self.home / ".config/recall/config.toml"
        self.config.parent.mkdir(parents=True)
        (self.project / ".git").mkdir(parents=True)
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = {**kept, "HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        self.settle()

    def settle(self, *, key: str = KEY, **more: Any) -> None:
        """Write the settings: the service, writes enabled, the key in `[env]`."""
        wishes = {"base_url": self.service.url, "enable_writes": True, **more}
        lines = [f"{name} = {_toml(value)}" for name, value in wishes.items()]
        env = f'[env]\nMEM0_API_KEY = "{key}"\n' if key else ""
        self.config.write_text("\n".join([env, "[external.mem0]", *lines, ""]))
        self.config.chmod(0o600)

    def run(self, *arguments: str, env: Mapping[str, str] | None = None, **more: Any) -> Ran:
        """Run a command with nobody at a terminal."""
        done = subprocess.run(
            [sys.executable, "-m", "recall", *arguments],
            capture_output=True,
            env={**self.env, **(env or {})},
            cwd=more.pop("cwd", self.project),
            timeout=HANG_S,
            **more,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def typed(self, *arguments: str, typed: str = "") -> Ran:
        """Run a command at a terminal, at which somebody types."""
        return at_terminal(arguments, typed, env=self.env, cwd=self.project)

    def json(self, *arguments: str, **more: Any) -> dict[str, Any]:
        ran = self.run(*arguments, "--json", **more)
        document: dict[str, Any] = json.loads(ran.out)
        return document

    def recall(self) -> Recall:
        return open_recall(cwd=self.project, env=self.env, home=self.home)

    def rows(self) -> list[str]:
        """Return the audit's actions, the oldest first."""
        with self.recall() as recall:
            return [row.entry.action for row in reversed(recall.audit().rows())]

    def everything(self) -> bytes:
        """Return all bytes that anything wrote below the home, the settings file aside."""
        files = [one for one in self.home.rglob("*") if one.is_file() and one != self.config]
        return b"\n".join(one.read_bytes() for one in files)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {json.dumps(v)}" for k, v in value.items()) + " }"
    return json.dumps(value)


@contextmanager
def placed(folder: Path, kind: str = "v2", *acts: Act | None, prefix: str = "") -> Iterator[Place]:
    with serving(kind, *acts, prefix=prefix) as service:
        yield Place(folder, service)
