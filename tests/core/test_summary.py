"""recall.core.summary: what a host hands over after a compaction, as the text of a memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.summary import LOOKED_AT, MOST, TITLE, kept, plain

FIXTURES = Path(__file__).parents[2] / "fixtures" / "hooks"
CLAUDE = """<analysis>
Let me think about what happened, section by section.
</analysis>

<summary>
1. Primary Request and Intent:
   The user asked to move the nightly export to the new queue. Retries back off.

2. Key Technical Concepts:
   - Redis streams
{more}</summary>"""


@pytest.mark.parametrize("host", ["claude-code", "qwen-code"])
def test_what_the_hosts_really_hand_over_reads_as_text(host: str) -> None:
    """Of the recorded payloads what the model said is left, without the hosts' tags."""
    given = json.loads((FIXTURES / host / "PostCompact.json").read_text())["compact_summary"]
    text = plain(given)
    assert text.endswith("The user asked; the model answered.")
    assert "<" not in text and "Short." not in text
    assert kept(text).title == "Conversation so far: The user asked; the model answered"


def test_claude_codes_thoughts_are_left_out() -> None:
    """The analysis goes, the summary stays; the title is what was asked, not a heading."""
    text = plain(CLAUDE.format(more=""))
    assert text.startswith("1. Primary Request") and text.endswith("- Redis streams")
    title = "Conversation so far: The user asked to move the nightly export to the new queue"
    assert kept(text) == (title, text)


def test_an_analysis_without_a_summary_is_not_one() -> None:
    """Where the model gave no summary tag, what it thought is left out all the same."""
    assert plain("<analysis>Hm.</analysis>\nThe export moved.") == "The export moved."
    assert plain("<analysis>Hm, and never closed") == ""


def test_qwen_codes_parts_become_headings() -> None:
    """Each named part has its name as a heading; an empty part is left out."""
    text = plain(
        "<state_snapshot><overall_goal>Move it.</overall_goal><key_knowledge>\n- pnpm\n"
        "</key_knowledge>\n<recent_actions>  </recent_actions></state_snapshot>"
    )
    assert text == "## Overall goal\n\nMove it.\n\n## Key knowledge\n\n- pnpm"
    assert plain("Use <Foo_bar> and <not_closed> in <div>.") == (
        "Use <Foo_bar> and <not_closed> in <div>."
    )


def test_what_was_recalled_is_no_news() -> None:
    """A summary that repeats what recall injected does not bring it back as a new memory."""
    text = plain(
        'The user asked. <recall-memory delivery="1" note="x">\n[project:a.md] Keys\n'
        "</recall-memory> The model answered. &lt;recall-memory&gt; cut off"
    )
    assert text == "The user asked.  The model answered."


def test_a_long_summary_ends_with_a_sentence_and_says_that_it_was_cut() -> None:
    """At most 2,000 characters, the note of the cut among them; how long it was is told."""
    whole = plain(CLAUDE.format(more="   It was said in v2.3 that Ines approves it. " * 200))
    text = kept(whole).text
    body, _, note = text.rpartition("\n\n")
    assert len(text) <= MOST and len(text) > MOST - 200
    assert whole.startswith(body) and body.endswith("approves it.")
    assert note == (f"(Cut: the first {len(body):,} of the summary's {len(whole):,} characters.)")
    assert "共" not in text and "已截断" in kept(whole, "zh").text


def test_code_that_is_cut_is_closed() -> None:
    """A cut inside a block of code leaves no open fence above the note."""
    text = kept(plain("It runs.\n\n```python\n" + "print(1)\n" * 400 + "```\nDone.")).text
    assert text.count("```") == 2 and text.index("(Cut:") > text.rindex("```")


@given(st.text(max_size=400).map(lambda t: t * 12) | st.text(max_size=80))
def test_any_text_is_bounded_and_plain(handed: str) -> None:
    """Whatever a host hands over: bounded, no control characters, nothing made up."""
    text = plain(handed)
    assert plain(text) == text or "<" in text or "&lt;" in text
    if text:
        made = kept(text)
        assert len(made.text) <= MOST and 0 < len(made.title) <= TITLE
        assert made.text == text or made.text.rpartition("\n\n")[0].rstrip("`\n") in text
        assert not any(c in made.text for c in "\x00\x1b\u2028")


@pytest.mark.parametrize(
    "piece",
    [
        "<a_b>",
        "<recall-memory",
        "<summary>",
        "<analysis>",
        " ",
        "```\n",
        "a_",
        "x.",
        "\n",
        "## a\n",
    ],
)
def test_a_flood_is_no_trap(piece: str) -> None:
    """Megabytes of what looks like tags are looked at only so far, in linear time."""
    text = plain(piece * 300_000)
    assert len(text) <= 2 * LOOKED_AT and len(kept(text).text if text else "") <= MOST
