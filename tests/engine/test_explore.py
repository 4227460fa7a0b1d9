"""search_memory, mode explore: categories, pages, and pages while memories come and go."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from conftest import Opener, write

from recall.core.sink import json_text
from recall.engine.session import Session
from recall.errors import InvalidCursor, RequestError


def page(session: Session, category: str, cursor: str | None = None, **more: Any) -> dict[str, Any]:
    branch = {"category": category} | ({"cursor": cursor} if cursor else {})
    answer = session.search_memory(mode="explore", branches=[branch], **more)
    return answer["branches"][0]


def test_without_branches_the_categories_are_listed(root: Path, opened: Opener) -> None:
    """Categories come in the tree's order, with totals and their most frequent keywords."""
    write(root, "a.md", "x", name="A", category="tech_stack", keywords="[postgres, redis]")
    write(root, "b.md", "x", name="B", category="tech_stack", keywords="[postgres]")
    write(root, "c.md", "x", name="C", category="hobbies")
    write(root, "zoo/d.md", "x", name="D")
    write(root, "e.md", "x", name="E")
    answer = opened().search_memory(mode="explore")
    assert answer["branches"] == []
    assert [(node["category"], node["total"]) for node in answer["router"]] == [
        ("hobbies", 1),
        ("tech_stack", 2),
        ("zoo", 1),
        ("uncategorized", 1),
    ]
    assert answer["router"][1]["keywords"] == ["postgres", "redis"]


def test_pages_join_to_the_whole_category(root: Path, opened: Opener) -> None:
    """Following nextCursor lists every memory of a category once, in the tree's order."""
    for i in range(47):
        write(root, f"c/{i:03}.md", "x", name=f"M{i}")
    session = opened().session()
    refs, cursor = [], None
    while True:
        branch = page(session, "c", cursor, limitPerBranch=7)
        assert branch["total"] == 47
        refs += [leaf["ref"] for leaf in branch["leaves"]]
        cursor = branch.get("nextCursor")
        if cursor is None:
            break
    assert refs == [f"project:c/{i:03}.md" for i in range(47)]


def test_pages_neither_skip_nor_repeat_while_memories_come_and_go(
    root: Path, opened: Opener
) -> None:
    """What is there all the time is listed exactly once, whatever happens between two pages."""
    for i in range(60):
        write(root, f"c/{i:03}.md", "x", name=f"M{i}")
    chance = random.Random(4)
    session = opened().session()
    seen, cursor, removed = [], None, set()
    for step in range(60):
        branch = page(session, "c", cursor, limitPerBranch=5)
        seen += [leaf["ref"] for leaf in branch["leaves"]]
        cursor = branch.get("nextCursor")
        if cursor is None:
            break
        victim = chance.randrange(60)
        (root / f"c/{victim:03}.md").unlink(missing_ok=True)
        removed.add(f"project:c/{victim:03}.md")
        write(root, f"c/{chance.randrange(60):03}-new{step}.md", "x", name="N")
    assert len(seen) == len(set(seen))
    stayed = {f"project:c/{i:03}.md" for i in range(60)} - removed
    assert stayed <= set(seen)
    assert seen == sorted(seen)


def test_a_leaf_shows_all_of_its_metadata(root: Path, opened: Opener) -> None:
    """A leaf has ref, scope, type, title, description, keywords and usage scenarios."""
    write(
        root,
        "c/a.md",
        "x",
        name="A",
        description="About a",
        type="project",
        keywords="[k1, k2]",
        usage_scenarios="[before doing a]",
    )
    (leaf,) = page(opened().session(), "c")["leaves"]
    assert leaf == {
        "ref": "project:c/a.md",
        "scope": "project",
        "type": "project",
        "title": "A",
        "description": "About a",
        "keywords": ["k1", "k2"],
        "usageScenarios": ["before doing a"],
    }


def test_an_answer_is_bounded_whatever_the_metadata(root: Path, opened: Opener) -> None:
    """Three branches of twenty leaves with the longest metadata stay under 25,000 characters."""
    long = "w" * 60
    for branch in ("a", "b", "c"):
        for i in range(25):
            write(
                root,
                f"{branch}/{'n' * 200}{i:03}.md",
                "x",
                name="t" * 400,
                description="d " * 400,
                keywords="[" + ", ".join(f"{long}{k}" for k in range(8)) + "]",
                usage_scenarios="[" + ", ".join(f"{long}{k}" for k in range(3)) + "]",
            )
    session = opened().session()
    answer = session.search_memory(
        mode="explore", branches=[{"category": name} for name in ("a", "b", "c")]
    )
    assert len(json_text(answer)) <= 25_000
    assert all(branch["leaves"] for branch in answer["branches"])
    refs, cursor = [], None
    while True:
        branch = page(session, "b", cursor)
        refs += [leaf["ref"] for leaf in branch["leaves"]]
        cursor = branch.get("nextCursor")
        if cursor is None:
            break
    assert len(refs) == len(set(refs)) == 25


