"""Proposals on the page: shown whole, decided through the gate, as they were shown."""

from __future__ import annotations

import html

import pytest

pytest.importorskip("starlette", reason="the extra ui is not installed")

from recall.disk.proposals import APPROVED, DISMISSED, PENDING

from .place import FACT, Answer, Place, Reader, audit_rows


def decide(reader: Reader, number: int, act: str, **more: str) -> Answer:
    page = f"proposals/{number}/edit" if act == "edit" else "proposals"
    form = reader.form(page, f"proposals/{number}/{act}") | more
    return reader.post(f"proposals/{number}/{act}", form)


def state(place: Place, number: int) -> str:
    return place.recall.proposals().find(number).state


def test_a_proposal_is_shown_whole(place: Place, reader: Reader) -> None:
    """Every line of the new file, who asked, in which conversation."""
    number = place.propose(FACT + "\n\nAnd <b>this</b>.")
    text = reader.get("proposals").text
    shown = place.recall.deciding().show(number)
    after = (shown.plan.changes[0].after or b"").decode()
    for line in after.splitlines():
        assert (
            html.escape(line, quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
            in text
        )
    assert "an agent asks" in text and ">c1<" in text


def test_an_approval_writes_exactly_that_and_names_the_page(place: Place, reader: Reader) -> None:
    """Through the gate: the file, the proposal's state, and the audit's row say so."""
    number = place.propose()
    after = place.recall.deciding().show(number).plan.changes[0].after
    answer = decide(reader, number, "approve")
    assert (answer.status, "said=approved" in answer.headers["location"]) == (303, True)
    (file,) = place.root.glob("canary*.md")
    assert file.read_bytes() == after
    assert state(place, number) == APPROVED
    row = audit_rows(place)[-1]
    assert (row["action"], row["outcome"]) == ("add", f"allowed-once (via proposal {number}, page)")
    assert place.recall.audit().verify().clean
    assert "was written" in reader.ask("GET", answer.headers["location"]).text


def test_a_dismissal_writes_nothing_and_is_audited(place: Place, reader: Reader) -> None:
    """By whom as well."""
    number = place.propose()
    assert decide(reader, number, "dismiss").status == 303
    assert not list(place.root.glob("canary*"))
    assert state(place, number) == DISMISSED
    row = audit_rows(place)[-1]
    assert (row["action"], row["outcome"]) == ("add-dismissed", "page")
    assert "dismissed" in reader.get("proposals").text


def test_an_edit_changes_the_words_and_goes_on_waiting(place: Place, reader: Reader) -> None:
    """What is approved afterwards is what was edited; line feeds are those of a file."""
    number = place.propose()
    words = {
        "title": "Canaries",
        "description": "Canaries, described.",
        "keywords": "canary, node four",
        "usage_scenarios": "before a canary\r\nafter one",
        "text": "Canaries run on node four.\r\n\r\nSecond line.",
    }
    answer = decide(reader, number, "edit", **words)
    assert (answer.status, state(place, number)) == (303, PENDING)
    page = reader.get("proposals").text
    assert (
        "node four" in page
        and "Canaries, described" in page
        and "after one" in page
        and "third" not in page
    )
    assert decide(reader, number, "approve").status == 303
    (file,) = place.root.glob("*canar*.md")
    assert file.read_bytes().endswith(b"Canaries run on node four.\n\nSecond line.\n")


def test_an_edit_that_cannot_be_is_told_with_the_words_kept(place: Place, reader: Reader) -> None:
    """Nothing that was typed is lost."""
    number = place.propose()
    answer = decide(reader, number, "edit", text="x" * 100_001)
    assert answer.status == 409
    assert "x" * 1_000 in answer.text and 'role="alert"' in answer.text
    assert decide(reader, number, "edit", text="  ").status == 409
    assert place.recall.proposals().find(number).write.drafts[0].text == FACT


def test_the_form_holds_the_words_to_the_character(place: Place, reader: Reader) -> None:
    """Markup, quotes, a first empty line, a hidden character: edited unseen they stay."""
    words = 'A "quoted" <b>text</b> & </textarea>\n\n  indented\u202e.'
    number = place.propose(words)
    page = reader.get(f"proposals/{number}/edit").text
    held = page.split("<textarea")[-1].split(">\n", 1)[1].split("</textarea>")[0]
    assert html.unescape(held) == place.recall.proposals().find(number).write.drafts[0].text
    assert "\u202e" in html.unescape(held)


def test_what_would_be_another_change_by_now_is_not_written(place: Place, reader: Reader) -> None:
    """A file that moved on between the look and the yes: it is shown again instead."""
    ref = "project:tea.md"
    number = place.propose("Black tea.", action="update", targets=[ref])
    form = reader.form("proposals", f"proposals/{number}/approve")
    file = place.root / "tea.md"
    file.write_text(file.read_text().replace("eighty", "ninety"))
    before = file.read_bytes()
    answer = reader.post(f"proposals/{number}/approve", form)
    assert "said=moved" in answer.headers["location"]
    assert file.read_bytes() == before
    assert state(place, number) == PENDING
    text = reader.ask("GET", answer.headers["location"]).text
    assert "Nothing was written" in text and "ninety" in text
    assert decide(reader, number, "approve").status == 303
    assert "Black tea." in file.read_text()


@pytest.mark.parametrize("digest", ["", "0" * 64])
def test_a_yes_to_something_else_is_none(place: Place, reader: Reader, digest: str) -> None:
    """Whoever was not shown the change has not approved it."""
    number = place.propose()
    answer = decide(reader, number, "approve", digest=digest)
    assert "said=moved" in answer.headers["location"]
    assert not list(place.root.glob("canary*"))
    assert state(place, number) == PENDING


def test_a_proposal_is_decided_once(place: Place, reader: Reader) -> None:
    """The second click, or another person's, is told what became of it."""
    number = place.propose()
    form = reader.form("proposals", f"proposals/{number}/approve")
    assert reader.post(f"proposals/{number}/approve", form).status == 303
    again = reader.post(f"proposals/{number}/approve", form)
    assert again.status == 409 and "does not wait any more" in again.text
    assert len(list(place.root.glob("canary*"))) == 1


def test_one_that_became_impossible_is_shown_with_why(place: Place, reader: Reader) -> None:
    """It can be dismissed, and not approved."""
    number = place.propose("Black tea.", action="update", targets=["project:tea.md"])
    (place.root / "tea.md").unlink()
    page = reader.get("proposals").text
    assert "ENTRY_NOT_FOUND" in page and f"proposals/{number}/approve" not in page
    assert decide(reader, number, "dismiss").status == 303


def test_hidden_characters_in_a_proposal_are_a_warning(place: Place, reader: Reader) -> None:
    """They are spelled out in the diff."""
    place.propose("Access is \u202egnitirw\u202c only, on the wiki.")
    text = reader.get("proposals").text
    assert "can't be seen" in html.unescape(text) and "‹U+202E›" in text and "\u202e" not in text


def test_many_proposals_are_shown_page_by_page(place: Place, reader: Reader) -> None:
    """Ten at a time, the oldest first."""
    facts = ("lanterns", "harbours", "ferries", "rudders", "anchors", "tides", "winches", "buoys",
             "sails", "keels", "masts", "oars")  # fmt: skip
    for number, fact in enumerate(facts):
        place.propose(f"All {fact} are looked after by crew number {number}{number}.")
    first, second = reader.get("proposals").text, reader.get("proposals", page=2).text
    assert (first.count("data-card"), second.count("data-card")) == (10, 2)
    assert "12 waiting" in first
