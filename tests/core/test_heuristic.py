"""Metadata by rules: always valid, the same for the same file, and about what the file is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.annotation import Annotation, Unannotated
from recall.core.guess import Guesser, Neighbour, terms_of
from recall.core.heuristic import KEYWORDS, Learned, annotate
from recall.core.metadata import parse_memory
from recall.core.splice import Refused, splice
from recall.core.terms import Corpus
from recall.core.vocabulary import Vocabulary, Word
from recall.model import Taxonomy

BARCODE = """# Rotating the barcode key

The barcode key is rotated by hand on a Friday. When the scanner rejects a barcode, the key is old.

## The barcode scanner

The scanner reads the barcode key from the vault. Always ask Aiko before rotating the barcode key.

```sh
rotate --force
```
"""
CHINESE = """# 预发布环境部署

如何部署到预发布环境。部署之前先问值班人员。

## 预发布环境

预发布环境由值班人员管理。
"""


def of(
    text: str, path: str = "notes/barcode.md", *words: str, learned: Learned | None = None
) -> Annotation:
    memory = Unannotated(f"project:{path}", "project", path, parse_memory(text.encode(), path))
    vocabulary = Vocabulary(Word(word, 3, 0) for word in words)
    return annotate(memory, vocabulary, learned or Learned())


def test_a_file_is_described_by_its_own_words() -> None:
    """Title, first sentence, the words that recur, its own occasion."""
    found = of(BARCODE)
    assert found.name == "Rotating the barcode key"
    assert found.description == "The barcode key is rotated by hand on a Friday."
    assert any("barcode" in word for word in found.keywords)
    assert "when the scanner rejects a barcode" in found.usage_scenarios
    assert not any("force" in word for word in found.keywords), "code is no prose"


def test_chinese_is_described_in_chinese() -> None:
    """Words are runs between function characters."""
    found = of(CHINESE, "部署.md")
    assert found.name == "预发布环境部署"
    assert "预发布环境" in found.keywords
    assert all(not one.isascii() for one in found.usage_scenarios)


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("ops/staging-deploy_checklist.md", "Staging deploy checklist"),
        ("2026-06-03-team-standup.md", "Team standup 2026-06-03"),
        ("2026-06-03.md", "2026-06-03"),
        ("rotateBarcodeKey.md", "rotate Barcode Key"),
        ("skills/barcode-keys/README.md", "Barcode keys"),
        ("4f9d2c1a77-lost-key.md", "Lost key"),
        ("01234567-89ab-cdef-0123-456789abcdef_notes-on-keys.md", "Notes on keys"),
        ("ADR-0012-use-postgres.md", "ADR 0012 use postgres"),
        ("预发布-部署.md", "预发布 部署"),
    ],
)
def test_a_file_without_a_heading_is_named_by_its_name(path: str, title: str) -> None:
    """Words of a slug, the date behind them, ids left out; a README has its folder's name."""
    assert of("Ask Aiko first.\n", path).name == title


def test_a_status_line_describes_nothing() -> None:
    """`Status: draft` is passed over for the first sentence; where nothing else is, it stays."""
    text = "# Keys\n\n**Status:** DRAFT\n- Owner: Aiko\n\nThe barcode key is rotated by hand.\n"
    assert of(text).description == "The barcode key is rotated by hand."
    assert of("# 部署\n\n状态：草稿\n\n先问值班人员。\n").description == "先问值班人员。"
    assert of("# Keys\n\nStatus: DRAFT\n").description == "Status: DRAFT"


@pytest.mark.parametrize(
    ("text", "path", "title"),
    [
        ("# Overview\n", "ops/staging-deploy.md", "Staging deploy"),
        ("# README\n", "skills/barcode-keys/README.md", "Barcode keys"),
        ("# 2026-06-03\n", "log/2026-06-03-lamp-check.md", "Lamp check 2026-06-03"),
        ("# 背景\n", "android-context.md", "Android context"),
        ("## -description\n\n## -remarks\n", "wdm/scanner-status.md", "Scanner status"),
        ("## Lamps\n\nx\n\n## Bulbs\n\ny\n", "warehouse-light.md", "Warehouse light"),
        ("## Lamps\n\nx\n", "warehouse-light.md", "Lamps"),
        ("# Overview\n", "barcode-keys/overview.md", "Barcode keys: Overview"),
        ("# Track: {{NAME}}\n", "templates/spec.md", "Track"),
        ("# Overview\n", "01.md", "Overview"),
    ],
)
def test_a_dull_heading_gives_way_to_the_name(text: str, path: str, title: str) -> None:
    """One that fits any document, a date, or the first of several sections; where the file's name
    says nothing either, its folder's stands before it.
    """
    assert of(text, path).name == title


def test_a_template_is_named_by_its_file() -> None:
    """A placeholder is no title and no sentence, and is never written."""
    found = of("# {{title}}\n\n{{summary}}\n\nAsk Aiko first.\n", "templates/weekly-report.md")
    assert (found.name, found.description) == ("Weekly report", "Ask Aiko first.")
    named = of("---\nname: '{{title}}'\n---\n{{body}}\n", "templates/weekly-report.md")
    assert named.description == "Weekly report"


