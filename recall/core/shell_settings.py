"""Settings whose value is run: variables like PAGER, options like git's `-c core.pager=…`.

A program is given a command this way that it runs later, with the files that this one opens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recall.core.guard import DYNAMIC, READ
from recall.core.guard_glob import plain
from recall.core.shell_commands import name_paths
from recall.core.shell_state import NOTHING, State

if TYPE_CHECKING:
    from recall.core.shell import Reader

_COMMANDS = frozenset(
    "PAGER MANPAGER GIT_PAGER SYSTEMD_PAGER DELTA_PAGER BAT_PAGER EDITOR VISUAL FCEDIT GIT_EDITOR"
    " GIT_SEQUENCE_EDITOR SUDO_EDITOR KUBE_EDITOR LESSOPEN LESSCLOSE GIT_SSH GIT_SSH_COMMAND"
    " GIT_PROXY_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS BROWSER"
    " PROMPT_COMMAND CC CXX LD AR RUSTC_WRAPPER CARGO_BUILD_RUSTC_WRAPPER".split()
)
"""Variables whose value some program runs as a command."""
_SCRIPTS = frozenset(
    "BASH_ENV ENV ZDOTDIR PYTHONSTARTUP INPUTRC LD_PRELOAD LD_LIBRARY_PATH PYTHONPATH NODE_OPTIONS"
    " NODE_PATH PERL5OPT PERL5LIB RUBYOPT RUBYLIB MAKEFLAGS MAKEFILES GIT_CONFIG GIT_CONFIG_GLOBAL"
    " GIT_CONFIG_SYSTEM GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_TEMPLATE_DIR".split()
)
"""Variables whose value names files that some program reads."""
_ANY_SETTING = ("GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS")
_RUN_BY_GIT = (
    ".pager .editor .sshcommand .askpass .gitproxy .fsmonitor .external .command .textconv .driver"
    " .clean .smudge .process .helper .program .cmd .path .uploadpack .receivepack .hook"
).split()
"""Endings of git's settings whose value is a command (git-config, documentation)."""
_READ_BY_GIT = ".hookspath .path .attributesfile .excludesfile .template .file".split()


def assigned(reader: Reader, state: State, name: str, values: Sequence[str]) -> None:
    """Note what the value of a variable makes programs run or read."""
    if name in _COMMANDS:
        for value in values:
            _run(reader, state, value, f"what {name} is")
    elif name in _SCRIPTS:
        name_paths(reader, list(values), state, READ, known=True)
    elif name in _ANY_SETTING:
        reader.miss(f"what {name} sets")


def git_setting(reader: Reader, state: State, word: str) -> None:
    """Note what git's `-c NAME=VALUE` makes it run or read."""
    name, _, value = word.partition("=")
    key = plain(name).lower()
    if DYNAMIC in name:
        reader.miss("a setting of git that is only known when it runs")
    elif key.startswith("alias."):
        text = plain(value)
        if text.startswith("!"):
            _run(reader, state, value[value.index("!") + 1 :], f"what {key} is")
        else:
            _run(reader, state, f"git {value}", f"what {key} is")
    elif key.startswith("pager.") or key.endswith(tuple(_RUN_BY_GIT)):
        _run(reader, state, value.removeprefix("!"), f"what {key} is")
    elif key.endswith(tuple(_READ_BY_GIT)):
        name_paths(reader, [value], state, READ, known=True)


def _run(reader: Reader, state: State, value: str, what: str) -> None:
    if DYNAMIC in value:
        reader.miss(what)
    else:
        reader.script(plain(value).lstrip("|! "), state.copy(), NOTHING)
