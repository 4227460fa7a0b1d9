"""What one command does with its words: files that it opens, folders that it goes through.

The general case reads a rule of core/shell_rules.py; commands with a way of their own are in
core/shell_special.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from recall.core.guard import DYNAMIC, LIST, READ, Use
from recall.core.guard_glob import has_wildcard, literal, plain
from recall.core.shell_rules import ALWAYS, FILES, RULES, Rule
from recall.core.shell_state import NOTHING, UNSEEN, Flow, State

if TYPE_CHECKING:
    from recall.core.shell import Reader
else:
    Reader = object

_UNKNOWN_COMMAND = Rule()
_PASSES = frozenset(
    "cat tac sort uniq head tail grep egrep fgrep sed awk tee shuf nl cut tr".split()
)
"""What they print is of what comes in, where no word names a file."""
_KEEPS_LINES = frozenset("cat tac sort uniq head tail grep egrep fgrep tee shuf".split())
_SILENT = frozenset(
    "true false : sleep wait kill exit return break continue ulimit umask test [ [[ let bg disown"
    " export local readonly declare typeset unset unalias getopts pkill killall".split()
)
_TAKES_NAMES = frozenset("cpio pax tar zip rsync parallel".split())
"""They can be told by what comes in which files to read."""
_TAKES_ORDERS = frozenset("ed ex curl wget gcc cc g++ clang cpp bc m4 gdb ftp sftp".split())
"""What comes in tells them which files to open."""
_NAMES_ANYWHERE = frozenset("date history jq".split())
"""Options of theirs name files, although their words don't."""
_OTHER_TYPES = ("*.none",)
"""A filter that lets no memory through."""
_MARKDOWN = frozenset({"md", "markdown", "mdx", "all", "txt"})


class Call(NamedTuple):
    """One command as it is run."""

    reader: Reader
    name: str
    args: list[str]
    state: State
    stdin: Flow

    def names(
        self,
        words: Sequence[str],
        state: State | None = None,
        how: str = READ,
        *,
        known: bool = False,
    ) -> None:
        """Note every path that words may name, seen from a state, else from its own."""
        name_paths(self.reader, words, state or self.state, how, known=known)


class Given(NamedTuple):
    """A command's words, told apart."""

    words: list[str]
    values: list[tuple[str, str]]
    """Options with a value."""
    flags: list[str]

    def of(self, names: frozenset[str]) -> list[str]:
        """Return the values of some options."""
        return [value for name, value in self.values if name in names]

    def has(self, names: frozenset[str]) -> bool:
        return any(flag in names for flag in self.flags) or bool(self.of(names))


def run(reader: Reader, fields: Sequence[str], state: State, stdin: Flow) -> Flow:
    """Note what a command does; returns what it may print."""
    from recall.core import shell_settings, shell_special

    head, args = fields[0], list(fields[1:])
    if DYNAMIC in head or has_wildcard(head):
        reader.miss("a command that is only known when it runs")
        reader.use(state, head)
        return ordinary(reader, "", args, state, stdin)
    text = plain(head)
    if "/" in text:
        reader.use(state, head)
    name = text.rpartition("/")[2]
    body = state.functions.get(text)
    if body is not None:
        name_paths(reader, args, state, READ, known=False)
        return reader.call(body, args, state, stdin)
    shell_settings.options_run(reader, name, args, state)
    special = shell_special.find(name, args)
    if special is not None:
        return special(Call(reader, name, args, state, stdin))
    return ordinary(reader, name, args, state, stdin)


def how_of(name: str) -> str:
    """Return how a command uses the files whose names it is given."""
    rule = RULES.get(name)
    if rule is None:
        return READ
    return LIST if rule.inert else rule.how


def consume(reader: Reader, flow: Flow, how: str) -> None:
    """Note that somebody uses the files whose names come out of a command."""
    reader.note([walk._replace(how=how) for walk in flow.walks])


def told_apart(args: Sequence[str], valued: frozenset[str]) -> Given:
    """Return words, options with a value and flags; `valued` names the options that take one."""
    given = Given([], [], [])
    at, ended = 0, False
    while at < len(args):
        word, text = args[at], plain(args[at])
        at += 1
        if ended or text[:1] != "-" or text == "-":
            given.words.append(word)
        elif text == "--":
            ended = True
        elif text[:2] == "--":
            name, sign, value = word.partition("=")
            option = plain(name)[2:]
            if sign:
                given.values.append((option, value))
            elif option in valued and at < len(args):
                given.values.append((option, args[at]))
                at += 1
            else:
                given.flags.append(option)
        else:
            at = _cluster(given, word, text, valued, args, at)
    return given


