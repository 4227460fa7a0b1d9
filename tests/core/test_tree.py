"""The tree: the same from any order, incremental as from scratch, a revision that tells."""

from __future__ import annotations

import random
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_factory import make_corpus, make_memory

from recall.core.tree import CategoryNode, Tree, leaf_digest
from recall.model import TAXONOMY, Incomplete, Memory, Skipped, SourceStatus, Taxonomy, Unavailable
from recall.structs import replace

OPEN = Taxonomy()
STATUS = SourceStatus(requested=("project", "user"), searched=("project", "user"), scanned=7)

REFS = st.builds(
    "{}:{}.md".format,
    st.sampled_from(["project", "user", "team"]),
    st.sampled_from(["a", "B", "b/c", "b-c", "b%20c", "%C3%A9", "z", "10", "9"]),
)
CATEGORIES = st.sampled_from(["tech_stack", "hobbies", "uncategorized", "zebra", "Äpfel", "apples"])
MEMORIES = st.builds(
    make_memory,
    REFS,
    st.text(max_size=8),
    CATEGORIES,
    keywords=st.lists(st.sampled_from(["API", "api", "ａｐｉ", "db"]), max_size=3).map(tuple),
    mtime_ns=st.integers(0, 9),
)
CORPORA = st.lists(MEMORIES, max_size=20, unique_by=lambda memory: memory.ref)


# ------------------------------------------------------------------------------------- building


@given(CORPORA, st.randoms(use_true_random=False))
def test_a_tree_does_not_depend_on_the_order_of_its_memories(
    corpus: list[Memory], rng: random.Random
) -> None:
    """Folders are listed in any order; the tree and its revision are the same."""
    shuffled = list(corpus)
    rng.shuffle(shuffled)
    assert Tree.build(shuffled, OPEN) == Tree.build(corpus, OPEN)
    assert Tree.build(shuffled, OPEN).revision(STATUS) == Tree.build(corpus, OPEN).revision(STATUS)


def test_leaves_sort_by_scope_then_ref_by_code_points() -> None:
    """Project comes before user before team; `Z` before `a`, whatever the locale says."""
    refs = ["team:a.md", "user:a.md", "project:b.md", "project:Z.md", "project:b%20.md"]
    tree = Tree.build([make_memory(ref) for ref in refs], OPEN)
    assert [leaf.ref for leaf in tree.nodes[0].leaves] == [
        "project:Z.md",
        "project:b%20.md",
        "project:b.md",
        "user:a.md",
        "team:a.md",
    ]


def test_categories_come_in_the_taxonomys_order() -> None:
    """Its own first, then the others by code point, uncategorized last, empty ones absent."""
    names = ["uncategorized", "zebra", "Apples", "task_summary", "hobbies"]
    tree = Tree.build([make_memory(f"user:{name}.md", category=name) for name in names], OPEN)
    assert [node.category for node in tree.nodes] == [
        "hobbies",
        "task_summary",
        "Apples",
        "zebra",
        "uncategorized",
    ]
    assert all(node.category in TAXONOMY for node in tree.nodes[:2])


def test_an_empty_corpus_is_an_empty_tree() -> None:
    """Without memories there are no categories, and there is a revision all the same."""
    tree = Tree.build([], OPEN)
    assert (tree.nodes, tree.total, tree.node("hobbies")) == ((), 0, None)
    assert len(tree.revision(STATUS)) == 64


def test_totals_and_nodes() -> None:
    """A tree counts its leaves and gives a category's node by name."""
    tree = Tree.build(make_corpus(75, 20), OPEN)
    assert tree.total == 75 == sum(node.total for node in tree.nodes)
    node = tree.node("hobbies")
    assert node is not None
    assert node.total == len(node.leaves) == 4


# ------------------------------------------------------------------------------------- keywords


def node_of(*keywords: tuple[str, ...]) -> CategoryNode:
    leaves = [make_memory(f"user:{i:03d}.md", keywords=k) for i, k in enumerate(keywords)]
    return Tree.build(leaves, OPEN).nodes[0]


