"""Text of memories on the page: nothing hidden stays so, nothing in it acts, nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="the extra ui is not installed")

from recall.core.visible import hides, visible
from recall.faces.page.differ import ADDED, REMOVED, SAME, Line, difference
from recall.faces.page.markup import rendered
from recall.faces.page.texts import LANGUAGES, TEXTS, texts

HARMLESS = frozenset(
    "a blockquote br code del em h3 h4 h5 h6 hr li ol p pre s span strong "
    "table tbody td th thead tr ul".split()
)
TRICKS = (
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "![pixel](https://evil.example/p.png)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](java\nscript:alert(1))",
    "[click](&#106;avascript:alert(1))",
    "[data](data:text/html,<script>alert(1)</script>)",
    "[file](file:///etc/passwd)",
    "[vb](vbscript:x)",
    "[approve](/proposals/1/approve)",
    "[approve](//evil.example/x)",
    '<a href="javascript:alert(1)">x</a>',
    "<style>*{display:none}</style>",
    '<p style="position:fixed;inset:0">x</p>',
    '<div id="main" class="top">x</div>',
    '<form action="/"><input name=form><button>Approve</button></form>',
    '<iframe src="https://evil.example"></iframe>',
    '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    '<base href="https://evil.example/">',
    "</article></section></main><h1>Forged</h1>",
    "<!-- --><![CDATA[x]]>",
    "[x]: javascript:alert(1)\n\n[x]",
    "<javascript:alert(1)>",
    "<https://ok.example/\"onmouseover=alert(1)>",
    '[x](https://ok.example "title\\" onclick=alert(1)")',
    "`<script>`\n\n```<b>\n<script>\n```",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "- [ ] <input type=checkbox>",
    "a\u202egnp.exe\u2066x\u2069",
    "\x00\x1b[31mred\x07",
)  # fmt: skip


class Seen(HTMLParser):
    """What a browser would make of HTML: its tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    handle_startendtag = handle_starttag


def assert_harmless(html: str) -> None:
    seen = Seen()
    seen.feed(html)
    for tag, attributes in seen.tags:
        assert tag in HARMLESS, tag
        for name, value in attributes.items():
            if name == "href":
                assert re.match(r"(?i)(https?|mailto):", value or ""), value
            elif name == "class":
                assert (tag, value) in (("span", "image"), ("span", "target"))
            elif name == "target":
                assert (tag, value) == ("a", "_blank")
            else:
                assert (tag, name) in (("a", "rel"), ("a", "title"), ("ol", "start"))


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_is_text(trick: str) -> None:
    """Whatever a memory holds, its HTML has no tag and no attribute that could act."""
    assert_harmless(rendered(trick))


@given(st.lists(st.one_of(st.sampled_from(TRICKS), st.text(max_size=30)), max_size=6))
def test_tricks_in_any_company_are_text(parts: list[str]) -> None:
    """Also where one's end is another one's beginning."""
    assert_harmless(rendered("".join(parts)))
    assert_harmless(rendered("\n\n".join(parts)))


def test_markdown_is_rendered_below_the_pages_own_headings() -> None:
    """Headings begin at the third level; tables, lists, code and links are what they are."""
    html = rendered("# One\n\n**b** and [x](https://ok.example/a)\n\n| a |\n|---|\n| 1 |\n")
    assert "<h3>One</h3>" in html and "<strong>b</strong>" in html and "<td>1</td>" in html
    assert 'rel="noopener noreferrer nofollow"' in html and "→ ok.example" in html


def test_a_link_says_where_it_leads() -> None:
    """By the host that a browser would go to, whatever the address pretends."""
    html = rendered("[your bank](https://bank.example@evil.example/login)")
    assert "→ evil.example" in html
    assert "→ bank" not in html


def test_an_image_is_named_and_not_loaded() -> None:
    """Its text and its source are shown."""
    html = rendered("![a chart](https://cdn.example/c.png)")
    assert "a chart (https://cdn.example/c.png)" in html and "<img" not in html


@given(st.text())
def test_what_is_hidden_is_spelled_out(text: str) -> None:
    """Nothing that hides is left, and doing it twice changes nothing."""
    shown = visible(text)
    assert not hides(shown)
    assert visible(shown) == shown
    assert "\u202e" not in shown and "\x1b" not in shown
    shown.encode()  # lone surrogates are gone