def _cluster(
    given: Given, word: str, text: str, valued: frozenset[str], args: Sequence[str], at: int
) -> int:
    """Take `-abc` apart: flags, and perhaps one with a value, glued on or in the next word."""
    for index, char in enumerate(text[1:], 1):
        if char not in valued:
            given.flags.append(char)
            continue
        if index + 1 < len(text):
            given.values.append((char, dropped(word, index + 1)))
        elif at < len(args):
            given.values.append((char, args[at]))
            at += 1
        return at
    if len(text) > 2 and any(char in "/.~" for char in text[2:]):
        given.values.append(("", dropped(word, 2)))  # an unknown option with a path glued on
    return at


def dropped(pattern: str, count: int) -> str:
    """Return a pattern without its first characters, a backslash and what it quotes being one."""
    at = 0
    for _ in range(count):
        at += 2 if pattern[at : at + 1] == "\\" else 1
    return pattern[at:]


def candidates(word: str) -> list[str]:
    """Return what in a word may be a path: `a`, `x=a`, `host:a`, `@a`, `file://a`."""
    found = [word]
    for sign in "=:@":
        for _ in range(3):
            _, sign_found, word_rest = word.partition(sign)
            if not sign_found:
                break
            found.append(word_rest)
            word = word_rest
        word = found[0]
    text = found[0]
    if ":" in text and "://" not in text:
        found += text.split(":")
    if text.startswith("file://"):
        found.append("/" + text[7:].lstrip("/"))
    if "," in text:
        found += text.split(",")
    return [one for one in dict.fromkeys(found) if one]


def name_paths(
    reader: Reader, words: Sequence[str], state: State, how: str, *, known: bool
) -> None:
    """Note every path that words may name. `known`: also those that only a run would know."""
    for word in words:
        for one in candidates(word):
            if DYNAMIC in one and not (known and one == word):
                continue
            reader.use(state, one, how)


def name_tokens(reader: Reader, texts: Sequence[str], state: State) -> None:
    """Note every path that a word of a text may name: of orders, or of a list of files."""
    for text in texts:
        tokens = [token.strip("\"'<>(){};@!") for token in text.replace("\0", " ").split()]
        name_paths(reader, [literal(one) for one in tokens if one], state, READ, known=False)


def ordinary(reader: Reader, name: str, args: Sequence[str], state: State, stdin: Flow) -> Flow:
    """Note what a command without a way of its own does; returns what it may print."""
    rule = RULES.get(name, _UNKNOWN_COMMAND)
    given = told_apart(args, rule.valued)
    if name in _TAKES_ORDERS:
        name_tokens(reader, stdin.texts, state)
    if name in _NAMES_ANYWHERE:
        name_paths(reader, args, state, READ, known=False)
    if rule.inert:
        return _inert(name, args, state)
    words = list(given.words)
    texts: list[str] = []
    if rule.texts and not given.has(rule.gives) and not (name == "rg" and "files" in given.flags):
        texts, words = words[: rule.texts], words[rule.texts :]
    known = name in FILES
    how = _how(rule, name, given)
    if known and any(DYNAMIC in value for value in given.of(rule.without)):
        reader.miss("what is left out is only known when it runs")
    for option, value in given.values:
        if option not in rule.prose | rule.without | rule.only:
            name_paths(reader, [value], state, READ, known=False)
    if rule.tokens:
        _program(reader, [*texts, *given.of(rule.prose & rule.gives)], state)
    walk = _walk(rule, name, given)
    for at, word in enumerate(words):
        its = rule.last if rule.last and at == len(words) - 1 and at else how
        name_paths(reader, [word], state, its, known=known)
    walks: list[Use] = []
    if walk is not None:
        if not words and rule.here and stdin == NOTHING:
            words = ["."]
        walks = [one for word in words for one in reader.use(state, word, how, **walk)]
    if stdin.walks and name in _TAKES_NAMES:
        consume(reader, stdin, READ)
    return _printed(name, how, words, state, stdin, walks)


def _how(rule: Rule, name: str, given: Given) -> str:
    lists = given.has(rule.lists) or (name == "rg" and "files" in given.flags)
    return LIST if lists else rule.how


