"""The texts of a fresh settings file: every key with its default, commented out and explained.

A line that sets something begins with `#` and its key, a line of prose with `# `: taking the `#`
away sets the key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from recall.settings_table import KEYS, Key

_PROSE = 98  # characters of a line of prose
_WIDTH = 88  # characters of a commented setting; longer lists go over several lines

_USER_HEAD = """\
# recall: your own settings. Every key stands here with its default: take the # away before a
# line to set it. A project's .recall/config.toml, RECALL_... variables and arguments win over
# this file; `recall status` shows each value and where it comes from.
"""

_PROJECTS = """\

# Single projects, each by its folder; a table holds for that folder and everything below it.
# `recall init` writes one when it adopts a host's memory folders. Roots that are listed here
# take the place of those in [roots], scope by scope; relative ones are in the project's folder.
# trusted = true lets the project's own team memories be read.
#[projects."/home/me/code/shop"]
#trusted = true
#[projects."/home/me/code/shop".roots]
#project = [".recall/memory", "~/.claude/projects/-home-me-code-shop/memory"]
"""

_PROJECT_HEAD = """\
# recall: settings of this project, for everyone who works in it. These keys and no others may
# stand here: what is read, from where and by whom is said in each person's own settings file.
# Limits count only where they are lower than a person's own. Take the # away to set a key.
"""


def commented_user() -> str:
    """Return a user's settings file in which every key stands with its default, commented out."""
    return _USER_HEAD + "".join(_commented(KEYS)) + _PROJECTS


def commented_project() -> str:
    """Return a project's settings file with the keys that it may set, commented out."""
    return _PROJECT_HEAD + "".join(_commented([key for key in KEYS if key.project != "no"]))


def _commented(keys: Sequence[Key]) -> Iterator[str]:
    table = ""
    for key in keys:
        before, _, name = key.name.rpartition(".")
        if before != table:
            table = before
            yield f"\n[{table}]\n"
        elif not table:
            yield "\n"
        told = key.help
        if key.kind in ("choice", "number"):
            told += f" ({', '.join(key.choices) or f'{key.low} to {key.high}'})"
        yield from (f"# {line}\n" for line in wrap(told, _PROSE, break_on_hyphens=False))
        default = dict(key.default) if key.kind == "ids" else key.default
        yield from (f"#{line}\n" for line in _setting(name, default))


def _setting(name: str, value: Any) -> list[str]:
    # JSON's texts, numbers, lists and booleans are TOML's as well.
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    if len(line) <= _WIDTH:
        return [line]
    # Not indented: after the `#` a blank would make it prose.
    return [f"{name} = [", *(f"{json.dumps(item)}," for item in value), "]"]