def test_keywords_are_counted_by_leaves() -> None:
    """The most frequent first; equal ones as they are first seen in leaf order."""
    node = node_of(("b", "a"), ("c", "a"), ("c",))
    assert node.keywords == ("a", "c", "b")


def test_keywords_are_equal_whatever_their_case_and_width() -> None:
    """`API`, `api` and full-width `ａｐｉ` are one, counted once a leaf, shown as first written."""
    node = node_of(("db",), ("API", "api"), ("ａｐｉ",), ("Straße",), ("STRASSE",), ("api",))
    assert node.keywords == ("API", "Straße", "db")


def test_twelve_keywords_are_shown_and_the_rest_counted() -> None:
    """A category shows its 12 most frequent keywords, as the original."""
    node = node_of(*[(f"k{i:02d}",) for i in range(15)])
    assert node.keywords == tuple(f"k{i:02d}" for i in range(12))
    assert node.hidden_keyword_count == 3
    assert node_of(("one",)).hidden_keyword_count == 0
    assert node_of(()).keywords == ()


# ------------------------------------------------------------------------------------- updating


@given(CORPORA, st.lists(st.tuples(st.lists(REFS, max_size=4), CORPORA), max_size=5))
def test_any_sequence_of_updates_equals_a_build(
    corpus: list[Memory], changes: list[tuple[list[str], list[Memory]]]
) -> None:
    """After adding, changing, moving and removing, the tree is the one built from scratch."""
    known = {memory.ref: memory for memory in corpus}
    tree = Tree.build(corpus, OPEN)
    for removed, added in changes:
        tree = tree.update(removed, added)
        for ref in removed:
            known.pop(ref, None)
        known.update({memory.ref: memory for memory in added})
        scratch = Tree.build(known.values(), OPEN)
        assert tree == scratch
        assert tree.revision(STATUS) == scratch.revision(STATUS)
        assert [n.keywords for n in tree.nodes] == [n.keywords for n in scratch.nodes]


def test_many_changes_at_once_equal_a_build() -> None:
    """A change of half the corpus takes the other way to sort and comes to the same."""
    corpus = make_corpus(1_000, 3)
    tree = Tree.build(corpus[:500], OPEN).update([m.ref for m in corpus[:100]], corpus[500:])
    assert tree == Tree.build(corpus[100:], OPEN)


def test_an_update_shares_what_it_does_not_touch() -> None:
    """One changed memory re-makes its own category and keeps every other node."""
    corpus = make_corpus(100, 20)
    tree = Tree.build(corpus, OPEN)
    after = tree.update([corpus[0].ref], [corpus[0]._replace(title="Changed")])
    same = [a is b for a, b in zip(tree.nodes, after.nodes, strict=True)]
    assert same.count(False) == 1


def test_an_update_leaves_the_old_tree_alone() -> None:
    """A reader that holds a snapshot keeps what it holds."""
    corpus = make_corpus(10, 2)
    tree = Tree.build(corpus, OPEN)
    before = tree.revision(STATUS)
    tree.update([m.ref for m in corpus], [])
    assert tree == Tree.build(corpus, OPEN)
    assert tree.revision(STATUS) == before


def test_a_category_that_loses_its_last_memory_goes() -> None:
    """Empty categories are absent after an update as after a build."""
    tree = Tree.build([make_memory("user:a.md", category="hobbies")], OPEN)
    assert tree.update(["user:a.md"], []).nodes == ()
    assert tree.update(["user:unknown.md"], []) == tree


# ------------------------------------------------------------------------------------- revision

VISIBLE: dict[str, Any] = {
    "ref": "project:other.md",
    "title": "Other",
    "description": "Other",
    "type": "user",
    "category": "hobbies",
    "keywords": ("x",),
    "usage_scenarios": ("x",),
}