def test_a_name_in_backticks_is_a_word_and_a_slug_is_several() -> None:
    """`ImageReader` can be searched for; `mac-clean-zip-files` is what it is made of."""
    found = of("# Frames\n\nRead by `ImageReader`, later `ImageReader` again.\n", "x.md")
    assert "ImageReader" in found.keywords
    assert "zip" in of("Ask Aiko.\n", "mac-clean-zip-files.md").keywords


def test_a_chance_run_of_chinese_is_no_keyword() -> None:
    """What stands between function characters once, in one memory, is no word."""
    found = of("# 输入法\n\n在屏幕上拿到截图。输入法很慢，输入法要重装。\n", "x.md")
    assert found.keywords[0] == "输入法"
    assert not any("屏幕上拿" in word for word in found.keywords)


def test_the_vocabulary_is_reused() -> None:
    """A keyword that others use is written as they write it."""
    assert "Scanners" in of(BARCODE, "notes/barcode.md", "Scanners").keywords


def test_what_every_memory_says_tells_nothing() -> None:
    """Against a corpus, a common word gives way to a rare one."""
    text = "# The warehouse\n\nWarehouse lamps. Warehouse lamps flicker: warehouse lamps.\n"
    common = Corpus.of(["warehouse"] * 50)
    assert of(text, "w.md", learned=Learned(common)).keywords[0] != "warehouse"


def test_a_folder_tells_the_category() -> None:
    """What its structured memories have, else its own name; a taxonomy's name is recognised."""
    there = [Neighbour(terms_of("x"), "project", "tech_stack", "ops")] * 3
    learned = Learned(guesser=Guesser(there))
    assert of(BARCODE, "ops/a.md", learned=learned).category == "tech_stack"
    assert of(BARCODE, "warehouse/a.md", learned=learned).category == "warehouse"
    assert of(BARCODE, "common-pitfalls/a.md").category == "common_pitfall"


def test_without_a_folder_what_is_alike_or_said_tells() -> None:
    """Neighbours first, then cues of the title, then the type."""
    near = Neighbour(terms_of("rotating barcode key scanner"), "feedback", "security", "")
    learned = Learned(guesser=Guesser([near, near]))
    found = of(BARCODE, "a.md", learned=learned)
    assert (found.category, found.type) == ("security", "feedback")
    assert of("# Merge and branch rules\n\nx\n", "a.md").category == "scm_configuration"
    assert of("# 踩坑记录\n\n无\n", "a.md").category == "common_pitfall"


def test_a_category_that_is_named_and_in_use_is_taken() -> None:
    """Where memories of a folder differ, a category's own name in the text decides."""
    there = [
        Neighbour(terms_of("lamps"), "", "warehouse", "ops"),
        Neighbour(terms_of("scanner"), "", "barcodes", "ops"),
    ]
    learned = Learned(guesser=Guesser(there))
    assert (
        of("# The warehouse\n\nAll of it.\n", "ops/a.md", learned=learned).category == "warehouse"
    )
    assert of("# A scanner\n\nRed.\n", "ops/b.md", learned=learned).category == "barcodes"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Never push on Friday. Always ask first. Don't force.\n", "feedback"),
        ("不要在周五发布。必须先问。\n", "feedback"),
        ("I prefer tabs. I like tea.\n", "user"),
        (
            "The dashboard is at https://a.example/x, the manual at https://b.example/y\n",
            "reference",
        ),
        ("The lamp is green.\n", "project"),
    ],
)
def test_the_type_by_what_is_said(text: str, kind: str) -> None:
    """Rules, preferences, addresses; otherwise it is the project's."""
    assert of(text, "a.md").type == kind


def test_a_strict_taxonomy_gets_no_category_that_it_does_not_know() -> None:
    """What would be the folder's name is then what the text or the type suggests."""
    strict = Learned(taxonomy=Taxonomy(strict=True))
    assert of(BARCODE, "warehouse/a.md", learned=strict).category == "project_introduction"
    assert of("# 踩坑记录\n\n无\n", "x/a.md", learned=strict).category == "common_pitfall"
    own = Learned(taxonomy=Taxonomy(("work", "home"), strict=True))
    assert of(BARCODE, "warehouse/a.md", learned=own).category == "uncategorized"
    assert of(BARCODE, "work/a.md", learned=own).category == "work"


def test_what_is_known_is_kept() -> None:
    """A file's own fields are proposed as they are, and never written again."""
    text = "---\nname: Mine\ntype: user\ncategory: hobbies\n---\n" + BARCODE
    found = of(text)
    assert (found.name, found.type, found.category) == ("Mine", "user", "hobbies")


@given(
    st.text(max_size=400)
    | st.lists(
        st.sampled_from(["# T", "---", "word", "词", "\n", " ", "```", "|a|", "when x"])
    ).map("".join),
    st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=20),
)
def test_whatever_the_file_says_the_metadata_is_valid(body: str, stem: str) -> None:
    """Spliced in and read again, nothing is missing; where it can't be spliced, nothing is done."""
    path = f"{stem}.md"
    raw = body.encode("utf-8", "replace")
    parsed = parse_memory(raw, path)
    memory = Unannotated("project:x", "project", path, parsed)
    found = annotate(memory, Vocabulary(), Learned())
    assert 2 <= len(found.keywords) <= KEYWORDS
    assert annotate(memory, Vocabulary(), Learned()) == found
    result = splice(raw, found.values(parsed.metadata.missing))
    if not isinstance(result, Refused):
        assert parse_memory(result.data, path).metadata.missing == ()
