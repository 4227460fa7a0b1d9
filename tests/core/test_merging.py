"""Several texts become one that says all that they say, each thing once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recall.core.facts import facts, lost
from recall.core.merging import merged
from recall.core.sentences import bag

WORDS = st.sampled_from(
    "Ines approves deploys on Friday at 14:30 with `make ship` in lib/a.py".split()
)
SENTENCE = st.lists(WORDS, min_size=3, max_size=8).map(lambda said: " ".join(said) + ".")
LINE = SENTENCE | SENTENCE.map("- {}".format) | SENTENCE.map("## {}".format) | st.just("")
TEXT = (
    st.lists(LINE, min_size=1, max_size=8).map(lambda lines: "\n".join(lines).strip()).filter(bool)
)


@given(st.lists(TEXT, min_size=2, max_size=4))
def test_no_fact_is_lost(texts: list[str]) -> None:
    """Every number, path and code span of any text stands in the merged one, and every word of
    its sentences; headings that nothing new stands below may go.
    """
    whole = merged(texts)
    assert (
        lost([line for t in texts for line in t.split("\n") if not line.startswith("#")], whole)
        == []
    )
    words = bag(whole)
    for text in texts:
        for line in text.split("\n"):
            assert line.startswith("#") or bag(line).keys() <= words.keys()


@given(TEXT)
def test_what_says_nothing_new_adds_nothing(text: str) -> None:
    """A text merged with itself is that text."""
    assert merged([text, text]) == text


def test_additions_stand_below_their_heading() -> None:
    """What only another text says comes where it belongs, once, and in its words."""
    one = "# Deploys\n\n## Staging\n\n- Ines approves.\n\n## Production\n\n- Rosa approves."
    other = "# Deploys\n\n## Staging\n\n- Ines approves.\n- Not on Fridays.\n\n"
    other += "## Rollback\n\nRun `make back`."
    assert merged([one, other]) == (
        "# Deploys\n\n## Staging\n\n- Ines approves.\n- Not on Fridays.\n\n"
        "## Production\n\n- Rosa approves.\n\n## Rollback\n\nRun `make back`."
    )


def test_what_differs_in_a_fact_is_kept_twice() -> None:
    """A sentence with another number is another sentence: both stay, for a person to decide."""
    whole = merged(["The pager goes off after 15 minutes.", "The pager goes off after 20 minutes."])
    assert "15" in whole and "20" in whole


def test_facts_are_what_must_stay_to_the_letter() -> None:
    """Code, addresses, paths, names of files and numbers."""
    found = facts("Run `make ship` in ~/lib/a.py at https://example.com/x, v1.2.3, by 14:30.")
    assert {"make ship", "~/lib/a.py", "https://example.com/x", "v1.2.3", "14:30"} <= found
    assert lost(["port 8080"], "port 18080") == ["8080"]
