"""What a program that stands in a command line does with files: its literal paths, and no more.

A program is not understood. The texts in it are looked at as paths; whether it also opens what it
works out itself is told from the names of calls that open, list or run something.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from recall.core.guard_glob import literal

_TEXT = re.compile(
    r"""(?s)[rbfuRBFU]{0,2}(?:'''(?P<a>.*?)'''|\"""(?P<b>.*?)\"""|'(?P<c>(?:\\.|[^'\\])*)'"""
    r"""|"(?P<d>(?:\\.|[^"\\])*)"|`(?P<e>(?:\\.|[^`\\])*)`|qq?\{(?P<f>[^}]*)\})"""
)
_OPENS = re.compile(
    r"""(?x)\b(?:open|openSync|readFile(?:Sync)?|readdir(?:Sync)?|createReadStream|opendir|fopen
    |file_get_contents|readfile|scandir|listdir|walk|iterdir|glob|rglob|iglob|read_text|read_bytes
    |Path|File|Dir|IO|FileUtils|Find|slurp|spew|copy|copyfile|copytree|copy2|system|popen|Popen
    |check_output|check_call|exec|execSync|execFileSync|spawn|spawnSync|eval|run|qx|sendfile
    |run_path|runpy|fileinput|mmap|include|require_once|include_once|dofile|loadfile|load_source
    |cat|do|getline)\b \s* (?:\.\s*\w+\s*)? (?P<call>[(\s])\s* (?P<given>.?.?)"""
)
_BARE = ("do", "eval", "exec", "qx", "open")
"""Calls that need no bracket, in some languages."""
_HIDES = re.compile(
    r"\b(?:exec|eval|compile|__import__|getattr|fromhex|b64decode|base64|codecs|rot13|unpack|pack"
    r"|chr|fromCharCode|atob|decode|unhexlify|Buffer)\b"
)
_RUNS = re.compile(
    r"\b(?:system|popen\w*|Popen|subprocess|spawn\w*|exec\w*|qx|check_output|shell_exec|IO)\b|`"
)
_MOVES = re.compile(
    r"(?:\b(?:f?chdir|pushd|set_cwd|setwd)\b\s*(?:\(|\s)|\bcwd\s*[:=])\s*(?=['\"`rRbBuU])"
)
_MOVES_HIDDEN = re.compile(r"\b(?:f?chdir)\b")
_HERE = re.compile(
    r"\b(?:Path|PurePath|PosixPath|listdir|scandir|walk|iterdir|readdir)\s*\(\s*\)"
    r"|\b(?:cwd|getcwd|pwd)\b|\brglob\b|__dirname"
)
_READS = re.compile(
    r"\b(?:open|read_text|read_bytes|read|readFile(?:Sync)?|slurp|copy\w*|file_get_contents|cat)\b"
)
_TURNED = re.compile(r"''\s*(?:\[[^\]]*:|%|\.\s*(?:format|replace|join|translate|reverse)\b)")
"""A text that something else is made of."""
_FORMED = re.compile(
    r"""(?s)(?:\b[rR]?[fF][rR]?(?:'[^'\n]*\{|"[^"\n]*\{)|`[^`]*\$\{|"[^"\n]*\#\{)"""
)
"""Texts with something worked out within: f-strings, templates."""
_SCRIPT = re.compile(r"(?:^|[;&|]\s*)cd\s|[;&|<>`*?\[~]|\$\(")
_WALKS = re.compile(r"\b(?:walk|rglob|iglob|glob|find|readdir|scandir|listdir|copytree|iterdir)\b")


class Code(NamedTuple):
    """What was seen in a program."""

    texts: tuple[str, ...]
    """Its literal texts, and what two that are put together give."""
    hides: bool
    """It opens something that no literal text names, or may."""
    walks: bool
    """It may go through folders."""
    runs: bool
    """It may run commands: a text of several words may be one."""
    moves: tuple[str, ...] = ()
    """Folders that it goes to."""
    walks_here: bool = False
    """It may go through the folder that it is in."""
    reads: bool = False
    """It may read what it finds on the way."""


def look(code: str) -> Code:
    """Return what a program shows of itself."""
    texts: list[str] = []
    spans: list[tuple[int, int]] = []
    for found in _TEXT.finditer(code):
        texts.append(next((one for one in found.groups() if one is not None), ""))
        spans.append(found.span())
    joined = _joined(code, texts, spans)
    rest = _TEXT.sub("''", code)
    opens = [
        found
        for found in _OPENS.finditer(rest)
        if found["call"] == "("
        or found[0].lstrip().startswith(("do", "eval", "exec", "qx", "open"))
    ]
    hides = any(not found["given"].startswith(("'", ")")) for found in opens)
    moves = tuple(
        texts[at]
        for found in _MOVES.finditer(code)
        for at, span in enumerate(spans)
        if span[0] == found.end()
    )
    walks = bool(_WALKS.search(rest))
    return Code(
        (*texts, *joined),
        hides
        or bool(_HIDES.search(rest))
        or len(moves) < len(_MOVES_HIDDEN.findall(rest))
        or bool(_TURNED.search(rest))
        or (bool(opens) and _FORMED.search(code) is not None),
        walks,
        bool(_RUNS.search(code)),
        moves,
        walks and _HERE.search(rest) is not None,
        walks and _READS.search(rest) is not None,
    )


def is_script(text: str) -> bool:
    """Tell whether a text that may be run as a command says more than a program and its words."""
    return bool(_SCRIPT.search(text)) and len(text) < 4_096


def _joined(code: str, texts: list[str], spans: list[tuple[int, int]]) -> list[str]:
    """Return the texts that stand together: `"a" + "b"`, `join("a", "b")`, `Path("a") / "b"`."""
    out = []
    for first in range(len(texts)):
        run, path = texts[first], texts[first]
        for last in range(first + 1, min(first + 8, len(texts))):
            between = code[spans[last - 1][1] : spans[last][0]].strip()
            if between in ("+", ".", "", "..", "<>"):
                run += texts[last]
                path += texts[last]
            elif between in (",", "/", ")/", ") /", "),", ")/(", ") / "):
                path += "/" + texts[last]
                run += texts[last]
            else:
                break
            out += [run, path]
    return out


def patterns(code: Code) -> list[str]:
    """Return the texts that may be paths, as patterns; in code that walks, wildcards count."""
    found = []
    for text in code.texts:
        if not text or len(text) > 4_096 or "\0" in text or "\n" in text.strip():
            continue
        wild = code.walks and any(char in "*?[" for char in text)
        found.append(text if wild else literal(text))
    return list(dict.fromkeys(found))
