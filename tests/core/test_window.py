"""Windows join up to the body, end where a reader would stop, and never split a grapheme."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recall.core import sink, window
from recall.core.window import cut, is_boundary, json_cost, place, snap_start

# Characters on which Unicode's grapheme rules turn: flags, ZWJ sequences, skin tones, keycaps,
# Prepend, Indic conjuncts, Hangul jamo, spacing marks, tag characters, controls, surrogates.
TURNING = [
    *'\r\n\t a.<"\\。漢か가각é',
    *"\u0301\u200d\u200c\ufe0f\u20e3\u0600\u0d4e\u0915\u094d\u0937\u093f\u09cd\u0995",
    *"\u1100\u1160\u11a8\u0e33\u00ad\u00a9\u2764\ufeff\u2028\u202e\x00\x7f\x85\ud83d\udc69",
    *"🇦🇧👩🏽\U000110bd\U00011a3a\U000e0067\U000e007f",
]
adversarial = st.text(st.sampled_from(TURNING), max_size=60)
any_text = st.text(st.characters(exclude_categories=()), max_size=60)
clusters = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "👩‍👩‍👧‍👦",
                "🇩🇪",
                "e\u0301\u0323",
                "क्षि",
                "각",
                "\r\n",
                "1️⃣",
                "\n\n",
                "\r",
                "word ",
                "漢字。",
            ]
        ),
        st.integers(1, 9).map(lambda n: "🇦" * n),
        st.integers(1, 30).map(lambda n: "a" + "\u0301" * n),
        st.integers(1, 9).map(lambda n: "👩\u200d" * n),
        st.integers(1, 9).map(lambda n: "क्" * n + "ष"),
    ),
    max_size=12,
).map("".join)
bodies = st.one_of(adversarial, any_text, clusters)


def boundaries(body: str) -> set[int]:
    return {0} | {match.end() for match in regex.finditer(r"\X", body)}


def walk(body: str, limit: int, **bounds: int) -> list[int]:
    """Return all cuts from 0 to the end of the body, or to `until`."""
    cuts, natural = [0], min(bounds.get("until", len(body)), len(body))
    while cuts[-1] < natural:
        cuts.append(cut(body, cuts[-1], limit, **bounds))
        assert cuts[-1] > cuts[-2]
    return cuts


@settings(max_examples=600)
@given(bodies, st.integers(1, 40))
@example("\r\n" * 5, 1)
@example("\n\r\n" * 5, 2)
@example("🇦" * 9, 3)
def test_windows_join_to_the_body_and_never_split_a_grapheme(body: str, limit: int) -> None:
    """Successive windows are the body, each within the limit, split only where one cluster is
    longer than the limit."""
    cuts, whole = walk(body, limit), boundaries(body)
    assert "".join(body[a:b] for a, b in pairwise(cuts)) == body
    for start, end in pairwise(cuts):
        assert end - start <= limit
        if end not in whole:
            assert not whole & set(range(start + 1, end + 1))
            assert min(b for b in whole if b > start) - start > limit


@settings(max_examples=400)
@given(bodies)
def test_a_boundary_is_what_the_whole_body_says(body: str) -> None:
    """Whether a position is a boundary is decided as by `\\X` over the whole body."""
    whole = boundaries(body)
    assert [p for p in range(len(body) + 1) if is_boundary(body, p)] == sorted(whole)


def test_the_plain_scripts_need_no_grapheme_rules() -> None:
    """Any two neighbours of the scripts that skip `regex` are two graphemes."""
    plain = [c for c in map(chr, range(0x20, 0x10000)) if window._PLAIN.match(c * 2)]
    assert len(plain) > 39_000
    # By the rules a pair depends on the two characters' classes alone; plain ones have three.
    text = "".join(f"a{c}漢{c}가{c}각{c}{c}" for c in plain)
    assert sum(1 for _ in regex.finditer(r"\X", text)) == len(text)


@given(bodies, st.integers(1, 40), st.integers(0, 70))
def test_no_window_goes_past_until(body: str, limit: int, until: int) -> None:
    """With `until`, successive windows are exactly what stands before it."""
    cuts = walk(body, limit, until=until)
    assert cuts[-1] == min(until, len(body))
    if cuts[-1] in boundaries(body) and cuts[-1] <= limit:
        assert len(cuts) <= 2


@given(bodies, st.integers(1, 60), st.integers(12, 60))
def test_no_window_costs_more_than_it_may(body: str, limit: int, cost: int) -> None:
    """The JSON text of each window stays within the cost, and the windows join to the body."""
    for start, end in pairwise(walk(body, limit, cost=cost)):
        assert json_cost(body[start:end]) <= cost
        assert len(sink.json_text(body[start:end])) - 2 <= cost


def test_a_single_character_passes_whatever_it_costs() -> None:
    """Reading always goes on, even where not one character is affordable."""
    assert cut("\x00" * 9, 3, 100, cost=2) == 4
    assert cut("abc", 0, 100, cost=0) == 1


@given(bodies)
def test_json_cost_is_what_the_sink_writes(text: str) -> None:
    """`json_cost` is the sink's own length; only `<` and U+FEFF are held to be escaped always."""
    written = len(sink.json_text(text)) - 2
    assert written <= json_cost(text)
    if not set(text) & {"<", "\ufeff"}:
        assert written == json_cost(text)


