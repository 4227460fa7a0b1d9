"""A file's bytes to a memory: fields and body to `Metadata`, and every fault on the way."""

from __future__ import annotations

from collections.abc import Iterable

from recall.core.frontmatter import Split, split
from recall.core.lazy import pattern
from recall.core.salvage import Field, without_surrogates
from recall.model import TYPES, Fault, Metadata, Parsed

MAX_TITLE = 4_096
MAX_DESCRIPTION = 8_192
"""Characters; longer ones are no title and no description any more."""
MAX_WORD = 256
"""Characters of a category, id, agent, source or date."""

MAX_KEYWORDS, MAX_KEYWORD, MAX_KEYWORDS_TOTAL = 8, 64, 512
MIN_KEYWORDS = 2
MAX_SCENARIOS, MAX_SCENARIO = 3, 64
MAX_TAGS, MAX_TAG = 16, 32
"""DESIGN.md, section 2; lengths in characters."""

MAX_FAULTS = 32

OWNED = ("name", "description", "type", "category", "keywords", "usage_scenarios")
"""The fields that a structured memory's own frontmatter holds, in the order they are written."""

Fields = dict[str, Field]


def parse_memory(raw: bytes, path: str) -> Parsed:
    """Read one file. Never raises, whatever the bytes; linear in their number.

    `path` is relative to the root with `/` between its segments: its stem is the last resort for
    a title.
    """
    parts = split(raw)
    head = parts.head if parts.head is not None else parts.apparent

    def read() -> tuple[Metadata, tuple[Fault, ...]]:
        faults = list(parts.faults)
        fields = _fields(parts, faults)
        return _metadata(fields, faults, parts, path), _bounded(faults)

    return Parsed(parts.body, parts.version, head, read)


def _bounded(faults: list[Fault]) -> tuple[Fault, ...]:
    if len(faults) <= MAX_FAULTS:
        return tuple(faults)
    more = len(faults) - MAX_FAULTS + 1
    rest = Fault("more-faults", f"{more} more faults are not listed.", "Mend the others first.")
    return (*faults[: MAX_FAULTS - 1], rest)


def _fields(parts: Split, faults: list[Fault]) -> Fields:
    head = parts.head if parts.head is not None else parts.apparent
    if not head:
        return {}
    if parts.head_kind in ("toml", "json"):
        from recall.core import datahead  # rare, and tomllib is a slow import

        fields, found = datahead.read(parts.head_kind, head, parts.head_line)
    else:
        from recall.core import yamlhead  # yaml is slow to import, and seldom needed by a hook

        fields, found = yamlhead.read(head, parts.head_line)
    faults.extend(found)
    return fields


def _metadata(fields: Fields, faults: list[Fault], parts: Split, path: str) -> Metadata:
    if not fields:
        title, description = _derived("", "", parts, path)
        return Metadata(title=title, description=description, missing=OWNED)
    name = _text(fields, ("name", "title"), MAX_TITLE, faults)
    description = _text(fields, ("description", "summary", "intro"), MAX_DESCRIPTION, faults)
    kind = _type(fields, faults)
    category = _category(fields, faults)
    keywords = _keywords(fields, faults)
    scenarios = _scenarios(fields, faults)
    missing = _missing(name, description, kind, category, keywords, scenarios)
    title, about = name, description
    if not name or not description:
        title, about = _derived(name, description, parts, path)
    return Metadata(
        title=title,
        description=about,
        type=kind,
        category=category,
        keywords=keywords,
        usage_scenarios=scenarios,
        tags=_tags(fields, faults) if "tags" in fields else (),
        id=_word(fields, "id"),
        agent=_word(fields, "agent"),
        pinned=_word(fields, "pinned").lower() in ("true", "yes", "on", "1"),
        source=_word(fields, "source"),
        created=_word(fields, "created") or _word(fields, "date"),
        updated=_word(fields, "updated"),
        entry_version=_integer(_word(fields, "version")),
        missing=missing,
    )