def test_what_is_no_trick_stays() -> None:
    """Joiners of Persian and emoji, accents, tabs and lines."""
    for text in ("می\u200cخواهم", "👩\u200d💻 ❤\ufe0f", "naïve\tcafé\n中文", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"):  # fmt: skip  # noqa: E501
        assert visible(text) == text and not hides(text)
    assert visible("a\u202eb") == "a‹U+202E›b"
    assert visible("a\r\nb\rc") == "a\nb‹U+000D›c"


# --- differences

lines = st.lists(st.sampled_from(["a", "b", "", "c d e f", "c d x f", "\u202ez", "é"]), max_size=60)


def side(found: list[Line], kind: str) -> str:
    """Return the file before or after, as a diff shows it."""
    text = ""
    for line in found:
        if line.kind in (SAME, kind):
            text += "".join(part.text for part in line.parts) + ("" if line.unended else "\n")
    return text


@given(lines, lines, st.booleans(), st.booleans())
def test_a_diff_holds_both_files_whole(
    old: list[str], new: list[str], end_old: bool, end_new: bool
) -> None:
    """Every line of either side, in order, numbered; nothing else."""
    before = "\n".join(old) + ("\n" if end_old else "")
    after = "\n".join(new) + ("\n" if end_new else "")
    runs = difference(before.encode(), after.encode())
    found = list(chain.from_iterable(run.lines for run in runs))
    assert side(found, REMOVED) == visible(before)
    assert side(found, ADDED) == visible(after)
    assert [line.before for line in found if line.before] == list(numbers(before))
    assert [line.after for line in found if line.after] == list(numbers(after))
    assert all(line.kind == SAME for run in runs if run.folded for line in run.lines)


def numbers(text: str) -> Iterator[int]:
    return iter(range(1, len(re.findall(r"[^\n]*\n|[^\n]+", text)) + 1))


def test_only_long_unchanged_stretches_are_folded() -> None:
    """Three lines beside a change stay open."""
    old = "".join(f"line {i}\n" for i in range(60))
    runs = difference(old.encode(), old.replace("line 30\n", "line thirty\n").encode())
    assert [(len(run.lines), run.folded) for run in runs] == [
        (27, True), (3, False), (2, False), (3, False), (26, True)
    ]  # fmt: skip


def test_the_words_that_differ_are_marked() -> None:
    """In a line that was changed, and only there."""
    (run,) = difference(b"we use uv 1\n", b"we use pip 1\n")
    marked = [[part.text for part in line.parts if part.changed] for line in run.lines]
    assert marked == [["uv"], ["pip"]]


def test_a_lost_line_feed_and_a_carriage_return_are_shown() -> None:
    """A file that differs by these alone is not shown as the same."""
    (run,) = difference(b"a\r\n", b"a")
    assert [(line.kind, line.unended) for line in run.lines] == [(REMOVED, False), (ADDED, True)]
    assert "‹U+000D›" in "".join(part.text for part in run.lines[0].parts)


# --- sentences

HERE = Path(__file__).parents[3] / "recall" / "faces" / "page"


def test_every_sentence_that_a_template_asks_for_is_there() -> None:
    """In both languages, with the same values to be put in; and none that nobody asks for."""
    asked: set[str] = set()
    begun: set[str] = set()
    for template in (HERE / "templates").glob("*.html"):
        text = template.read_text(encoding="utf-8")
        asked |= set(re.findall(r"\bt\('([\w.]+)'[,)]", text))
        begun |= set(re.findall(r"\bt\('([\w.]+\.)' ~", text))
    begun |= {"ago."}
    assert asked <= TEXTS.keys()
    unused = {name for name in TEXTS.keys() - asked if not name.startswith(tuple(begun))}
    assert not unused
    for start in begun:
        assert any(name.startswith(start) for name in TEXTS), start


@pytest.mark.parametrize("name", TEXTS)
def test_a_sentence_takes_the_same_values_in_each_language(name: str) -> None:
    """And is written in each."""
    english, chinese = TEXTS[name]
    fields = [set(re.findall(r"{(\w+)}", one)) for one in (english, chinese)]
    assert fields[0] == fields[1]
    assert english and chinese
    for language in LANGUAGES:
        assert "{" not in texts(language)(name, **dict.fromkeys(fields[0], 1))
