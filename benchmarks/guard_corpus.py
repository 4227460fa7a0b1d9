"""The guard's corpus (`fixtures/guard`), and the folders that it is about."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from recall.core.guard import Verdict
from recall.guarding import Guard
from recall.model import Root
from recall.settings import Settings

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "guard"
CANARY = "approve-CANARY-7f3a"
"""Stands in every memory, and nowhere else."""


@dataclass(frozen=True)
class Case:
    """One line of the corpus."""

    file: str
    group: str
    where: str
    kind: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.where}:{self.kind} {self.text}"[:90]


def cases(name: str) -> list[Case]:
    """Return the cases of one file."""
    return list(_read(name))


def _read(name: str) -> Iterator[Case]:
    group, held = "", None
    for line in [*(FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines(), "#"]:
        if line[:1] == "|":
            assert held is not None
            more = line[1:].removeprefix(" ")
            held = Case(held.file, held.group, held.where, held.kind, f"{held.text}\n{more}")
            continue
        if held is not None:
            yield held
            held = None
        if line[:1] == "#":
            group = line[1:].strip()
        elif line.strip():
            where = "wiki" if line.startswith("wiki ") else "shop"
            kind, _, text = line.removeprefix("wiki ").partition(" ")
            held = Case(name, group, where, kind, text)


@dataclass(frozen=True)
class Stage:
    """A home with two projects, memories in three places, and links to them."""

    home: Path

    @classmethod
    def make(cls, folder: Path, *, links: bool = True) -> Stage:
        """Return a stage in a folder; `links`: with links to memories among the ordinary files."""
        stage = cls(folder / "home")
        memory = stage.folder("shop") / ".recall" / "memory"
        for path in ("deploy.md", "api/keys.md", "other.md", "MEMORY.md"):
            _write(memory / path, f"Who approves a deploy: {CANARY}.\n")
        _write(stage.home / ".recall" / "memory" / "prefs.md", f"I approve: {CANARY}.\n")
        _write(stage.folder("wiki") / "memory" / "page.md", f"The page: {CANARY}.\n")
        for where in ("shop", "wiki"):
            for path in ("README.md", "docs/guide.md", "docs/memory.md", "docs/README.md"):
                _write(stage.folder(where) / path, "Plain text.\n")
            _write(stage.folder(where) / "src" / "main.py", "def main(): ...\n")
            _write(stage.folder(where) / "src" / "README.md", "Plain text.\n")
            _write(stage.folder(where) / ".gitignore", "node_modules\n.recall/memory\nmemory\n")
            _write(stage.folder(where) / "package.json", '{"name": "shop"}\n')
            git = [
                "git",
                "-C",
                str(stage.folder(where)),
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
            ]
            subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
            subprocess.run([*git, "add", "-A"], check=True)
            subprocess.run([*git, "commit", "-qm", "Begin"], check=True)
        shop = stage.folder("shop")
        _write(shop / ".recall" / "config.toml", 'language = "en"\n')
        _write(stage.home / "notes.md", "Plain text.\n")
        if not links:
            return stage
        (shop / "link").symlink_to(".recall/memory")
        (shop / "docs" / "alias.md").symlink_to("../.recall/memory/deploy.md")
        (shop / "docs" / "up").symlink_to("../.recall")
        os.link(memory / "deploy.md", shop / "twin.md")
        return stage

    def folder(self, where: str) -> Path:
        return self.home / "code" / where

    @property
    def roots(self) -> tuple[Root, ...]:
        return (
            Root("project", str(self.folder("shop") / ".recall" / "memory")),
            Root("project", str(self.folder("wiki") / "memory")),
            Root("user", str(self.home / ".recall" / "memory")),
        )

    @property
    def env(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "USER": "me",
            "OSTYPE": "linux-gnu",
        }

    def guard(self) -> Guard:
        return Guard(Settings(roots=self.roots), self.home)

    def spelled(self, text: str) -> str:
        return text.replace("{home}", str(self.home)).replace("{shop}", str(self.folder("shop")))

    def verdict(self, case: Case, guard: Guard | None = None) -> Verdict:
        """Return what the guard says of a case."""
        guard = guard or self.guard()
        cwd, text = str(self.folder(case.where)), self.spelled(case.text)
        if case.kind == "path":
            action, _, path = text.partition(" ")
            return guard.check_path(path, action, cwd=cwd)
        if case.kind == "glob":
            return guard.check_glob(text, cwd)
        return guard.check_shell(text, cwd, self.env)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