def _missing(
    name: str,
    description: str,
    kind: str,
    category: str,
    keywords: tuple[str, ...],
    scenarios: tuple[str, ...],
) -> tuple[str, ...]:
    held = (name, description, kind, category, len(keywords) >= MIN_KEYWORDS, scenarios)
    if all(held):
        return ()
    return tuple(field for field, value in zip(OWNED, held, strict=True) if not value)


def _derived(name: str, description: str, parts: Split, path: str) -> tuple[str, str]:
    """Fill what the head does not say from the body, a title at last from the file's name."""
    from recall.core import derive

    text = parts.body[parts.body_skip : parts.body_skip + derive.MAX_BODY]
    heading, sentence = derive.from_body(text, want_sentence=not description)
    title = name or clean(heading, MAX_TITLE) or clean(_stem(path), MAX_TITLE)
    return title, description or clean(sentence, MAX_DESCRIPTION)


def _stem(path: str) -> str:
    file = path.rpartition("/")[2]
    stem, dot, _ = file.rpartition(".")
    return stem if dot and stem else file


_CONTROL = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")


def clean(text: str, limit: int) -> str:
    """Return the text on one line: blanks, breaks and control characters become one blank."""
    if not text.isprintable():
        text = without_surrogates(text[: 4 * limit].translate(_CONTROL))
    return " ".join(text.split())[:limit].rstrip()


def _fault(field: Field, kind: str, message: str, fix: str) -> Fault:
    return Fault(kind, message, fix, field.line, field.key[:64])


def _text(fields: Fields, names: tuple[str, ...], limit: int, faults: list[Fault]) -> str:
    """Return the first of the named fields that holds a text; the others' faults are kept."""
    for name in names:
        field = fields.get(name)
        if field is None:
            continue
        if field.kind != "text":
            faults.append(_not_text(field))
            continue
        text = clean(_without_brackets(field.text), limit)
        if field.template or _PLACEHOLDER.fullmatch(text):
            faults.append(_template(field))
        if text:
            return text
        faults.append(_not_text(field._replace(kind="null")))
    return ""


def _not_text(field: Field) -> Fault:
    if field.kind == "null":
        return _fault(field, "empty-value", f"`{field.key[:64]}` is empty.", "Write a text.")
    what = "a list" if field.kind == "list" else "a mapping"
    return _fault(
        field,
        "not-text",
        f"`{field.key[:64]}` holds {what} where a text is expected; it is not read.",
        "Write one line of text, in double quotes where it holds brackets or braces.",
    )


def _template(field: Field) -> Fault:
    return _fault(
        field,
        "template",
        f"`{field.key[:64]}` holds a template's placeholder.",
        "Fill the template in, or keep templates out of the memory folder (.recallignore).",
    )


_PLACEHOLDER = pattern(r"\{\{[^{}]*\}\}")


def _without_brackets(text: str) -> str:
    text = text.strip()
    if text.startswith("[[") and text.endswith("]]") and "[[" not in text[2:]:
        return text[2:-2]
    return text


def _word(fields: Fields, name: str) -> str:
    field = fields.get(name)
    return clean(field.text, MAX_WORD) if field is not None and field.kind == "text" else ""