@pytest.mark.parametrize("name", VISIBLE)
def test_a_visible_field_changes_the_revision(name: str) -> None:
    """Each field that a model can see, the scope with the ref, counts."""
    one, other = make_memory(), make_memory(**{name: VISIBLE[name]})
    assert Tree.build([one], OPEN).revision(STATUS) != Tree.build([other], OPEN).revision(STATUS)


@pytest.mark.parametrize(
    "change",
    [{"mtime_ns": 5}, {"version": "v1111111111111111"}, {"total": 5}, {"pinned": True}],
)
def test_what_is_not_visible_does_not_change_the_revision(change: dict[str, Any]) -> None:
    """An edited body, a touched file, a pin: the tree is still what the model has."""
    one, other = make_memory(), make_memory(**change)
    assert Tree.build([one], OPEN).revision(STATUS) == Tree.build([other], OPEN).revision(STATUS)


@given(CORPORA, CORPORA)
def test_a_revision_changes_if_and_only_if_metadata_does(
    one: list[Memory], other: list[Memory]
) -> None:
    """Two corpora have one revision exactly if they show the same leaves."""

    def shown(corpus: list[Memory]) -> set[tuple[str, ...]]:
        return {(m.ref, m.title, m.description, m.type, m.category, m.keyword_text) for m in corpus}

    same = Tree.build(one, OPEN).revision(STATUS) == Tree.build(other, OPEN).revision(STATUS)
    assert same == (shown(one) == shown(other))


def test_the_stable_status_changes_the_revision() -> None:
    """What could not be looked at counts; freshness, counts and skipped files do not."""
    tree = Tree.build([make_memory()], OPEN)
    revision = tree.revision(STATUS)
    for changed in (
        replace(STATUS, requested=("project",)),
        replace(STATUS, searched=("project",)),
        replace(STATUS, unavailable=(Unavailable("team", "disabled"),)),
        replace(STATUS, incomplete=(Incomplete("user", "dir_read_failed", 3),)),
    ):
        assert tree.revision(changed) != revision
    for same in (
        replace(STATUS, requested=("user", "project")),
        replace(STATUS, fresh=False, age_ms=5_000),
        replace(STATUS, scanned=8, skipped=(Skipped("a.md", "unreadable"),), skipped_total=1),
    ):
        assert tree.revision(same) == revision


# --------------------------------------------------------------------------------------- digest

TEXTS = st.lists(st.text(max_size=3), max_size=3).map(tuple)
FIELDS = st.tuples(*[st.text(st.characters(), max_size=3)] * 6, TEXTS, TEXTS)


@given(FIELDS, FIELDS)
def test_a_digest_tells_any_two_leaves_apart(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    """Digests are equal exactly if every field is."""
    assert (leaf_digest(*one) == leaf_digest(*other)) == (one == other)


def test_a_digest_does_not_run_values_together() -> None:
    """Moving a letter to the next field, or a keyword to the next list, is a change."""
    digests = {
        leaf_digest("r", "s", "t", "c", "ab", "c", ("k",), ()),
        leaf_digest("r", "s", "t", "c", "a", "bc", ("k",), ()),
        leaf_digest("r", "s", "t", "c", "ab", "c", (), ("k",)),
        leaf_digest("r", "s", "t", "c", "ab", "c", ("k", ""), ()),
        leaf_digest("r", "s", "t", "c", "ab", "ck", (), ()),
    }
    assert len(digests) == 5
    assert all(len(digest) == 32 for digest in digests)


def test_a_digest_takes_any_text() -> None:
    """A lone surrogate, which a file's name can hold, is hashed like anything else."""
    assert leaf_digest("\udc80", "", "", "", "", "", (), ()) != leaf_digest(
        "\udc81", "", "", "", "", "", (), ()
    )


def test_a_category_digest_is_over_its_leaves_in_order() -> None:
    """A node's digest is SHA-256 over its leaves' digests as they are sorted."""
    node = Tree.build(make_corpus(9), OPEN).nodes[0]
    assert node.digest == sha256(b"".join(leaf.digest for leaf in node.leaves)).digest()
