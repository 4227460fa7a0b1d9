"""Commands with a way of their own: those that move, run other commands, or read programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from recall.core import shell_programs, shell_settings, shell_walkers
from recall.core.guard import DYNAMIC, LIST, READ
from recall.core.guard_glob import literal, plain
from recall.core.shell_commands import (
    Call,
    consume,
    dropped,
    how_of,
    run,
    told_apart,
)
from recall.core.shell_programs import comes_in
from recall.core.shell_rules import (
    CODE,
    FILES,
    RUNNERS,
    SHELLS,
    WRAPPERS,
)
from recall.core.shell_state import MOST_CWDS, NOTHING, UNSEEN, Flow, State

if TYPE_CHECKING:
    from recall.core.shell import Reader

_Special = Callable[["Call"], Flow]
_NO = frozenset[str]()


def find(name: str, args: Sequence[str]) -> _Special | None:
    """Return what goes through a command with a way of its own; None for any other."""
    if name in WRAPPERS:
        return _wrapper
    if name in SHELLS:
        return _shell
    if shell_programs.interpreter(name) in CODE:
        return shell_programs.code
    if args and (name, plain(args[0])) in RUNNERS:
        return lambda call: _inner(call.reader, call.args[1:], call.state, call.stdin)
    return _SPECIAL.get(name)


def _inner(reader: Reader, args: Sequence[str], state: State, stdin: Flow) -> Flow:
    return run(reader, args, state, stdin) if args else NOTHING


# ---------------------------------------------------------------------------------------------
# Of the shell


def _cd(call: Call) -> Flow:
    physical = "-P" in map(plain, call.args)
    words = [one for one in call.args if plain(one) == "-" or plain(one)[:1] != "-"]
    if call.name == "popd":
        back = call.state.stack.pop() if call.state.stack else (DYNAMIC,)
        call.state.before, call.state.cwds = call.state.cwds, back
        return NOTHING
    if call.name == "pushd":
        call.state.stack.append(call.state.cwds)
    if not words:
        call.state.go(call.state.lookup("HOME")[0])
    elif plain(words[0]) == "-":
        call.state.cwds, call.state.before = call.state.before or (DYNAMIC,), call.state.cwds
    else:
        if DYNAMIC not in words[0]:
            call.reader.use(call.state, words[0], LIST)
        elsewhere = _by_cdpath(call, words[0])
        call.state.go(words[0], physical=physical)
        call.state.cwds = tuple(dict.fromkeys((*elsewhere, *call.state.cwds)))[:MOST_CWDS]
    return NOTHING


def _by_cdpath(call: Call, word: str) -> tuple[str, ...]:
    """Return where CDPATH may lead `cd` to, beside below the folder that it is in."""
    texts = call.state.lookup("CDPATH") if "CDPATH" in call.state.variables else ()
    if plain(word)[:1] in ("/", ".", "") or not any(texts):
        return ()
    found: list[str] = []
    for text in texts:
        for folder in text.split(":"):
            inner = call.state.copy()
            inner.go(folder)
            if DYNAMIC not in inner.cwds[0]:
                call.reader.use(inner, word, LIST)
            inner.go(word)
            found += inner.cwds
    return tuple(found)


def _eval(call: Call) -> Flow:
    known = [word for word in call.args if DYNAMIC not in word]
    if len(known) < len(call.args):
        call.reader.miss("a script that is only known when it runs")
    return call.reader.script(" ".join(map(plain, known)), call.state, call.stdin)


def _trap(call: Call) -> Flow:
    words = told_apart(call.args, _NO).words
    if len(words) < 2:
        return NOTHING
    return call.reader.script(plain(words[0]), call.state.copy(), call.stdin)


def _alias(call: Call) -> Flow:
    for word in call.args:
        _, sign, text = plain(word).partition("=")
        if sign:
            call.reader.script(text, call.state.copy(), NOTHING)
    return NOTHING


def _read(call: Call) -> Flow:
    """`read X`: a variable takes a line; what walks find is taken for used."""
    given = told_apart(call.args, frozenset("d n N p t u a i O s c C".split()))
    consume(call.reader, call.stdin, READ)
    values = tuple(literal(line) for text in call.stdin.texts for line in text.splitlines())
    if call.stdin.unseen or not (values or call.stdin.walks):
        values = (*values, DYNAMIC)
    for word in given.words or ["REPLY"]:
        call.state.variables[plain(word)] = values or ("/dev/null",)
    return NOTHING


def _set(call: Call) -> Flow:
    texts = list(map(plain, call.args))
    if call.name == "shopt":
        on = "-u" not in texts
        if "globstar" in texts:
            call.state.stars = on
        if "dotglob" in texts:
            call.state.dots = on
    elif "--" in texts:
        call.state.positional = tuple(call.args[texts.index("--") + 1 :])
    return NOTHING


def _shift(call: Call) -> Flow:
    if call.state.positional:
        call.state.positional = call.state.positional[1:]
    return NOTHING


# ---------------------------------------------------------------------------------------------
# Commands that run commands


def _wrapper(call: Call) -> Flow:
    valued, words = WRAPPERS[call.name]
    at = 0
    while at < len(call.args):
        text = plain(call.args[at])
        if text == "--":
            at += 1
            break
        if text[:1] != "-" or text == "-":
            break
        option = text.lstrip("-")
        takes = option in valued or (text[:2] != "--" and option[-1:] in valued)
        call.names([call.args[at].partition("=")[2]])
        at += 2 if takes and "=" not in text else 1
    call.names(call.args[at : at + words])
    rest = call.args[at + words :]
    while rest and "=" in plain(rest[0]) and plain(rest[0]).partition("=")[0].isidentifier():
        rest = rest[1:]
    return _inner(call.reader, rest, call.state, call.stdin)


def _env(call: Call) -> Flow:
    inner, at = call.state.copy(), 0
    while at < len(call.args):
        text = plain(call.args[at])
        if text in ("-C", "--chdir") and at + 1 < len(call.args):
            inner.go(call.args[at + 1])
            at += 2
        elif text.startswith("--chdir="):
            inner.go(dropped(call.args[at], 8))
            at += 1
        elif text in ("-S", "--split-string") and at + 1 < len(call.args):
            return call.reader.script(" ".join(map(plain, call.args[at + 1 :])), inner, call.stdin)
        elif text in ("-u", "--unset"):
            at += 2
        elif text[:1] == "-":
            at += 1
        elif "=" in text:
            variable, _, value = call.args[at].partition("=")
            inner.assign(plain(variable), (value,))
            shell_settings.assigned(call.reader, inner, plain(variable), (value,))
            call.names([value])
            at += 1
        else:
            break
    return _inner(call.reader, call.args[at:], inner, call.stdin)


def _command(call: Call) -> Flow:
    if call.args and plain(call.args[0]) in ("-v", "-V"):
        return UNSEEN
    words = [one for one in call.args if plain(one) != "-p"]
    return _inner(call.reader, words, call.state, call.stdin)


def _xargs(call: Call) -> Flow:
    """`xargs COMMAND`: what comes in are further words of the command."""
    stdin = call.stdin
    valued = frozenset(
        "I i n L l P d a E s j max-args max-procs replace delimiter arg-file".split()
    )
    at, mark, texts = 0, "", list(stdin.texts)
    while at < len(call.args) and plain(call.args[at])[:1] == "-":
        given = told_apart(call.args[at : at + 2], valued)
        for option, value in given.values:
            if option in ("a", "arg-file"):
                call.reader.use(call.state, value)
                stdin = UNSEEN
            elif option in ("I", "i", "replace"):
                mark = plain(value) or "{}"
        at += 1 if given.words or not given.values or len(plain(call.args[at])) > 2 else 2
    command = list(call.args[at:]) or ["echo"]
    if call.name == "parallel" and ":::" in map(plain, command):
        cut = list(map(plain, command)).index(":::")
        texts += map(plain, command[cut + 1 :])
        command, stdin = command[:cut], NOTHING
    head = plain(command[0]).rpartition("/")[2]
    how = how_of(head)
    if how != LIST:
        consume(call.reader, stdin, how)
        if stdin.unseen and not stdin.walks and (head in FILES or head in SHELLS):
            call.reader.miss(f"what is piped into {call.name} {head}")
    words = [literal(word) for text in texts for word in text.split()]
    if not mark and call.name == "parallel":
        mark = "{}"
    if mark and any(mark in plain(one) for one in command):
        for word in words or [DYNAMIC if stdin.unseen else "/dev/null"]:
            run(call.reader, [one.replace(mark, word) for one in command], call.state, NOTHING)
        return UNSEEN
    return run(call.reader, [*command, *words], call.state, NOTHING)


def _shell(call: Call) -> Flow:
    """`bash -c SCRIPT`, `bash FILE`, and a script that comes in."""
    given = told_apart(call.args, frozenset({"o", "O", "rcfile", "init-file", "C", "init-command"}))
    inner = call.state.copy()
    for value in given.of(frozenset({"rcfile", "init-file"})):
        call.reader.use(call.state, value)
        first = comes_in(call, [value])
        if first is not None:
            _scripts_in(call.reader, inner, first, f"what {call.name} begins with")
    if "c" in given.flags and given.words:
        inner.positional = tuple(given.words[2:])
        call.names(given.words[1:])
        return call.reader.script(plain(given.words[0]), inner, call.stdin)
    words = [one for one in given.words if plain(one) != "-"]
    stdin = comes_in(call, words)
    if words and "s" not in given.flags and stdin is None:
        _file_of_script(call, words)
        return UNSEEN
    stdin = call.stdin if stdin is None else stdin
    return _scripts_in(call.reader, inner, stdin, f"what is piped into {call.name}")


def _source(call: Call) -> Flow:
    """`source FILE`, `. FILE`: a script in this very shell."""
    stdin = comes_in(call, call.args)
    if stdin is not None:
        return _scripts_in(call.reader, call.state, stdin, f"what comes into {call.name}")
    _file_of_script(call, call.args)
    return UNSEEN


def _file_of_script(call: Call, words: Sequence[str]) -> None:
    """Note the file of a script; what a substitution prints is no file whose name is known."""
    if words and DYNAMIC in words[0]:
        call.reader.miss(f"the script that {call.name} runs")
    call.names(words)


def _scripts_in(reader: Reader, state: State, stdin: Flow, what: str) -> Flow:
    if stdin.unseen:
        reader.miss(what)
    for text in stdin.texts:
        reader.script(text, state, NOTHING)
    return UNSEEN


def _with_command(call: Call) -> Flow:
    """`su -c SCRIPT`, `script -c SCRIPT`."""
    given = told_apart(call.args, frozenset({"c", "command"}))
    for value in given.of(frozenset({"c", "command"})):
        call.reader.script(plain(value), call.state.copy(), call.stdin)
    call.names(given.words)
    return UNSEEN


_SPECIAL: dict[str, _Special] = {
    **dict.fromkeys(("cd", "pushd", "popd", "chdir"), _cd),
    "eval": _eval,
    **dict.fromkeys(("source", "."), _source),
    "trap": _trap,
    "alias": _alias,
    **dict.fromkeys(("read", "mapfile", "readarray"), _read),
    **dict.fromkeys(("set", "shopt"), _set),
    "shift": _shift,
    "env": _env,
    "command": _command,
    **dict.fromkeys(("xargs", "gxargs", "parallel"), _xargs),
    **dict.fromkeys(("su", "script"), _with_command),
    **shell_programs.COMMANDS,
    **shell_walkers.COMMANDS,
}