def test_a_thousand_categories_are_counted_where_they_do_not_fit(
    root: Path, opened: Opener
) -> None:
    """The list of categories is bounded, and says how many it leaves out."""
    for i in range(1_000):
        write(root, f"category-number-{i:04}/a.md", "x", name="A", keywords="[one, two, three]")
    answer = opened().search_memory(mode="explore")
    assert len(json_text(answer)) <= 25_000
    left_out = 1_000 - len(answer["router"])
    assert left_out > 0
    assert str(left_out) in answer["warnings"][0]


def test_every_category_can_be_listed(root: Path, opened: Opener) -> None:
    """Following nextCursor lists each of a thousand categories once, in the tree's order."""
    for i in range(1_000):
        write(root, f"category-number-{i:04}/a.md", "x", name="A", keywords="[one, two, three]")
    session = opened().session()
    names, cursor = [], None
    while True:
        answer = session.search_memory(mode="explore", cursor=cursor)
        assert len(json_text(answer)) <= 25_000
        names += [node["category"] for node in answer["router"]]
        cursor = answer.get("nextCursor")
        if cursor is None:
            break
    assert names == [f"category-number-{i:04}" for i in range(1_000)]


def test_the_label_that_the_tree_shows_is_understood(root: Path, opened: Opener) -> None:
    """A category can be named as the tree and the router list it."""
    write(root, "a.md", "x", name="A", category="ＡＰＩ notes")
    session = opened().session()
    shown = session.search_memory(mode="explore")["router"][0]["category"]
    assert page(session, shown)["total"] == 1


def test_an_unknown_category_is_named_with_the_nearest(root: Path, opened: Opener) -> None:
    """A misspelt category gives an empty branch and a suggestion."""
    write(root, "a.md", "x", name="A", category="tech_stack")
    answer = opened().search_memory(mode="explore", branches=[{"category": "tech_stak"}])
    assert answer["branches"] == [{"category": "tech_stak", "total": 0, "leaves": []}]
    assert "tech_stack" in answer["warnings"][0]


def test_scopes_restrict_categories_and_pages(tmp_path: Path, opened: Opener) -> None:
    """Totals and leaves are those of the scopes asked for; a cursor belongs to them."""
    for scope in ("project", "user"):
        for i in range(3):
            write(tmp_path / scope, f"c/{i}.md", "x", name=f"{scope} {i}")
    session = opened(roots=[(s, tmp_path / s) for s in ("project", "user")]).session()
    branch = page(session, "c", scopes=["user"], limitPerBranch=2)
    assert branch["total"] == 3
    assert [leaf["scope"] for leaf in branch["leaves"]] == ["user", "user"]
    with pytest.raises(InvalidCursor):
        page(session, "c", branch["nextCursor"], limitPerBranch=2)


def test_a_cursor_of_another_category_is_invalid(root: Path, opened: Opener) -> None:
    """A page's cursor continues its own category only."""
    for name in ("a", "b"):
        for i in range(3):
            write(root, f"{name}/{i}.md", "x", name="A")
    session = opened().session()
    cursor = page(session, "a", limitPerBranch=1)["nextCursor"]
    with pytest.raises(InvalidCursor):
        page(session, "b", cursor)


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"branches": [{"category": "a"}] * 4}, "branches"),
        ({"branches": ["a"]}, "branches"),
        ({"branches": [{"name": "a"}]}, "branches"),
        ({"branches": [{"category": "a", "offset": 1}]}, "branches"),
        ({"limitPerBranch": 21}, "limitPerBranch"),
        ({"keywords": ["a"]}, "keywords"),
    ],
)
def test_wrong_parameters_name_the_field(
    root: Path, opened: Opener, parameters: dict[str, Any], field: str
) -> None:
    """Parameters that can't be served are refused with the field at fault."""
    with pytest.raises(RequestError) as caught:
        opened().search_memory(mode="explore", **parameters)
    assert caught.value.field == field
