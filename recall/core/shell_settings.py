"""Settings whose value is run: variables like PAGER, options like git's `-c core.pager=…`.

A program is given a command this way that it runs later, with the files that this one opens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recall.core.guard import DYNAMIC, READ
from recall.core.guard_glob import literal, plain
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
_PROMPTS = ("PS0", "PS1", "PS2", "PS4")
"""Variables in whose value a shell runs substitutions."""
_ANY_SETTING = ("GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS")
_RUN_BY_GIT = (
    ".pager .editor .sshcommand .askpass .gitproxy .fsmonitor .external .command .textconv .driver"
    " .clean .smudge .process .helper .program .cmd .path .uploadpack .receivepack .hook"
).split()
"""Endings of git's settings whose value is a command (git-config, documentation)."""
_READ_BY_GIT = ".hookspath .path .attributesfile .excludesfile .template .file".split()


_RUNS = {
    "git": "upload-pack receive-pack O open-files-in-pager x exec",
    "tar": "to-command checkpoint-action I use-compress-program rsh-command F info-script",
    "split": "filter",
    "sort": "compress-program",
    "flock": "c command",
    "npm": "c call",
    "npx": "c call",
    "gdb": "ex eval-command iex init-eval-command",
    "lldb": "o one-line",
    "vim": "c cmd",
    "nvim": "c cmd",
    "ex": "c cmd",
    "rg": "pre hostname-bin",
    "ssh": "o",
    "scp": "o S",
    "sftp": "o S",
    "rsync": "e rsh rsync-path",
    "ncat": "c sh-exec e exec",
    "nc": "c e",
    "nix-shell": "run command",
    "expect": "c",
    "make": "eval",
    "mapfile": "C",
    "readarray": "C",
    "compgen": "C",
    "entr": "r",
}
"""Program → options whose value is a command, or one in the program's own words."""
_WORDS_RUN = frozenset("watch hyperfine entr socat".split())
"""Programs that take commands as words."""
_WORKS_IN = {
    "sudo": "D chdir",
    "nsenter": "w wd r root",
    "npm": "prefix",
    "pnpm": "C dir",
    "yarn": "cwd",
    "uv": "directory project",
    "poetry": "C directory P project",
    "php": "t",
    "docker": "v volume mount",
    "podman": "v volume mount",
    "start-stop-daemon": "d chdir",
}
"""Program → options that name the folder that it works in, or hands on."""
_OWN_WORDS = ("exec=", "shell ", "!", "EXEC:", "SYSTEM:", "ProxyCommand=", "LocalCommand=", "r ")


def options_run(reader: Reader, name: str, args: Sequence[str], state: State) -> None:
    """Note what a command's options make it run, and the folders that they make it work in."""
    runs, works = _RUNS.get(name, "").split(), _WORKS_IN.get(name, "").split()
    for at, word in enumerate(args):
        text = plain(word)
        option, sign, glued = text.lstrip("-").partition("=")
        value = glued if sign else (plain(args[at + 1]) if at + 1 < len(args) else "")
        short = option[:1]
        if text[:1] == "-" and text[:2] != "--" and len(option) > 1 and short in (*runs, *works):
            option, value = short, text[2:]
        if text[:1] == "+" and "vim" in name:
            _own_words(reader, state, text[1:])
        elif name == "git" and text.startswith("ext::"):
            _own_words(reader, state, text[5:])
        elif text[:1] != "-":
            if name in _WORDS_RUN and " " in text:
                _own_words(reader, state, text)
        elif option in runs:
            _own_words(reader, state, value)
        elif option in works:
            _works_in(reader, state, value, args)


def _own_words(reader: Reader, state: State, text: str) -> None:
    for begin in _OWN_WORDS:
        text = text.removeprefix(begin)
    _run(reader, state, text, "an option's command")


def _works_in(reader: Reader, state: State, folder: str, args: Sequence[str]) -> None:
    name_paths(reader, [literal(folder)], state, READ, known=True)
    inner = state.copy()
    inner.go(literal(folder))
    name_paths(reader, list(args), inner, READ, known=False)


def assigned(reader: Reader, state: State, name: str, values: Sequence[str]) -> None:
    """Note what the value of a variable makes programs run or read."""
    if name in _COMMANDS:
        for value in values:
            _run(reader, state, value, f"what {name} is")
    elif name in _SCRIPTS:
        name_paths(reader, list(values), state, READ, known=True)
    elif name in _PROMPTS:
        for text in map(plain, values):
            if "$(" in text or "`" in text:
                reader.script(f'echo "{text}"', state.copy(), NOTHING)
    elif name == "GLOBIGNORE":
        state.dots = True
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
