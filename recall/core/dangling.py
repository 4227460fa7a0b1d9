"""What a memory's text points at: refs, links, wiki links, paths; and putting them right.

Nothing is said here of whether a target is there: whoever knows the corpus and the files does.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from recall.core.lazy import pattern

REF: Final = "ref"
LINK: Final = "link"
WIKI: Final = "wiki link"
PATH: Final = "path"

_FENCED = pattern(r"(?m)^ {0,3}(`{3,}|~{3,})[^\n]*\n(?:.*\n)*?(?: {0,3}\1[`~]*[ \t]*$|\Z)")
_CODE = pattern(r"(`{1,2})([^`\n]+)\1")
_LINK = pattern(r"\]\(<?(?P<target>[^()<>\s]+)>?(?:\s+[\"'][^\"'\n]*[\"'])?\)")
_WIKI = pattern(r"\[\[(?P<target>[^\[\]|#\n]{1,200})(?:[|#][^\[\]\n]*)?\]\]")
_REF = pattern(
    r"(?<![\w/:.-])(?P<target>(?:project|user|team):[\w%~+-][\w%./~+-]*\.(?:md|mdx|markdown))(?!\w)"
)
_PATH = pattern(r"(?:\./)?(?:[\w@+-][\w@+.-]*/)+[\w@+.-]*\w\.[A-Za-z][A-Za-z0-9]{0,4}")
_SCHEME = pattern(r"[A-Za-z][A-Za-z0-9+.-]*:|[/~#?]")
_EXTENSION = pattern(r"\.[A-Za-z][A-Za-z0-9]{0,8}$")
_UNSURE = frozenset("<>*{}$…")


class Reference(NamedTuple):
    """Something that a text points at: `target` as a path, name or ref, without an anchor.

    `start` and `end` are where it stands in the text, in characters.
    """

    kind: str
    target: str
    start: int
    end: int


def references(text: str) -> list[Reference]:
    """Return what a body points at, in order; nothing that stands in a block of code.

    Addresses, absolute paths, anchors of the page itself and placeholders are left out, and links
    without an extension, which may mean a page of a site.
    """
    bare = _FENCED.sub(lambda hit: " " * len(hit[0]), text)
    found = list(_in_code(bare))
    bare = _CODE.sub(lambda hit: " " * len(hit[0]), bare)
    for kind, shape in ((WIKI, _WIKI), (LINK, _LINK), (REF, _REF)):
        found += _of(kind, shape.finditer(bare))
    return sorted(found, key=lambda one: one.start)


def _in_code(text: str) -> Iterator[Reference]:
    """Yield the refs and paths that a code span consists of."""
    for hit in _CODE.finditer(text):
        said = hit[2].strip()
        start = hit.start(2) + hit[2].find(said)
        if _REF.fullmatch(said):
            yield Reference(REF, said, start, start + len(said))
        elif _PATH.fullmatch(said) and not _UNSURE & set(said):
            yield Reference(PATH, said.removeprefix("./"), start, start + len(said))


def _of(kind: str, hits: Iterable[object]) -> Iterator[Reference]:
    for hit in hits:
        whole: str = hit["target"]  # type: ignore[index]
        start: int = hit.start("target")  # type: ignore[attr-defined]
        if _UNSURE & set(whole):
            continue
        if kind != LINK:
            yield Reference(kind, whole.strip(), start, start + len(whole))
            continue
        bare = whole.partition("#")[0].partition("?")[0]
        if bare and not _SCHEME.match(bare) and _EXTENSION.search(bare):
            path = unquote(bare).replace("\\", "/")  # as some write on Windows
            yield Reference(kind, path, start, start + len(bare))


def beside(path: str, target: str) -> str | None:
    """Return the path that a link means, from the file that holds it, both below the same root.

    None where it leads out of the root.
    """
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return None if joined == ".." or joined.startswith("../") else joined


def link_to(path: str, target: str) -> str:
    """Return how a link in the file `path` names the file `target` of the same root."""
    return quote(posixpath.relpath(target, posixpath.dirname(path) or "."), safe="/@+~")


def moved(text: str, path: str) -> str:
    """Return the text of the file `path` as it says the same in its root's own folder."""
    folder = posixpath.dirname(path)
    if not folder:
        return text
    links = (one for one in references(text) if one.kind == LINK)
    there = {one: posixpath.normpath(posixpath.join(folder, one.target)) for one in links}
    return mended(text, {one: quote(target, safe="/@+~") for one, target in there.items()})


def mended(text: str, better: Mapping[Reference, str]) -> str:
    """Return the text with other targets in place of some references."""
    out, last = [], 0
    for one in sorted(better, key=lambda one: one.start):
        out += [text[last : one.start], better[one]]
        last = one.end
    return "".join((*out, text[last:]))


def line_of(text: str, at: int) -> int:
    """Return the number of the line, from 1, that a position is in."""
    return text.count("\n", 0, at) + 1
