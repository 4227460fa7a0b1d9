"""The lines of a head, read one by one where a YAML parser refuses it.

`Field` is what every reader of a head gives, whatever the head's language; `key_of` says
whether a line looks like `key: value` to a person; `salvage_one` reads one such line with what
stands below it. All of it is linear in the head's length and gives nothing but text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from recall.core.lazy import pattern
from recall.tuples import NamedTuple

TEXT_KEYS = ("name", "title", "description", "summary", "intro", "source")
LIST_KEYS = ("keywords", "tags", "aliases", "usage_scenarios")
# In these a ` # …` after a plain value is a comment; elsewhere people mean it as text.
WORD_KEYS = (
    *("type", "category", "categories", "id", "agent", "pinned", "created", "updated", "date"),
)
WANTED = (*TEXT_KEYS, *LIST_KEYS, *WORD_KEYS, "version", "metadata")
PROSE_KEYS = ("description", "summary", "intro")
"""Below these, lines that are no keys go on with the text."""

HASH_IS_TEXT = frozenset((*TEXT_KEYS, *LIST_KEYS))

FIELD_CHARS = 16_384
"""One field is read up to here: twice the longest text that the metadata keeps."""
LIST_ITEMS = 64
"""Items of one list that are looked at; eight times what the metadata keeps of keywords."""

NULLS = frozenset(("", "~", "null", "Null", "NULL"))
SAYS_NOTHING = pattern(r"|~|null|true|false|yes|no|on|off|[\d.]+", re.IGNORECASE)
"""Where a mapping stands for a list, such a value leaves the word to its key."""

LINE_END = pattern(r"\r\n|\n|\r")
CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ", "||||||| ")


class Field(NamedTuple):
    """One key of a head and what stands there.

    `kind` is text, list, map or null; `text` holds a text, or `metadata.type` of the key
    `metadata`; `items` a list's texts, flattened. `line` is 1-based in the file, `key` as written.
    `template`: the value is an unfilled `{{ … }}` or `{% … %}`.
    """

    key: str
    line: int
    kind: str
    text: str = ""
    items: tuple[str, ...] = ()
    template: bool = False


class KeyLine(NamedTuple):
    """A line that looks like `key: rest`; `name` is the canonical key, empty if not wanted."""

    key: str
    name: str
    rest: str


_CANONICAL = {name: name for name in WANTED} | {name.replace("_", ""): name for name in WANTED}
_CANONICAL["usagescenario"] = "usage_scenarios"
_DROP = {ord(c): None for c in " -_"}


def canonical(key: str) -> str:
    """Return the wanted key that this one means (case, `-`, space and `_` alike), or ''."""
    found = _CANONICAL.get(key)
    if found is not None:
        return found
    return _unusual(key) if len(key) <= 40 else ""


@lru_cache(maxsize=1024)
def _unusual(key: str) -> str:
    return _CANONICAL.get(key.strip().lower().translate(_DROP), "")


_KEY = pattern(
    r"""(?P<quote>["']?)(?P<key>[^\s"'#:：,\[\]{}|>@`%&*!-][^"'#:：\r\n]{0,63}?)(?P=quote)"""
    r"""[ \t\xa0]*(?P<colon>[:：])(?P<rest>.*)""",
    re.DOTALL,
)
# A key nobody declared must look like one: at most three words, so that prose with a colon in it
# (`Use when the user asks to: …`) goes on belonging to the field above.
_PLAIN_KEY = pattern(r"[\w.$/@()-]{1,40}(?: [\w.$/@()-]{1,20}){0,2}")
_MARGIN = pattern(r"(?:[ \t\xa0\u3000]|&nbsp;)*")


def key_of(line: str) -> KeyLine | None:
    """Return what a line without its indentation says if a person would read it as a key's."""
    match = _KEY.match(line)
    if match is None:
        return None
    key, rest = match["key"].strip(), match["rest"]
    name = canonical(key)
    spaced = match["colon"] == ":" and (not rest or rest[0] in " \t\xa0\r")
    if name:
        return None if rest.startswith("//") else KeyLine(key, name, rest)
    if spaced and _PLAIN_KEY.fullmatch(key):
        return KeyLine(key, "", rest)
    return None


def margin(line: str) -> int:
    """Return the width of the indentation, where tabs, NBSP and `&nbsp;` count as indentation."""
    match = _MARGIN.match(line)
    return match.end() if match else 0


def salvage_one(lines: Sequence[str], at: int, first_line: int) -> tuple[str, Field | None, int]:
    """Read the key at `lines[at]` with the lines below that belong to it.

    Returns its canonical name (empty when unwanted), the field, and the index of the line where
    the next key stands; `first_line` is the file's line number of `lines[0]`.
    """
    indent = margin(lines[at])
    line = lines[at][indent:]
    found = key_of(line)
    end = _next_key(lines, at + 1, indent, found)
    if found is None or not found.name:
        return "", None, end
    below = [text for text in lines[at + 1 : end] if not text.startswith(CONFLICT)]
    return found.name, _value(found, below, first_line + at), end


def _next_key(lines: Sequence[str], start: int, indent: int, above: KeyLine | None) -> int:
    """Return where the next key stands; behind a plain one-line text, an indented one counts if
    we know it: a tab or a blank slipped in before it."""
    plain = above is not None and above.rest.strip()[:1] not in ("", "|", ">", "[", "{", '"', "'")
    for i in range(start, len(lines)):
        line = lines[i]
        if not line or line[0] in "-#":
            continue
        width = margin(line)
        if width <= indent or (plain and width <= indent + _SLIP):
            found = key_of(line[width:])
            if found is not None and (width <= indent or found.name):
                return i
    return len(lines)


_SLIP = 2  # characters of indentation that may have slipped in before a key
_BLOCK = pattern(r"[|>][+-]?\d?[+-]?(?:\s+#.*)?")
_ITEM = pattern(r"[-*+•](?:[ \t\xa0]+|$)")
_COMMENT = pattern(r"(?:^|\s)#.*", re.DOTALL)


def _value(found: KeyLine, below: list[str], line: int) -> Field:
    key, name, rest = found.key, found.name, found.rest.strip()
    if name == "metadata":
        return Field(key, line, "map", text=_nested_type(below))
    if _BLOCK.fullmatch(rest):
        return Field(key, line, "text", _fold("", below))
    if name not in HASH_IS_TEXT:
        rest = _COMMENT.sub("", rest).strip()
    below = [text for text in below if not text.lstrip().startswith("#")]
    if rest in NULLS:
        return _below_empty(found, below, line, null=rest != "")
    if rest.startswith(("{{", "{%")):
        return Field(key, line, "text", rest[:FIELD_CHARS], template=True)
    if rest[0] == "{" and ("}" not in rest or rest.endswith("}")):
        return Field(key, line, "map")
    if rest[0] == "[" and name in LIST_KEYS:
        return Field(key, line, "list", items=flow_items(_fold(rest, below)))
    if name in LIST_KEYS and below and _ITEM.match(below[0].lstrip()):
        return Field(key, line, "list", items=(unquoted(rest), *_block_items(below)))
    if name not in HASH_IS_TEXT:
        below = []
    return Field(key, line, "text", unquoted(_fold(rest, _continuation(name, rest, below))))


def _below_empty(found: KeyLine, below: list[str], line: int, *, null: bool) -> Field:
    """Read `key:` with nothing behind it: a list, a mapping or a text may stand below."""
    texts = [text for text in below if text.strip()]
    if null or not texts:
        return Field(found.key, line, "null")
    first = texts[0].lstrip(" \t\xa0")
    if _ITEM.match(first):
        return Field(found.key, line, "list", items=_block_items(texts))
    if margin(texts[0]) and key_of(first) is not None:
        return Field(found.key, line, "map")
    if first.startswith("[") and found.name in LIST_KEYS:
        return Field(found.key, line, "list", items=flow_items(_fold("", texts)))
    return Field(found.key, line, "text", unquoted(_fold("", _continuation(found.name, "", below))))


def _continuation(name: str, rest: str, below: list[str]) -> list[str]:
    """Return the lines below that go on with a text: a name ends at the first blank line."""
    if name in PROSE_KEYS:
        return below
    out: list[str] = []
    for text in below:
        blank = not text.strip()
        if blank and (rest or out):
            break
        if not blank and margin(text) == 0:
            break
        out.append(text)
    return out


def _fold(rest: str, below: list[str]) -> str:
    size, parts = len(rest), [rest]
    for text in below:
        if size > FIELD_CHARS:
            break
        size += len(text) + 1
        parts.append(text[:FIELD_CHARS].replace("&nbsp;", " ").strip())
    return "\n".join(parts).strip()[:FIELD_CHARS]


def _block_items(below: list[str]) -> tuple[str, ...]:
    items: list[str] = []
    for text in below:
        line = text.replace("&nbsp;", " ")[:FIELD_CHARS].strip()
        match = _ITEM.match(line)
        if match:
            if len(items) >= LIST_ITEMS:
                break
            items.append(line[match.end() :])
        elif line and items and margin(text):
            items[-1] = f"{items[-1]} {line}"[:FIELD_CHARS]
        elif line:
            break
    return tuple(unquoted(item.strip()) for item in items)


_FLOW_ITEM = pattern(r"""[\s\[]*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,，、\n]+)""", re.DOTALL)


def flow_items(text: str) -> tuple[str, ...]:
    """Return the texts of `[a, "b", 'c']`, however its brackets are nested or missing."""
    out: list[str] = []
    for match in _FLOW_ITEM.finditer(text[:FIELD_CHARS]):
        item = unquoted(match[1].strip().strip("[]").strip())
        if item:
            out.append(item)
        if len(out) >= LIST_ITEMS:
            break
    return tuple(out)


_TYPE_BELOW = pattern(r"[ \t\xa0]+[\"']?type[\"']?[ \t]*[:：][ \t]*(.*)", re.IGNORECASE)


def _nested_type(below: list[str]) -> str:
    for text in below:
        match = _TYPE_BELOW.match(text)
        if match:
            return unquoted(_COMMENT.sub("", match[1]).strip())
    return ""


# A second quote that opens one (`"please say "hi" now"`) means that the first encloses it all.
_INNER = pattern(r"""("[^"]*"|'[^']*')[^\s"'.,;:!?)\]}，。；：！？）]""")
_DOUBLE = pattern(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_SINGLE = pattern(r"'((?:[^']|'')*)'", re.DOTALL)


def unquoted(text: str) -> str:
    """Return a scalar's text: quotes off where they enclose all of it, escapes resolved.

    A quoted beginning with text behind it (`"x" and "y"`) is text as it stands; a lone opening
    quote is dropped.
    """
    if not text or text[0] not in "\"'":
        return text
    quote = text[0]
    match = (_DOUBLE if quote == '"' else _SINGLE).match(text)
    if match is None:
        return text[1:].strip()
    behind = text[match.end() :].strip()
    if behind and behind != "," and not behind.startswith("#"):
        encloses = text.endswith(quote) and _INNER.match(text) is not None
        return text[1:-1].strip() if encloses else text
    return unescape(match[1]) if quote == '"' else match[1].replace("''", "'")


_ESCAPE = pattern(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|U\+([0-9a-fA-F]{4,6})|(.))", re.S)
_SHORT = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/", " ": " ", "0": " "}
_SHORT |= {"'": "'", "b": " ", "a": " ", "e": " ", "f": " ", "v": " ", "N": " ", "_": " "}
_SHORT |= {"\n": "", "\r": ""}
_SURROGATE = pattern("[\ud800-\udfff]")


def unescape(text: str) -> str:
    """Resolve a double-quoted text's escapes, JSON's surrogate pairs and `\\U+1F4E7` too.

    One escape that nobody knows (`"C:\\dir"`) means that the backslashes were meant as such.
    """
    if "\\" not in text:
        return text
    for match in _ESCAPE.finditer(text):
        if match[4] is not None and match[4] not in _SHORT:
            return text.replace('\\"', '"')
    out = _ESCAPE.sub(_resolve, text)
    return without_surrogates(out)


def _resolve(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits is None:
        return _SHORT[match[4]]
    code = int(digits, 16)
    return chr(code) if code <= 0x10FFFF else "\ufffd"


def without_surrogates(text: str) -> str:
    """Join surrogate pairs to their character; a lone one becomes U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
