"""Commands that read programs: interpreters and their `-c`, SQL shells, patches; and what serves.

What a program itself shows of files is in core/shell_code.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recall.core.guard import DYNAMIC, LIST, READ, WRITE
from recall.core.guard_glob import has_wildcard, literal, plain
from recall.core.shell_commands import Call, ordinary, told_apart
from recall.core.shell_rules import CODE
from recall.core.shell_state import NOTHING, UNSEEN, Flow
from recall.core.shell_words import SUBSTITUTED

if TYPE_CHECKING:
    from recall.core.shell_code import Code


_STDIN = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def interpreter(name: str) -> str:
    """Return an interpreter's name without its version."""
    return name.rstrip("0123456789.") if name.startswith(("python", "pypy")) else name


def comes_in(call: Call, words: Sequence[str]) -> Flow | None:
    """Return what a script comes in by that is no file: a pipe, `<(…)`; None for a file."""
    name = plain(words[0]) if words else ""
    if name == SUBSTITUTED:
        return call.reader.substituted
    return call.stdin if name in _STDIN else None


def code(call: Call) -> Flow:
    """Note what an interpreter does: with the text of a program, with a script, with a module."""
    from recall.core.shell_code import look

    programs, valued = CODE[interpreter(call.name)]
    at, code = 0, []
    while at < len(call.args):
        text = plain(call.args[at])
        at += 1
        option = text.lstrip("-")
        if text[:1] != "-" or text == "-":
            at -= 1
            break
        if text[:2] == "--":
            option, _, value = option.partition("=")
            if option in programs:
                code.append(value or (plain(call.args[at]) if at < len(call.args) else ""))
                at += 0 if value else 1
            continue
        if option[-1:] in programs:
            code.append(plain(call.args[at]) if at < len(call.args) else "")
            at += 1
        elif option[:1] in programs and len(option) > 1:
            code.append(option[1:])
        elif option in valued:
            if option == "m":
                _serves(call, call.args[at:])
                return ordinary(call.reader, "", call.args[at + 1 :], call.state, call.stdin)
            at += 1
        elif option in ("", "c"):
            continue
    words = call.args[at:]
    if call.name == "bun" and not code:
        return ordinary(call.reader, call.name, call.args, call.state, call.stdin)
    call.names(words)
    stdin = comes_in(call, words)
    if not code and (not words or plain(words[0]) == "-" or stdin is not None):
        stdin = call.stdin if stdin is None else stdin
        if stdin.unseen:
            call.reader.miss(f"what is piped into {call.name}")
        code += stdin.texts
    elif not code and words and DYNAMIC in words[0]:
        call.reader.miss(f"the program that {call.name} runs")
    for text in code:
        if DYNAMIC in text:
            call.reader.miss(f"a program for {call.name} that is only known when it runs")
        _program(call, look(text))
    return UNSEEN


def _serves(call: Call, args: Sequence[str]) -> None:
    """`python -m MODULE`: some modules go through folders, or run code."""
    from recall.core.shell_code import look

    module = plain(args[0]) if args else ""
    if module in ("zipfile", "tarfile", "compileall", "py_compile"):
        for word in args[1:]:
            call.reader.use(call.state, word, READ, deep=True)
    if module in ("timeit", "cProfile", "trace"):
        for text in map(plain, args[1:]):
            _program(call, look(text))
    if module not in ("http.server", "SimpleHTTPServer"):
        return
    given = told_apart(args[1:], frozenset({"d", "directory", "b", "bind", "p", "protocol"}))
    for folder in given.of(frozenset({"d", "directory"})) or ["."]:
        call.reader.use(call.state, folder, READ, deep=True)


def _sql(call: Call) -> Flow:
    """`sqlite3 DB SQL`: statements and dot commands name files, and run commands."""
    from recall.core.shell_code import look

    call.names(call.args)
    for text in (*map(plain, call.args), *call.stdin.texts):
        command, _, rest = text.strip().partition(" ")
        if command in (".shell", ".system"):
            call.reader.script(rest, call.state.copy(), NOTHING)
        call.names([literal(one) for one in (*look(text).texts, *text.split())])
    if call.stdin.unseen:
        call.reader.miss(f"what is piped into {call.name}")
    return UNSEEN


def _mount(call: Call) -> Flow:
    """`mount --bind A B`: what is below A can be read below B."""
    given = told_apart(call.args, frozenset("o t L U options types".split()))
    call.names(given.words)
    for word in given.words[:1]:
        call.reader.use(call.state, word, READ, deep=True)
    return UNSEEN


def _ours(_: Call) -> Flow:
    """recall's own commands are the way in: each keeps to its own rules."""
    return UNSEEN


def _program(call: Call, seen: Code) -> None:
    """Note what a program that was looked at does, in every folder that it may go to."""
    from recall.core.shell_code import is_script, patterns

    states = [call.state]
    for folder in seen.moves:
        moved = call.state.copy()
        call.reader.use(moved, literal(folder), LIST)
        moved.go(literal(folder))
        states.append(moved)
    for state in states:
        if seen.walks:
            state = state.copy()
            state.stars = True
        only = tuple(one.rpartition("/")[2] for one in seen.texts if has_wildcard(one))
        walk = {"deep": True, "only": only}
        how = READ if seen.reads else LIST
        if seen.walks_here:
            call.reader.use(state, ".", how, **walk)
        for pattern in patterns(seen):
            call.reader.use(state, pattern)
            if seen.walks and not has_wildcard(pattern):
                call.reader.use(state, pattern, how, **walk)
            elif seen.walks:
                call.reader.use(state, pattern, LIST, deep=True)
        for one in seen.texts if seen.runs else ():
            if " " in one.strip():
                call.names([literal(word) for word in one.split()], state)
            if is_script(one):
                call.reader.script(one, state.copy(), NOTHING)
    if seen.hides:
        call.reader.miss(f"what a program for {call.name} opens")


def _apply_patch(call: Call) -> Flow:
    """Codex's way to edit files, given to a shell: the patch names what it writes."""
    from recall.core.hosttools import patched

    if call.stdin.unseen and not call.args:
        call.reader.miss("a patch that is only known when it runs")
    for text in (*call.stdin.texts, *map(plain, call.args)):
        for path in patched(text):
            call.reader.use(call.state, literal(path), WRITE)
    return UNSEEN


COMMANDS = {
    **dict.fromkeys(("apply_patch", "applypatch"), _apply_patch),
    **dict.fromkeys(("sqlite3", "duckdb", "psql", "mysql", "mariadb"), _sql),
    "mount": _mount,
    "recall": _ours,
}
