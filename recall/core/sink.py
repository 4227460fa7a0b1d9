"""The one sink: what a value passes before it reaches a prompt, a terminal or a JSON answer.

A memory may hold anything. After `metadata` it can neither close the wrapper that it stands in,
nor forge a line of the tree or another memory; after `terminal` it can't drive a terminal; in
`json_text` nothing of the kind stands raw, and `json.loads` gives back the exact value.
Rules: DESIGN.md, section 6.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from typing import Any

from recall.core.lazy import pattern
from recall.core.visible import spelled
from recall.core.window import is_boundary
from recall.model import SCOPES

ELLIPSIS = "…"

_PREFIXES = (
    "system sys- sys_ sys> memory memories qwen claude codex antml gemini assistant recall-".split()
)
_WORDS = (
    "user human developer agent model role prompt ai bot admin root tool tools function functions "
    "invoke parameter parameters think thinking thought reasoning reminder context environment "
    "session conversation transcript message messages important instruction instructions rule "
    "rules skill skills command commands hook hooks ide bash local task notification permission "
    "permissions persisted additional external available example examples document documents "
    "result results answer start_of_turn end_of_turn s inst"
).split()
"""How the names of prompts' wrapper tags begin, in the hosts and chat formats that we know:
as prefixes, and as whole words (`<username>` and `<toolbar>` are not meant)."""

# ---------------------------------------------------------------------------------------------
# JSON answers


@cache
def _json_raw() -> re.Pattern[str]:
    """Match one character that may not stand raw. Made at first use: it takes 5 ms to compile."""
    names: dict[str, list[str]] = {}
    for name in _PREFIXES:
        names.setdefault(name[0], []).append(name[1:])
    for name in _WORDS:
        names.setdefault(name[0], []).append(f"{name[1:]}(?![a-z0-9])")
    # Grouped by first letter in a set, which `re` looks at before it enters a branch: twice as
    # fast on a page full of ordinary tags.
    wrapper = "|".join(f"[{c}{c.upper()}](?i:{'|'.join(rest)})" for c, rest in names.items())
    blanks = r"(?:\s|\\[nrt])*+"  # line feeds and tabs are escapes in JSON text
    return re.compile(
        # C1 and DEL, bidi controls, line and paragraph separator, surrogates, tag characters;
        # and `<`, where a wrapper's name or a chat format's special token (`<|…|>`) follows.
        "[<\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
        "\U000e0000-\U000e007f]"
        rf"(?:(?<!<)|(?=[|｜]|{blanks}(?:[/!?]{blanks})?(?:{wrapper})))"
    )


def _json_escape(match: re.Match[str]) -> str:
    # json.dumps knows how to write an astral character as two escapes.
    return "\\u003c" if match[0] == "<" else json.dumps(match[0])[1:-1].replace("\x7f", "\\u007f")


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return `value` as JSON text in which nothing dangerous stands raw.

    Without `indent` no blank stands between its tokens: of an answer's tokens (o200k_base) these
    were 6 to 13 % on three labelled sets.

    Controls, bidi controls, line and paragraph separators, surrogates and the `<` of what looks
    like a prompt's wrapper tag are `\\uXXXX` escapes; everything else stays readable. `json.loads`
    gives the value back; only a high surrogate followed by a low one, which JSON can't keep apart
    from the character that they spell, comes back as that character. Raises ValueError for NaN
    and infinities.
    """
    marks = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=marks)
    if text.isascii() and "<" not in text and "\x7f" not in text:
        return text
    return _json_raw().sub(_json_escape, text)


# ---------------------------------------------------------------------------------------------
# Terminals

_TERMINAL_RAW = pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_CARRIAGE_RETURN = pattern("\r\n?")


def _terminal_escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def terminal(text: str) -> str:
    """Return `text` safe to print: line feeds and tabs stay, CR and CRLF become line feeds.

    Other controls (so every ANSI sequence), bidi controls, line separators, characters without
    width, tags and surrogates are shown as `\\xXX` or `\\uXXXX`: a person sees that they are there.
    For people, not to be parsed.
    """
    return spelled(_CARRIAGE_RETURN.sub("\n", text), _terminal_escape)


# ---------------------------------------------------------------------------------------------
# Passages: text of a memory, as text in a prompt

_OURS = re.compile(
    r"(?im)^[ \t]*#{1,6}[ \t]+(?=memory index|relevant memories|complete memory tree|memory focus)"
)


def passage(text: str) -> str:
    """Return a body's text as it may stand in a prompt: its lines stay, nothing is forged.

    Controls, bidi controls and line separators go, but for line feeds and tabs; what looks like a
    prompt's wrapper tag, a ref in brackets or a heading of ours is written with look-alikes.
    """
    text = _TERMINAL_RAW.sub("", _CARRIAGE_RETURN.sub("\n", text))
    text = _json_raw().sub(lambda m: "‹" if m[0] == "<" else "", text)
    text = _REF.sub(lambda m: f"({m[1]}{')' if m[2] else ''}", text)
    return _OURS.sub("", text)


# ---------------------------------------------------------------------------------------------
# Refs

_UNSAFE_IN_REF = pattern(r"[^A-Za-z0-9\-_.!~*'()%/:@&=+$,;]")


def safe_ref(ref: str) -> str:
    """Return a ref as it is: percent-encoded, it holds nothing dangerous.

    Should one hold anything else all the same, that is percent-encoded, so that it can do no harm.
    """
    return _UNSAFE_IN_REF.sub(
        lambda m: "".join(f"%{byte:02X}" for byte in m[0].encode("utf-8", "surrogatepass")), ref
    )