def _integer(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _type(fields: Fields, faults: list[Fault]) -> str:
    """Return the type: the flat key's, else `metadata.type`'s; '' if neither is one."""
    wrong = None
    for name in ("type", "metadata"):
        field = fields.get(name)
        if field is None or not field.text or (name == "metadata") != (field.kind == "map"):
            continue  # `metadata` as a JSON string says nothing
        value = clean(field.text, MAX_WORD).lower()
        if value in TYPES:
            return value
        wrong = wrong or field
    if wrong is not None:
        faults.append(
            _fault(
                wrong,
                "unknown-type",
                f"The type {clean(wrong.text, 64)!r} is none of ours; it is not read.",
                f"Use one of {', '.join(TYPES)}.",
            )
        )
    return ""


def _category(fields: Fields, faults: list[Fault]) -> str:
    """Return the category as written, of several the first."""
    for name in ("category", "categories"):
        field = fields.get(name)
        if field is None:
            continue
        if field.template:
            faults.append(_template(field))
            continue
        if field.kind == "map":
            faults.append(_not_text(field))
            continue
        for text in field.items if field.kind == "list" else (field.text,):
            found = clean(_without_brackets(text), MAX_WORD).strip("/ ")
            if found:
                return found
    return ""


_SEPARATORS = pattern("[,，、;；]")


def _texts(field: Field, faults: list[Fault]) -> list[str]:
    """Return a list field's texts: a list's, a mapping's, or one string's between its commas."""
    if field.template:
        faults.append(_template(field))
        return []
    items: Iterable[str] = field.items
    if field.kind == "text":
        items = _SEPARATORS.split(field.text)
    return [clean(_without_brackets(item), MAX_WORD) for item in items]


def _unique(texts: Iterable[str]) -> list[str]:
    """Drop empty texts and, case aside, repeated ones."""
    found: dict[str, str] = {}
    for text in texts:
        if text:
            found.setdefault(text.casefold(), text)
    return list(found.values())


def _keywords(fields: Fields, faults: list[Fault]) -> tuple[str, ...]:
    for name in ("keywords", "tags", "aliases"):
        field = fields.get(name)
        if field is None:
            continue
        texts = _unique(_texts(field, faults))
        kept = [text for text in texts if len(text) <= MAX_KEYWORD]
        if name == "keywords" and len(kept) < len(texts):
            faults.append(_too_long(field, len(texts) - len(kept), MAX_KEYWORD))
        kept = [text.lstrip("#").strip() or text for text in kept] if name == "tags" else kept
        taken, total = [], 0
        for text in kept[:MAX_KEYWORDS]:
            total += len(text)
            if total > MAX_KEYWORDS_TOTAL:
                break
            taken.append(text)
        if name == "keywords" and len(taken) < len(kept):
            faults.append(_too_many(field, len(kept), len(taken)))
        if taken:
            return tuple(taken)
    return ()


def keywords_in(field: Field) -> tuple[str, ...]:
    """Return the keywords that a `keywords` key gives by itself, whatever tags there are."""
    return _keywords({"keywords": field}, [])


def _tags(fields: Fields, faults: list[Fault]) -> tuple[str, ...]:
    field = fields["tags"]
    # The faults of a template are told by the keywords already where those come from the tags.
    texts = _unique(text.lstrip("#").strip() for text in _texts(field, []))
    kept = [text for text in texts if len(text) <= MAX_TAG]
    if len(kept) < len(texts):
        faults.append(_too_long(field, len(texts) - len(kept), MAX_TAG))
    if len(kept) > MAX_TAGS:
        faults.append(_too_many(field, len(kept), MAX_TAGS))
    return tuple(kept[:MAX_TAGS])


def _scenarios(fields: Fields, faults: list[Fault]) -> tuple[str, ...]:
    field = fields.get("usage_scenarios")
    if field is None:
        return ()
    if field.kind == "text" and not field.template:
        texts = _unique([clean(field.text, MAX_DESCRIPTION)])
    else:
        texts = _unique(_texts(field, faults))
    if len(texts) > MAX_SCENARIOS:
        faults.append(_too_many(field, len(texts), MAX_SCENARIOS))
    long = sum(len(text) > MAX_SCENARIO for text in texts[:MAX_SCENARIOS])
    if long:
        faults.append(
            _fault(
                field,
                "too-long",
                f"{long} of `{field.key[:64]}` pass {MAX_SCENARIO} characters; they are cut.",
                f"Say each in {MAX_SCENARIO} characters.",
            )
        )
    from recall.core import derive

    return tuple(_unique(derive.cut(text, MAX_SCENARIO) for text in texts[:MAX_SCENARIOS]))


def _too_long(field: Field, count: int, limit: int) -> Fault:
    return _fault(
        field,
        "too-long",
        f"{count} of `{field.key[:64]}` pass {limit} characters; they are not read.",
        f"Use words and short phrases of at most {limit} characters.",
    )


def _too_many(field: Field, count: int, limit: int) -> Fault:
    return _fault(
        field,
        "too-many",
        f"`{field.key[:64]}` holds {count} entries; the first {limit} are read.",
        f"Keep the {limit} that matter.",
    )
