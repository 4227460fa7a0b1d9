"""Which words of which command are files, texts or options; as far as it matters to the guard.

A command that is not here is taken to do something with whatever path its words name, and to go
into no folder by itself.
"""

from __future__ import annotations

from typing import NamedTuple

from recall.core.guard import LIST, READ, WRITE

_Names = frozenset[str]
ALWAYS = frozenset({"*"})
"""As `deep`: without any option."""


class Rule(NamedTuple):
    """One command. Options are named without their dashes."""

    how: str = READ
    last: str = ""
    """How the last word is used, where that differs."""
    texts: int = 0
    """How many words come first that are texts: a pattern, a program."""
    gives: _Names = frozenset()
    """Options that give that text instead."""
    valued: _Names = frozenset()
    """Options that take a value; it is looked at as a path."""
    prose: _Names = frozenset()
    """Options whose value is a text."""
    deep: _Names = frozenset()
    """Options that make it go down into folders, or ALWAYS."""
    here: bool = False
    """Going down, it begins in the working folder where no word names another."""
    passes_hidden: bool = False
    """Going down, it leaves names with a leading dot out, unless one of `hidden` is given."""
    hidden: _Names = frozenset()
    only: _Names = frozenset()
    without: _Names = frozenset()
    """Options that say which names are used, which folders are left out."""
    lists: _Names = frozenset()
    """Options with which it prints names alone."""
    tokens: bool = False
    """Its texts are programs in which paths stand between blanks."""
    inert: bool = False
    """It opens nothing that its words name."""


def _rule(
    how: str = READ,
    *,
    last: str = "",
    texts: int = 0,
    deep: str = "",
    here: bool = False,
    passes_hidden: bool = False,
    tokens: bool = False,
    inert: bool = False,
    **names: str,
) -> Rule:
    sets = {name: frozenset(given.split()) for name, given in names.items()}
    valued = sets.get("valued", frozenset()) | sets.get("prose", frozenset())
    valued |= sets.get("only", frozenset()) | sets.get("without", frozenset())
    sets["valued"] = valued | sets.get("gives", frozenset())
    return Rule(
        how=how,
        last=last,
        texts=texts,
        deep=ALWAYS if deep == "*" else frozenset(deep.split()),
        here=here,
        passes_hidden=passes_hidden,
        tokens=tokens,
        inert=inert,
        **sets,
    )


_PLAIN = _rule()
_INERT = _rule(inert=True)
_WRITES = _rule(WRITE)
_REMOVES = _rule(WRITE, deep="r R recursive")
_COPIES = _rule(last=WRITE, deep="r R a recursive archive", valued="t target-directory S")
_MODES = _rule(WRITE, deep="R recursive", texts=1, gives="reference")
_GREP = _rule(
    texts=1,
    gives="e regexp f file",
    prose="e regexp A B C m after-context before-context context max-count color colour label d"
    " directories D devices binary-files",
    deep="r R recursive dereference-recursive",
    here=True,
    only="include",
    without="exclude-dir",
    valued="exclude exclude-from",
    lists="l L c q files-with-matches files-without-match count quiet silent",
)
_RG = _rule(
    texts=1,
    gives="e regexp f file",
    prose="e regexp A B C m j M E r t T d after-context before-context context max-count threads"
    " max-columns encoding replace type type-not max-depth maxdepth sort sortr color colors engine"
    " path-separator max-filesize context-separator type-add",
    valued="f file ignore-file pre",
    deep="*",
    here=True,
    passes_hidden=True,
    hidden="hidden .",
    only="g glob iglob",
    lists="l c q files-with-matches files-without-match count count-matches quiet",
)
_AG = _rule(
    texts=1,
    prose="A B C m after before context max-count depth G file-search-regex",
    without="ignore ignore-dir",
    deep="*",
    here=True,
    passes_hidden=True,
    hidden="hidden u unrestricted",
    lists="l L c g files-with-matches count",
)