def _walk(rule: Rule, name: str, given: Given) -> dict[str, object] | None:
    """Return how a command goes down into folders; None where it does not."""
    recurse = any(plain(value) == "recurse" for value in given.of(frozenset({"d", "directories"})))
    if rule.deep != ALWAYS and not given.has(rule.deep) and not (recurse and rule.lists):
        return None
    only: list[str] = []
    without = list(map(plain, given.of(rule.without)))
    for value in given.of(rule.only):
        text = plain(value)
        if text.startswith("!"):
            without.append(text[1:].removesuffix("/**").removesuffix("/*"))
        else:
            only.append(text.rpartition("/")[2] or "*")
    if name == "rg":
        only += _types(given)
    hidden = not rule.passes_hidden or given.has(rule.hidden) or given.flags.count("u") > 1
    return {
        "deep": True,
        "hidden": hidden,
        "only": tuple(only),  # quoted, they are patterns for the command itself
        "without": tuple(without),
    }


def _types(given: Given) -> tuple[str, ...]:
    """Return the filter that ripgrep's `-t` makes: memories are Markdown."""
    types = {plain(one) for one in given.of(frozenset({"t", "type"}))}
    left_out = {plain(one) for one in given.of(frozenset({"T", "type-not"}))}
    if (types and not types & _MARKDOWN) or left_out & {"md", "markdown"}:
        return _OTHER_TYPES
    return ()


def _program(reader: Reader, texts: Sequence[str], state: State) -> None:
    """Note the paths in a program of sed or awk: its words, and its texts."""
    from recall.core.shell_code import look

    for text in map(plain, texts):
        spoken = re.sub(r"/[a-zA-Z0-9]*$", "", text).replace("\\/", "/")  # of `s/…/…/e`
        tokens = [token.strip("\"';{}<>()") for token in (*text.split(), *spoken.split())]
        seen = look(text)
        tokens += [one for one in seen.texts if one]
        for one in seen.texts if seen.runs else ():
            if " " in one.strip():
                reader.script(one, state.copy(), NOTHING)
        for token in dict.fromkeys(tokens):
            if token and DYNAMIC not in token:
                reader.use(state, literal(token))


def _inert(name: str, args: Sequence[str], state: State) -> Flow:
    if name == "pwd" and DYNAMIC not in state.cwds:
        return Flow(state.cwds)
    if name not in ("echo", "printf"):
        return NOTHING if name in _SILENT else UNSEEN
    words = [word for word in args if not (name == "echo" and plain(word) in ("-n", "-e", "-E"))]
    unseen = any(DYNAMIC in word for word in words)
    walks = tuple(
        Use(word, cwd, LIST, dots=state.dots, stars=state.stars)
        for word in words
        if has_wildcard(word) and DYNAMIC not in word
        for cwd in state.cwds
    )
    texts = [plain(word) for word in words if not has_wildcard(word) and DYNAMIC not in word]
    if name == "echo":
        if "-e" in map(plain, args):
            texts = [text.replace("\\n", "\n") for text in texts]
        return Flow((" ".join(texts),) if texts else (), walks, unseen)
    return Flow(tuple(_printf(texts)) if texts else (), walks, unseen)


def _printf(texts: list[str]) -> list[str]:
    form, values = texts[0], texts[1:]
    form = form.replace("\\n", "\n").replace("\\0", "\n").replace("\\t", "\t")
    if "%" not in form:
        return [form]
    pieces = form.split("%s")
    slots = len(pieces) - 1
    if not slots or "%" in "".join(pieces):
        return ["\n".join(values)]
    out = []
    for at in range(0, max(len(values), 1), slots):
        some = [*values[at : at + slots], *[""] * slots][:slots]
        out.append("".join(a + b for a, b in zip(pieces, [*some, ""], strict=True)))
    return ["".join(out)]


def _printed(
    name: str,
    how: str,
    words: Sequence[str],
    state: State,
    stdin: Flow,
    walks: Sequence[Use],
) -> Flow:
    """Return what a command may print: names of files, or of what came in."""
    if how == LIST and walks:
        return Flow(walks=tuple(walks))
    if name in ("ls", "dir"):
        places = words or ["."]
        found = [Use(word, cwd, LIST) for word in places for cwd in state.cwds]
        return Flow(walks=tuple(found))
    if name in _PASSES and not words:
        unseen = stdin.unseen or (bool(stdin.texts) and name not in _KEEPS_LINES)
        kept = stdin.texts if name in _KEEPS_LINES else ()
        return Flow(kept, stdin.walks, unseen)
    return UNSEEN
