"""What is shown of a text holds no character of its secrets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recall.core.redaction import joined, redacted

SPANS = st.lists(
    st.tuples(st.sampled_from(["key", "token"]), st.integers(-3, 30), st.integers(-3, 30))
)


def test_a_secret_is_named_by_its_kind() -> None:
    """The rest of the text stays as it is."""
    text = "The key is abc123, the token xyz."
    spans = [("token", 29, 32), ("key", 11, 17)]
    assert redacted(text, spans) == "The key is [secret: key], the token [secret: token]."


def test_secrets_that_overlap_are_one() -> None:
    """Two detectors may find the same place; spans that touch leave nothing between them."""
    assert joined([("b", 3, 9), ("a", 0, 5), ("c", 9, 11), ("d", 20, 20)]) == [("a", 0, 11)]
    assert redacted("0123456789abc", [("b", 3, 9), ("a", 0, 5)]) == "[secret: a]9abc"


@given(st.text("abcdefgh", min_size=1, max_size=25), SPANS)
def test_no_character_of_a_span_stays(text: str, spans: list[tuple[str, int, int]]) -> None:
    """Whatever the spans are, what is outside of them stays in order, what is inside goes."""
    inside = {at for _, start, end in spans for at in range(start, end)}
    kept = "".join(c for at, c in enumerate(text) if at not in inside)
    found = redacted(text, spans)
    assert found.replace("[secret: key]", "").replace("[secret: token]", "") == kept
    assert redacted(text, []) == text
