"""Commands that go through folders in a way of their own: find, fd, tar, git; and make's `-C`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recall.core.guard import DYNAMIC, LIST, READ, WRITE, Use
from recall.core.guard_glob import plain
from recall.core.shell_commands import (
    Call,
    Given,
    consume,
    dropped,
    how_of,
    name_paths,
    run,
    told_apart,
)
from recall.core.shell_rules import FILES, GIT_INERT, GIT_PROSE, SHELLS
from recall.core.shell_settings import git_setting
from recall.core.shell_state import NOTHING, UNSEEN, Flow, State

if TYPE_CHECKING:
    from recall.core.shell import Reader


def _find(call: Call) -> Flow:
    texts = list(map(plain, call.args))
    at = 0
    while at < len(texts) and texts[at] in ("-H", "-L", "-P", "-D"):
        at += 1
    begin = at
    while at < len(texts) and texts[at][:1] not in ("-", "(", "!", ")"):
        at += 1
    places = call.args[begin:at] or ["."]
    names: list[str] = []
    without: list[str] = []
    depth, how, branches, negated = -1, LIST, 1, False
    while at < len(texts):
        word, value = texts[at], texts[at + 1] if at + 1 < len(texts) else ""
        at += 1
        if word in ("-name", "-iname"):
            at += 1
            if not negated:
                names.append(value)
            elif "-prune" not in texts:
                without.append(value)
        elif word in ("-path", "-ipath", "-wholename"):
            at += 1
            if negated or "-prune" in texts:
                without.append(value)
        elif word == "-maxdepth":
            at += 1
            depth = int(value) if value.isdigit() else -1
        elif word in ("-o", "-or", ","):
            branches += 1
        elif word in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((i for i in range(at, len(texts)) if texts[i] in (";", "+")), len(texts))
            how = _executed(call.reader, call.args[at:end], call.state, how)
            at = end + 1
        elif word == "-delete":
            how = how if "-empty" in texts else WRITE
        elif word.startswith(("-fprint", "-fls")):
            call.reader.use(call.state, call.args[at] if at < len(call.args) else "", WRITE)
            at += 1
        elif word in ("-newer", "-samefile", "-anewer", "-cnewer"):
            call.reader.use(call.state, call.args[at] if at < len(call.args) else "", LIST)
            at += 1
        negated = word in ("-not", "!")
    if "-prune" in texts:
        without += names if branches > 1 else []
        names = []
    if len(names) < branches:
        names = []
    walk = {"deep": True, "only": tuple(names), "without": tuple(without), "depth": depth}
    call.names(places, how=LIST, known=True)
    found = [one for word in places for one in call.reader.use(call.state, word, how, **walk)]
    return Flow(walks=tuple(one._replace(how=LIST) for one in found))


def _executed(reader: Reader, args: Sequence[str], state: State, how: str) -> str:
    """Go through a command that find runs; returns how it uses what was found."""
    if not args:
        return how
    head = plain(args[0]).rpartition("/")[2]
    words = [one for one in args if plain(one) != "{}"]
    marked = any("{}" in plain(one) for one in args)
    if head in SHELLS and "-c" in map(plain, args):
        words = [*words, "/dev/null"]
    inner = state.copy()
    inner.positional = None
    run(reader, [one.replace("{}", "/dev/null") for one in words], inner, NOTHING)
    its = how_of(head) if marked or head in FILES else how
    order = (LIST, READ, WRITE)
    return max(how, its, key=order.index)


def _fd(call: Call) -> Flow:
    args = call.args
    valued = "e t d E x X c j S extension type max-depth exclude base-directory"
    texts = list(map(plain, args))
    cut = next(
        (i for i, t in enumerate(texts) if t in ("-x", "-X", "--exec", "--exec-batch")), None
    )
    how = LIST
    if cut is not None:
        how = _executed(call.reader, args[cut + 1 :], call.state, LIST)
        how = READ if how == LIST and texts[cut + 1 :][:1] not in (["echo"], ["ls"]) else how
        args = args[:cut]
    given = told_apart(args, frozenset(valued.split()))
    only = tuple(f"*.{plain(one)}" for one in given.of(frozenset({"e", "extension"})))
    hidden = given.has(frozenset({"H", "hidden", "u", "unrestricted"}))
    places = [*given.words[1:], *given.of(frozenset({"base-directory"}))] or ["."]
    without = tuple(map(plain, given.of(frozenset({"E", "exclude"}))))
    call.names(places, how=LIST, known=True)
    walk = {"deep": True, "only": only, "hidden": hidden, "without": without}
    found = [one for word in places for one in call.reader.use(call.state, word, how, **walk)]
    return Flow(walks=tuple(one._replace(how=LIST) for one in found))


def _tar(call: Call) -> Flow:
    """`tar`: `-C` moves for the words that follow; what is packed is gone through."""
    inner = call.state.copy()
    texts = list(map(plain, call.args))
    first = texts[0] if texts else ""
    bundle = first.lstrip("-") if first[:2] != "--" and "=" not in first else ""
    creates = any(char in "cru" for char in bundle) or any(
        one in ("--create", "--append", "--update", "-c", "-r", "-u") for one in texts
    )
    without = tuple(t.partition("=")[2] for t in texts if t.startswith("--exclude="))
    at = 0
    if bundle and first[:1] != "-":
        at = 1
    while at < len(call.args):
        text = texts[at]
        if text in ("-C", "--directory") and at + 1 < len(call.args):
            call.reader.use(inner, call.args[at + 1], LIST)
            inner.go(call.args[at + 1])
            at += 2
            continue
        if text.startswith("--directory="):
            inner.go(dropped(call.args[at], 12))
        elif text[:1] != "-":
            call.names([call.args[at]], inner, known=True)
            if creates:
                call.reader.use(inner, call.args[at], READ, deep=True, without=without)
        elif text == "--exclude" and at + 1 < len(call.args):
            without = (*without, texts[at + 1])
            at += 1
        else:
            call.names([call.args[at].partition("=")[2]], inner)
        at += 1
    if call.stdin.walks:
        consume(call.reader, call.stdin, READ)
    return UNSEEN


def _make(call: Call) -> Flow:
    """`make -C DIR`, `cargo -C DIR`: the other words are relative to it."""
    given = told_apart(call.args, frozenset("C f j I directory file".split()))
    inner = call.state.copy()
    for value in given.of(frozenset({"C", "directory"})):
        call.reader.use(call.state, value, LIST)
        inner.go(value)
    if any(plain(one) in ("-", "/dev/stdin") for one in given.of(frozenset({"f", "file"}))):
        call.reader.miss(f"the recipes that are piped into {call.name}")
    call.names([value for _, value in given.values], inner)
    call.names(given.words, inner)
    return UNSEEN


def _cmake(call: Call) -> Flow:
    """`cmake -E chdir DIR COMMAND`."""
    if list(map(plain, call.args[:2])) != ["-E", "chdir"] or len(call.args) < 4:
        call.names([one for one in call.args if plain(one)[:1] != "-"])
        return UNSEEN
    inner = call.state.copy()
    call.reader.use(call.state, call.args[2], LIST)
    inner.go(call.args[2])
    return run(call.reader, call.args[3:], inner, call.stdin)


def _git(call: Call) -> Flow:
    inner, at = call.state.copy(), 0
    while at < len(call.args) and plain(call.args[at])[:1] == "-":
        text = plain(call.args[at])
        if text == "-C" and at + 1 < len(call.args):
            if DYNAMIC not in call.args[at + 1]:
                call.reader.use(inner, call.args[at + 1], LIST)
            inner.go(call.args[at + 1])
            at += 1
        elif text == "-c" and at + 1 < len(call.args):
            git_setting(call.reader, inner, call.args[at + 1])
            at += 1
        elif text[:2] == "-c" and len(text) > 2:
            git_setting(call.reader, inner, dropped(call.args[at], 2))
        elif text.startswith("--config-env"):
            call.reader.miss("a setting of git that a variable holds")
        elif text in ("-c", "--git-dir", "--work-tree", "--namespace"):
            at += 1
        call.names([one.partition("=")[2] for one in call.args[at : at + 1]], inner)
        at += 1
    if at >= len(call.args):
        return UNSEEN
    sub, rest = plain(call.args[at]), call.args[at + 1 :]
    valued = {"e", "exclude"} if sub == "clean" else GIT_PROSE | {"e", "f", "F", "file"}
    given = told_apart(rest, frozenset(valued))
    if sub in GIT_INERT:
        call.names(given.of(frozenset({"F", "file"})), inner)
        return UNSEEN
    if sub == "config" and len(given.words) > 1:
        git_setting(call.reader, inner, f"{given.words[0]}={given.words[1]}")
    if sub == "grep":
        return _git_grep(call.reader, given, inner)
    for option, value in given.values:
        if option not in GIT_PROSE:
            call.names([value], inner)
    call.names(given.words, inner)
    dry = given.has(frozenset({"n", "dry-run"}))
    if sub == "clean" and given.has(frozenset({"f", "force"})) and not dry:
        _here(call.reader, given.words, inner, WRITE)
    if sub == "stash" and given.has(frozenset({"u", "a", "all", "include-untracked"})):
        _here(call.reader, [], inner, WRITE)
    if sub == "ls-files":
        others = given.has(frozenset({"o", "others"}))
        places = given.words or ["."]
        walks = [
            Use(word, cwd, LIST, deep=True, tracked=not others)
            for word in places
            for cwd in inner.cwds
        ]
        return Flow(walks=tuple(walks))
    if sub == "rev-parse" and "show-toplevel" in given.flags and call.state.toplevel:
        return Flow((call.state.toplevel,))
    return UNSEEN


def _git_grep(reader: Reader, given: Given, state: State) -> Flow:
    words = given.words if given.has(frozenset({"e", "f"})) else given.words[1:]
    every = given.has(frozenset({"untracked", "no-index"}))
    how = LIST if given.has(frozenset("l L c q files-with-matches count".split())) else READ
    only = tuple(plain(one).rpartition("/")[2] for one in words if "*" in plain(one))
    places = [one for one in words if "*" not in plain(one)]
    name_paths(reader, places, state, how, known=True)
    walk = {"only": only} if only and not places else {}
    for place in places or ["."]:
        reader.use(state, place, how, deep=True, tracked=not every, **walk)
    return UNSEEN


def _here(reader: Reader, words: Sequence[str], state: State, how: str) -> None:
    for word in words or ["."]:
        reader.use(state, word, how, deep=True)


COMMANDS = {
    **dict.fromkeys(("find", "gfind", "bfs"), _find),
    **dict.fromkeys(("fd", "fdfind"), _fd),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _tar),
    **dict.fromkeys(("make", "gmake", "ninja", "cargo", "go", "just"), _make),
    "git": _git,
    "cmake": _cmake,
}
