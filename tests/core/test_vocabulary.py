"""One word for what means the same, never one for what only looks alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.vocabulary import Vocabulary, Word, is_reusable


def of(*words: str, **used: int) -> Vocabulary:
    """A vocabulary in which each word is used once, or as often as given."""
    plain = [Word(word, 1, 0) for word in words]
    return Vocabulary([*plain, *(Word(word, count, 0) for word, count in used.items())])


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("deployment", "Deployment"),
        ("deployment", "deployments"),
        ("release train", "release-train"),
        ("release train", "Release_Trains"),
        ("dependency", "dependencies"),
        ("batch", "batches"),
        ("kubernetes", "kuberentes"),
        ("kubernetes", "kubernettes"),
        ("authentication", "authenticaton"),
        ("repositories", "repostories"),
        ("cache", "caches"),
        ("cookie", "cookies"),
        ("batch size", "batch sizes"),
        ("部署", "部署"),
    ],
)
def test_a_keyword_in_another_spelling_is_the_one_in_use(known: str, new: str) -> None:
    """Case, plural, joints, a letter that is missing, doubled or swapped."""
    assert of(known).canonical(new) == known


@pytest.mark.parametrize(
    ("known", "new"),
    [
        *(("v1", "v2"), ("SSL", "SSH"), ("java", "javascript"), ("context", "contest")),
        *(("python2", "python3"), ("test", "text"), ("class", "clas"), ("status", "statu")),
        *(
            ("部署", "部落"),
            ("testing", "nesting"),
            ("process", "princess"),
            ("unit", "units test"),
        ),
        *(("compile", "compiler"), ("scaling", "scalping"), ("framing", "farming")),
        *(("remainder", "reminder"), ("manifest", "manifesto"), ("caching", "catching")),
        *(("http", "https"), ("window", "windows"), ("new", "news"), ("ssh key", "ssl key")),
        *(("analysis", "analyses plan"), ("deploy", "deployer"), ("release 41", "release 42")),
    ],
)
def test_what_only_looks_alike_stays_itself(known: str, new: str) -> None:
    """Short words, numbers, other scripts, a letter in place of another."""
    assert of(known).canonical(new) == new


def test_where_two_could_be_meant_none_is() -> None:
    """A typo that is one letter from two words is nobody's."""
    assert of("contacts form", "contract form").canonical("contact form") == "contacts form"
    assert of("conversation", "convesrations").canonical("convesration") == "convesrations"
    assert of("distributor", "distirbutor").canonical("distrbutor") == "distrbutor"


def test_the_most_used_spelling_counts() -> None:
    """Of two that are used alike, the shorter one."""
    assert of(deployments=1, deployment=3).canonical("Deployments") == "deployment"
    assert of(deployments=3, deployment=1).canonical("deployment") == "deployments"
    assert of("unit-tests", "unit test").canonical("Unit Tests") == "unit test"


@pytest.mark.parametrize(
    "word",
    [
        *("https://example.org/x", "www.example.org", "a@example.org", "/etc/hosts", "src/a/b"),
        *("#123", "PROJ-123", "RT_SPLIT_4", "0f1e2d3c", "2026-06-03", "README.md", "  "),
    ],
)
def test_what_nobody_would_reuse_is_left_out(word: str) -> None:
    """Addresses, paths, issue numbers, ids in capitals, bare numbers."""
    assert not is_reusable(word)
    assert of(word).words == ()


@pytest.mark.parametrize("word", ["CI", "API", "C++", "node.js", "CI/CD", "tcp/ip", "部署", "e2e"])
def test_acronyms_and_names_are_kept(word: str) -> None:
    """They are what people search for."""
    assert of(word).canonical(word) == word


def test_rendered_are_the_most_used_and_the_latest() -> None:
    """A word that is new is shown though many are used more."""
    words = [Word(f"stable{i:03}x", 10, 0) for i in range(300)] + [Word("newcomer", 1, 99)]
    text = Vocabulary(words).render(500)
    assert len(text) <= 500
    assert text.startswith("stable000x, ") and "newcomer" in text


WORDS = st.lists(
    st.builds(
        Word,
        st.text(st.characters(codec="utf-8"), max_size=20)
        | st.sampled_from(["Deploy", "deploys", "de-ploy", "kubernetes", "kuberentes", "部署"]),
        st.integers(1, 9),
        st.integers(0, 9),
    ),
    max_size=12,
)


@given(WORDS, st.text(max_size=20))
def test_a_canonical_form_is_its_own(words: list[Word], keyword: str) -> None:
    """Asking twice changes nothing, whatever is in use."""
    vocabulary = Vocabulary(words)
    once = vocabulary.canonical(keyword)
    assert vocabulary.canonical(once) == once
    for word in vocabulary.words:
        assert vocabulary.canonical(word.text) == word.text


@given(WORDS, st.integers(0, 200))
def test_it_stays_within_its_budget_and_says_the_same_in_any_order(
    words: list[Word], budget: int
) -> None:
    """Nothing depends on where the words came from."""
    text = Vocabulary(words).render(budget)
    assert len(text) <= budget
    assert Vocabulary(reversed(words)).render(budget) == text