@given(bodies, bodies)
def test_json_costs_add_up(left: str, right: str) -> None:
    """The cost of a text is the sum of the costs of its parts."""
    assert json_cost(left + right) == json_cost(left) + json_cost(right)


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("", 0),
        ("plain", 5),
        ("漢字🇩🇪", 4),
        ('"\\\n\r\t\b\f', 14),
        ("\x00\x1f\x7f", 18),
        ("\x80\x9f\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029\ufeff\ud800", 78),
        ("\U000e0067", 12),
        ("a < b", 10),
    ],
)
def test_json_cost_of(text: str, cost: int) -> None:
    """Each kind of character costs what its escape takes."""
    assert json_cost(text) == cost


@pytest.mark.parametrize(
    ("body", "limit", "end"),
    [
        ("x" * 80 + "\n\nnext\nline and more words " * 3, 100, "x" * 80 + "\n\n"),
        ("x" * 80 + "\r\n \t\r\nnext\nline and more", 100, "x" * 80 + "\r\n \t\r\n"),
        ("x" * 80 + "\r\nnext line and more words", 100, "x" * 80 + "\r\n"),
        ("x" * 80 + "\rnext line and more words", 100, "x" * 80 + "\r"),
        ("x" * 80 + " next words until it ends", 100, "x" * 80 + " next words until "),
        ("漢" * 80 + "。」" + "字" * 40, 100, "漢" * 80 + "。」"),
        ("漢" * 200, 100, "漢" * 100),
        ("x" * 70 + "\n\n" + "y" * 60, 100, "x" * 70 + "\n\n" + "y" * 28),
        ("x" * 99 + "\r\n\r\n" + "y" * 9, 100, "x" * 99),
        ("x" * 98 + "\r\n\r\n" + "y" * 9, 101, "x" * 98 + "\r\n"),
        ("x" * 99 + "👩‍👩‍👧‍👦" + "y" * 9, 100, "x" * 99),
        ("x" * 90 + " \u0301" + "y" * 30, 100, "x" * 90 + " \u0301" + "y" * 8),
        ("short", 100, "short"),
    ],
)
def test_a_window_ends_where_a_reader_would_stop(body: str, limit: int, end: str) -> None:
    """After a blank line, else a line, else a word, in the last quarter; else a grapheme."""
    assert body[: cut(body, 0, limit)] == end


def test_a_cluster_longer_than_the_limit_is_split_at_the_limit() -> None:
    """The last resort: parts of the limit's length, and a boundary again where it ends."""
    body = "ab" + "c" + "\u0301" * 24 + "de"
    assert walk(body, 10) == [0, 2, 12, 22, 29]


def test_nothing_is_read_past_the_end_or_without_a_limit() -> None:
    """At the end, past `until`, or with no limit the window is empty."""
    assert cut("abc", 3, 10) == 3
    assert cut("abc", 0, 0) == 0
    assert cut("abc", 2, 10, until=1) == 2
    assert cut("", 0, 10) == 0


@given(bodies, st.integers(-5, 80), st.integers(0, 30))
def test_a_start_is_a_boundary_at_or_before(body: str, position: int, reach: int) -> None:
    """A window's start is never inside a grapheme, never later than asked, at a line if near."""
    start = snap_start(body, position, reach)
    position = min(max(position, 0), len(body))
    assert 0 <= start <= position
    assert start in boundaries(body)
    lines = [0] + [p for p in range(1, position + 1) if _starts_line(body, p)]
    if position - lines[-1] <= reach:
        assert start == lines[-1]


def _starts_line(body: str, position: int) -> bool:
    if body[position - 1] == "\n":
        return True
    return body[position - 1] == "\r" and body[position : position + 1] != "\n"


def test_a_start_without_a_line_near_is_at_a_word() -> None:
    """Far from any line's start, a word's start is taken; inside an endless run, a grapheme's."""
    body = "word " * 100
    assert snap_start(body, 403) == 400
    assert snap_start("x" * 500, 403) == 403
    assert snap_start("x" * 300 + "e\u0301" * 100, 401) == 400