RULES: dict[str, Rule] = {
    **dict.fromkeys(
        "cat tac less more bat batcat nl wc uniq paste comm cmp od xxd hexdump strings base64"
        " base32 md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum file fmt pr"
        " column expand unexpand rev iconv xmllint pandoc glow mdcat vi vim nvim view nano emacs ed"
        " ex code zcat gunzip bunzip2 xz unxz 7z open xdg-open source . look ptx tsort"
        " csplit fold shuf numfmt psql sqlite3 gdb make tmux screen".split(),
        _PLAIN,
    ),
    **dict.fromkeys("head tail".split(), _rule(prose="n c lines bytes s pid")),
    **dict.fromkeys(
        "echo printf true false : pwd date sleep wait kill exit return break continue shift ulimit"
        " umask hash type which whereis test [ [[ let jobs fg bg disown times logout history help"
        " id whoami hostname uname seq yes expr basename dirname printenv clear tput export local"
        " readonly declare typeset unset set unalias getopts pgrep pkill killall ps nproc uptime"
        " free df env-vars gh glab claude qwen codex notify-send realpath readlink".split(),
        _INERT,
    ),
    **dict.fromkeys("grep egrep fgrep zgrep ggrep ugrep".split(), _GREP),
    "rgrep": _GREP._replace(deep=ALWAYS),
    "rg": _RG,
    **dict.fromkeys("ag ack pt".split(), _AG),
    "sed": _rule(
        texts=1,
        gives="e expression f file",
        prose="e expression l line-length",
        tokens=True,
    ),
    **dict.fromkeys(
        "awk gawk mawk nawk".split(),
        _rule(texts=1, gives="f file e source", prose="F v assign e source", tokens=True),
    ),
    "jq": _rule(
        texts=1,
        gives="f from-file",
        prose="arg argjson indent tab",
        valued="L f from-file slurpfile rawfile",
    ),
    "yq": _rule(texts=1, prose="e"),
    "tr": _INERT,
    "cut": _rule(prose="d f c b delimiter fields characters bytes output-delimiter"),
    "sort": _rule(prose="k t S key field-separator buffer-size", valued="o output T"),
    "join": _rule(prose="1 2 a e j o t v"),
    **dict.fromkeys(
        "diff sdiff colordiff".split(),
        _rule(
            deep="r recursive",
            prose="U C W context unified width label",
            without="x exclude",
            lists="q brief",
        ),
    ),
    **dict.fromkeys(
        "ls dir vdir exa eza lsd".split(),
        _rule(LIST, deep="R recursive T tree", here=True, prose="I ignore w width T L level sort"),
    ),
    "tree": _rule(LIST, deep="*", here=True, prose="L I P o", valued="o"),
    "du": _rule(LIST, deep="*", here=True, prose="d max-depth t threshold B"),
    **dict.fromkeys("stat namei lsattr getfattr getfacl".split(), _rule(LIST, prose="c format f")),
    "cp": _COPIES,
    "rsync": _COPIES._replace(
        deep=frozenset({"r", "a", "recursive", "archive"}),
        without=frozenset({"exclude"}),
        valued=frozenset({"exclude", "include", "e", "rsh", "files-from", "exclude-from"}),
        prose=frozenset({"e", "rsh", "include"}),
    ),
    "scp": _COPIES._replace(deep=frozenset({"r"}), valued=frozenset("i o P S c F J l".split())),
    "mv": _rule(WRITE, deep="*", valued="t target-directory S suffix"),
    "ln": _rule(last=WRITE, deep="*", valued="t target-directory S suffix"),
    "install": _rule(last=WRITE, valued="m mode o owner g group t target-directory", prose="m o g"),
    **dict.fromkeys(["rm", "trash", "trash-put", "gio"], _REMOVES),
    **dict.fromkeys("touch truncate shred mkdir rmdir mkfifo mknod tee unlink".split(), _WRITES),
    **dict.fromkeys("chmod chown chgrp chattr setfacl".split(), _MODES),
    "dd": _WRITES,
    "split": _rule(prose="l b n a d lines bytes"),
    "zip": _rule(deep="r R recurse-paths", without="x exclude", valued="i include"),
    **dict.fromkeys(["gzip", "bzip2"], _rule(WRITE, deep="r recursive")),
    **dict.fromkeys(["unzip"], _rule(WRITE, valued="d x")),
    **dict.fromkeys(["cloc", "tokei", "scc", "wc-l"], _rule(LIST, deep="*", here=True)),
    **dict.fromkeys(
        ["codespell", "markdownlint", "mdl", "vale", "mdformat", "typos"],
        _rule(deep="*", passes_hidden=True),
    ),
    "prettier": _rule(deep="*", passes_hidden=True, valued="config ignore-path", prose="parser"),
    "curl": _rule(
        prose="H header A user-agent X request u user e referer w write-out m max-time"
        " connect-timeout retry r range b cookie resolve x proxy",
        valued="o output d data data-binary data-raw F form T upload-file K config c cacert E cert",
    ),
    "wget": _rule(prose="U header user-agent t T", valued="O output-document i input-file P o"),
    **dict.fromkeys(["npm", "pnpm", "yarn", "bun"], _rule(valued="prefix C dir cwd")),
}