# ---------------------------------------------------------------------------------------------
# Metadata: titles, descriptions, keywords, categories

_SUSPICIOUS = pattern(r"[\x00-\x1f\x7f<\[]|^[#>\s]|\s\s|\s$|```|~~~")
"""ASCII text without any of these passes as it is."""

_ANSI = pattern(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # CSI: colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*+(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, …
    r"|\x1b[ -/]*+[0-Z\\^-~]"  # two characters, such as a reset
)
_CONTROLS = pattern("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATES = pattern("[\ud800-\udfff]")
_INVISIBLE = pattern(
    # The three flags that are written with tag characters (UTS #51) stay. What goes is all else
    # that Unicode calls default-ignorable, but for joiners and variation selectors.
    "(\U0001f3f4(?:\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067"
    "|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f))"
    "|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
)
_STRAY_SELECTORS = pattern(
    # One variation selector after a visible character (the ideographic ones only after an
    # ideograph); rows of them carry hidden bytes.
    "(?<![^\\s\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f]+"
    "|(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd])[\U000e0100-\U000e01ef]+"
)
_JOINERS = pattern("[\u200c\u200d]+")

_TREE_GLYPHS = str.maketrans(dict.fromkeys("├└┣┗╠╚╰", "+") | dict.fromkeys("│┃║", "|"))
_TAG = pattern(
    r"<(?:(?=[/!?|]|[^\W\d])"
    # After blanks it may be a comparison (`latency < budget`), unless a wrapper's name follows or
    # it closes like a tag.
    rf"|(?=\s+(?:[/!?]|(?i:{'|'.join(_PREFIXES)})|[\w:-]++\s*+(?:>|[\w:-]++=[^<>]*+>))))"
    r"([^<>]*+)(>?)"
)
_REF = pattern(rf"\[(?=\s*(?i:{'|'.join(SCOPES)})\s*:|/?INST)([^\[\]]*)(\]?)")
_FENCE = pattern(r"(`{2})`+|(~{2})~+")
_LEADING = pattern(r"^(?:#+\s+|#{2,})+")


def metadata(text: str, limit: int | None = None) -> str:
    """Return a metadata value as it may stand in a prompt: one line, NFKC, nothing forged.

    ANSI sequences and invisible characters go (ZWJ and ZWNJ inside words and emoji stay, and one
    variation selector); what looks like a tag, a fence, a heading, a line of the tree or a ref
    is written with harmless look-alikes (`‹tag›`, `(user:x)`). At most `limit` characters, cut
    between graphemes with `…`. Applying it twice changes nothing.
    """
    if limit is not None:
        text = text[: 16 * limit + 1_024]  # a value of megabytes is not worth reading whole
    if not text.isascii() or _SUSPICIOUS.search(text):
        text = _settled(text)
    if limit is None or len(text) <= limit:
        return text
    return _settled(shorten(text, limit))  # a cut can leave a joiner at the end


LABEL = 80
"""A category's name is shown in at most so many characters."""


def category_label(category: str) -> str:
    """Return a category's name as it is shown; `explore` is asked for what is shown."""
    # The line that counts folded categories begins with `…`; no name may.
    return metadata(category, LABEL).lstrip(f"{ELLIPSIS} ") or "?"


def shorten(text: str, limit: int) -> str:
    """Return `text` in at most `limit` characters, cut between graphemes, `…` at the cut."""
    if len(text) <= limit:
        return text
    end = limit - len(ELLIPSIS)
    if end < 0:
        return ""
    while not is_boundary(text, end):
        end -= 1
    return text[:end].rstrip() + ELLIPSIS


def _settled(text: str) -> str:
    """Repeat the pass until nothing changes: what one step removes can join what it parted."""
    for _ in range(8):
        cleaned = _structure_free(_characters(text))
        if cleaned == text:
            break
        text = cleaned
    return text


def _characters(text: str) -> str:
    """Return one line of visible characters, in NFKC."""
    if not text.isascii():
        text = _SURROGATES.sub("\ufffd", text)
    text = _CONTROLS.sub(" ", _ANSI.sub("", text))
    if not text.isascii():
        text = _INVISIBLE.sub(r"\1", text)
        # NFKC would spell the ellipsis out, also the one that marks our own cuts.
        text = ELLIPSIS.join(unicodedata.normalize("NFKC", t) for t in text.split(ELLIPSIS))
        text = _JOINERS.sub(_keep_joiner, _STRAY_SELECTORS.sub("", text))
    return " ".join(text.split())


def _keep_joiner(match: re.Match[str]) -> str:
    """Keep one joiner inside a word of a script that needs it, in an emoji, and after a virama."""
    text, start, end = match.string, match.start(), match.end()
    before, after = text[start - 1 : start], text[end : end + 1]
    if before and unicodedata.combining(before) == 9:
        return match[0][0]
    inside = all(c > "\x7f" and unicodedata.category(c)[0] in "LMNS" for c in (before, after))
    return match[0][0] if inside else ""


def _structure_free(text: str) -> str:
    """Return a line without anything that a prompt's or a tree's structure is made of."""
    if not text.isascii():
        text = text.translate(_TREE_GLYPHS)
    text = _TAG.sub(lambda m: f"‹{m[1]}{'›' if m[2] else ''}", text)
    text = _REF.sub(lambda m: f"({m[1]}{')' if m[2] else ''}", text)
    text = _LEADING.sub("", _FENCE.sub(r"\1\2", text))
    return f"›{text[1:]}" if text.startswith(">") else text