spans = st.lists(
    st.tuples(st.integers(0, 400), st.integers(1, 12), st.integers(0, 4)), max_size=25
).map(lambda hits: sorted((start, start + length, keyword) for start, length, keyword in hits))
long_bodies = st.builds(
    lambda parts, seed: (parts or "x") * (seed // max(1, len(parts)) + 1),
    st.one_of(st.just("plain words and\nlines. "), clusters),
    st.integers(0, 500),
)


@settings(max_examples=300)
@given(long_bodies, spans, st.integers(64, 200), st.integers(0, 300))
def test_a_placed_window_covers_as_many_keywords_as_any(
    body: str, hits: list[tuple[int, int, int]], limit: int, before: int
) -> None:
    """No run of the length that a window surely shows has more distinct keywords than it, as
    long as no cluster is longer than the play that a start has."""
    whole = sorted(boundaries(body))
    hits = [hit for hit in hits if {hit[0], hit[1]} <= set(whole)]
    start, end = place(body, hits, limit, before)
    assert 0 <= start <= end <= len(body)
    assert end - start <= limit
    if max((b - a for a, b in pairwise(whole)), default=0) > limit // 8:
        return
    assert {start, end} <= set(whole)
    if hits:
        reach = limit - min(before, limit // 4) - min(window.SNAP, limit // 8)
        shown = {keyword for a, b, keyword in hits if start <= a and b <= end}
        possible = [
            {keyword for a, b, keyword in hits if first <= a and b <= first + reach}
            for first, _, _ in hits
        ]
        assert len(shown) >= max(map(len, possible))


def test_a_window_is_placed_with_some_text_before_its_first_hit() -> None:
    """The window starts at the line about `before` characters before the first hit."""
    lines = "".join(f"line {n:04} of the text\n" for n in range(1000))
    hit = lines.index("0500")
    start, end = place(lines, [(hit, hit + 4, 0)], 1200, 300)
    assert 300 <= hit - start <= 300 + 24
    assert lines[start - 1] == lines[end - 1] == "\n"
    assert 900 <= end - start <= 1200


def test_more_keywords_beat_more_hits_and_more_text_beats_less() -> None:
    """Distinct keywords count first, then the matched characters; the earliest of equals wins."""
    body = "x" * 10_000
    many = [(n, n + 3, 0) for n in range(1000, 1100, 10)]
    both = [(5000, 5003, 0), (5010, 5013, 1)]
    assert _shows(place(body, [*many, *both], 1200, 300), both)
    assert _shows(place(body, [*many, (5000, 5003, 0)], 1200, 300), many)
    longer = [(7000, 7060, 0)]
    assert _shows(place(body, [*many, *longer], 1200, 300), longer)
    assert _shows(place(body, [(2000, 2003, 0), (6000, 6003, 1)], 1200, 300), [(2000, 2003, 0)])


def _shows(found: tuple[int, int], hits: list[tuple[int, int, int]]) -> bool:
    return found[0] <= hits[0][0] and hits[-1][1] <= found[1]


def test_a_hit_at_the_edge_is_not_lost_to_a_nice_end() -> None:
    """A line break before the last hit does not end the window."""
    body = "x" * 2000 + " hit " + "x" * 700 + "\n\n" + "y" * 10 + " other " + "z" * 4000
    hits = [(2001, 2004, 0), (body.index("other"), body.index("other") + 5, 1)]
    assert _shows(place(body, hits, 1200, 300), hits)


@pytest.mark.parametrize("length", [100, 150, 5000])
def test_a_hit_longer_than_the_window_is_shown_from_its_beginning(length: int) -> None:
    """A hit that hardly fits or does not fit starts in the window, as much of it as goes in."""
    body = "x" * 9000
    start, end = place(body, [(3000, 3000 + length, 0)], 120, 300)
    assert start <= 3000
    assert end >= min(3000 + length, start + 120)
    assert end - start <= 120


def test_without_hits_the_beginning_is_shown_and_a_short_body_whole() -> None:
    """No hit, or none inside the body as it is now: the beginning; what fits is shown whole."""
    body = "line\n" * 1000
    assert place(body, [], 1200, 300) == (0, 1200)
    assert place(body, [(5000, 5004, 0)], 1200, 300) == (0, 1200)
    assert place("short text", [(6, 10, 0)], 1200, 300) == (0, 10)
    assert place("", [], 1200, 300) == (0, 0)


@pytest.mark.timeout(60)
def test_size_costs_nothing() -> None:
    """Cuts in a body of 20 million characters, in endless clusters, and 100,000 hits end soon."""
    plain = "漢字かな交じりの文é。" * 2_000_000
    marks = "a" + "\u0301" * 20_000_000
    for start in range(0, 2_000_000, 1_000):
        assert start < cut(plain, start, 8_000, cost=12_000) <= start + 8_000
    for start in range(1, 20_000_000, 1_000_000):
        assert cut(marks, start, 8_000) == start + 8_000
        assert snap_start(marks, start) <= start
    hits = [(n * 150, n * 150 + 5, n % 5) for n in range(100_000)]
    start, end = place(plain, hits, 1_200, 300)
    assert end - start <= 1_200


def test_plain_text_never_pays_for_regex() -> None:
    """A process that cuts Latin, Cyrillic or CJK text does not import `regex`."""
    script = (
        "import sys; from recall.core.window import cut, snap_start\n"
        "for body in ('plain words ' * 99, 'слова é ' * 99, '汉字，かな、한글。' * 99):\n"
        "    cut(body, 0, 97); snap_start(body, 333)\n"
        "assert 'regex' not in sys.modules\n"
        "cut('👩🏽' * 99, 0, 97)\n"
        "assert 'regex' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