FILES = frozenset(name for name, rule in RULES.items() if not rule.inert) - frozenset(
    "npm pnpm yarn bun make curl wget psql tmux screen gdb code open xdg-open".split()
)
"""Commands of which a path that is only known when they run is worth a word."""

WRAPPERS: dict[str, tuple[_Names, int]] = {
    name: (frozenset(valued.split()), words)
    for name, valued, words in (
        ("sudo", "u g h p C D R T user group host prompt chdir", 0),
        ("doas", "u C", 0),
        ("nohup", "", 0),
        ("nice", "n adjustment", 0),
        ("ionice", "c n p t", 0),
        ("time", "f o format output", 0),
        ("gtime", "f o", 0),
        ("timeout", "s k signal kill-after", 1),
        ("gtimeout", "s k", 1),
        ("stdbuf", "i o e", 0),
        ("setsid", "", 0),
        ("builtin", "", 0),
        ("exec", "a", 0),
        ("strace", "e o p s f", 0),
        ("ltrace", "e o p s", 0),
        ("watch", "n interval d", 0),
        ("unbuffer", "", 0),
        ("chronic", "", 0),
        ("busybox", "", 0),
        ("toybox", "", 0),
        ("flock", "w E timeout", 1),
        ("chroot", "", 1),
        ("taskset", "", 1),
        ("unshare", "", 0),
        ("fakeroot", "", 0),
        ("caffeinate", "", 0),
        ("coproc", "", 0),
        ("then", "", 0),
        ("do", "", 0),
        ("!", "", 0),
    )
}
"""Commands that run the command in their words: options with a value, words that come first."""
RUNNERS = {
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("hatch", "run"),
    ("pdm", "run"),
    ("rye", "run"),
    ("bundle", "exec"),
    ("pnpm", "exec"),
    ("npm", "exec"),
    ("mise", "exec"),
    ("direnv", "exec"),
}
SHELLS = frozenset("sh bash dash zsh ksh ash rbash fish".split())
CODE: dict[str, tuple[_Names, _Names]] = {
    **dict.fromkeys(
        ("python", "python2", "python3", "pypy", "pypy3"),
        (frozenset({"c"}), frozenset({"W", "X", "m"})),
    ),
    "perl": (frozenset({"e", "E"}), frozenset({"I", "M"})),
    "ruby": (frozenset({"e"}), frozenset({"I", "r"})),
    "node": (frozenset({"e", "p", "eval", "print"}), frozenset({"r", "require", "import"})),
    "nodejs": (frozenset({"e", "p", "eval", "print"}), frozenset({"r", "require"})),
    "bun": (frozenset({"e", "p", "eval", "print"}), frozenset()),
    "php": (frozenset({"r"}), frozenset({"d"})),
    "lua": (frozenset({"e"}), frozenset({"l"})),
    "osascript": (frozenset({"e"}), frozenset({"l"})),
    "Rscript": (frozenset({"e"}), frozenset()),
    "julia": (frozenset({"e", "E"}), frozenset()),
    "tclsh": (frozenset(), frozenset()),
}
"""Interpreters: the options that give a program, and the others that take a value."""

GIT_PROSE = frozenset(
    "m message author date grep S G format pretty since until after before committer n max-count U"
    " c trailer L b B s strategy".split()
)
GIT_INERT = frozenset({"add", "status", "check-ignore", "commit", "push", "pull", "fetch"})
"""What git keeps of memories is git's and a person's to keep; nothing of it is printed."""
