"""The views over HTTP: what each of them shows, and what it says where something is wrong."""

from __future__ import annotations

import re
import shutil

import pytest
from conftest import complete

pytest.importorskip("starlette", reason="the extra ui is not installed")

from .place import Place, Reader, until


def words(html: str) -> str:
    """Return a page's text, its tags taken out."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_memories_are_listed_with_the_tree(reader: Reader) -> None:
    """By scope and category with counts, each with its title, ref and kind."""
    text = reader.get("memories").text
    assert "4 memories" in text and "Staging" in text and "project:deploy/staging.md" in text
    assert "Project <b>4</b>" in text and "<span>hobbies</span> <b>1</b>" in text
    assert "legacy" in reader.get("memories", kind="legacy").text


def test_a_category_and_a_filter_narrow_the_list(reader: Reader) -> None:
    """And nothing that fits is said, rather than an empty page."""
    text = reader.get("memories", category="hobbies").text
    assert "Tea" in text and "project:deploy/train.md" not in text
    assert "No memory fits" in reader.get("memories", type="feedback").text
    assert reader.get("memories", page="999999", scope="nope", age="x").status == 200


def test_a_search_says_what_matched_and_what_it_is_worth(reader: Reader) -> None:
    """The words marked in the text, where they stand, and the parts of the rank."""
    text = reader.get("memories", q="release train").text
    assert "<mark>release train</mark>" in text or "<mark>release</mark>" in text
    assert "every word" in text and "worth" in text and "of the best" in text
    assert "project:deploy/train.md" in text


def test_several_keywords_are_parted_by_commas(reader: Reader) -> None:
    """Each is told apart; one that finds nothing is told as well."""
    text = reader.get("memories", q="tea, staging").text
    assert "project:tea.md" in text and "project:deploy/staging.md" in text
    assert "0 found" in reader.get("memories", q="zeppelin").text
    assert "No keyword has a letter" in reader.get("memories", q="!!!").text
    assert reader.get("memories", q=",".join("abcdefgh")).status == 200


def test_a_search_leaves_no_row_in_the_audit(place: Place, reader: Reader) -> None:
    """A person looked, no model was handed anything."""
    reader.get("memories", q="staging")
    assert place.recall.audit().rows() == []


def test_a_memory_is_shown_with_all_about_it(place: Place, reader: Reader) -> None:
    """Metadata, body, version, where it is resident and when it was last recalled."""
    ref = "project:deploy/staging.md"
    assert "No conversation holds any of it" in reader.get("memory", ref=ref).text
    place.talk("s1", {"mode": "fetch", "refs": [ref]})
    text = reader.get("memory", ref=ref).text
    version = place.recall.snapshot().memories[ref].version
    for part in ("Staging deploys need an approval", version, "about Staging", ">s1<", "whole"):
        assert part in text, part
    assert "Last recalled" in text and "s ago" in text
    assert "Nothing is wrong" in text


def test_faults_are_told_with_what_to_do(reader: Reader) -> None:
    """Kind, line and fix."""
    text = reader.get("memory", ref="project:faulty.md").text
    assert "yaml-syntax" in text and ">line 4<" in text and "lacks" in text


def test_a_long_body_is_read_in_pages(place: Place, reader: Reader) -> None:
    """To its end, and as its source."""
    body = "".join(f"Line {number} of a long text.\n" for number in range(2_000))
    complete(place.root, "long.md", body, name="Long")
    text = reader.get("memory", ref="project:long.md", **{"as": "source"}).text
    seen = ""
    while True:
        found = re.search(r'<pre[^>]*aria-labelledby="body-title">(.*?)</pre>', text, re.S)
        assert found
        seen += found[1]
        onward = re.search(r'href="([^"]*)">Next →|href="([^"]*)">next →', text)
        if not onward:
            break
        path = (onward[1] or onward[2]).replace("&amp;", "&")
        text = reader.ask("GET", path).text
    assert seen == body


def test_what_is_not_there_is_said(reader: Reader) -> None:
    """A memory, a conversation, a proposal, an address: 404 or a sentence, in the page's frame."""
    assert reader.get("memory", ref="project:none.md").status == 404
    assert reader.get("memory").status == 404
    assert reader.get("session", id="none").status == 404
    answer = reader.get("proposals/7/edit")
    assert "There is no proposal 7" in answer.text and "<nav" in answer.text
    assert reader.get("nowhere").status == 404
    assert reader.ask("DELETE", reader.site.url("memories"), Origin=reader.origin).status == 405


def test_a_root_that_went_is_told_and_nothing_breaks(place: Place, reader: Reader) -> None:
    """As incomplete, not as an empty corpus."""
    assert reader.get("memories").status == 200
    shutil.rmtree(place.root)
    for path in ("memories", "health", "proposals", "sessions"):
        assert reader.get(path).status == 200
    assert "root_read_failed" in reader.get("memories").text


def test_conversations_are_listed_and_shown(place: Place, reader: Reader) -> None:
    """Turns, mode, the tree, what it cost, what this turn has read, what came when."""
    assert "No conversation is known yet" in reader.get("sessions").text
    ref = "project:deploy/train.md"
    place.talk("s1", {"mode": "fetch", "refs": [ref]}, {"mode": "search", "keywords": ["tea"]})
    assert ">s1<" in reader.get("sessions").text
    text = reader.get("session", id="s1").text
    seen = words(text)
    for part in (
        "structured",
        "current",
        "Timeline",
        "Read in this turn",
        "37 of 20",
        "search tea",
    ):
        assert part in seen, part
    assert 'class="run resident"' in text and "Train" in text


def test_health_tells_of_everything(place: Place, reader: Reader) -> None:
    """Mode, readiness, freshness, hosts, faults, and the audit with its chain."""
    place.talk("s1")
    seen = words(reader.get("health").text)
    for part in (
        "structured pinned",
        "not ready",
        "3 of 4 structured",
        "claude-code",
        "yaml-syntax",
        "the chain holds",
        "1 rows checked",
        "delivered",
        "never run here",
    ):
        assert part in seen, part


def test_a_broken_chain_is_told(place: Place, reader: Reader) -> None:
    """A row that was altered shows, also after the chain was found whole."""
    import sqlite3

    place.talk("s1")
    assert "the chain holds" in reader.get("health").text
    place.recall.audit().close()
    with sqlite3.connect(place.recall.state_dir / "audit.sqlite") as db:
        db.execute("DROP TRIGGER row_changed")
        db.execute("UPDATE row SET outcome = 'another' WHERE seq = 1")
    db.close()
    text = reader.get("health").text
    assert "the chain is broken" in text and "altered" in text


def test_the_page_speaks_chinese(reader: Reader) -> None:
    """Where it is asked to; it remembers, and the browser's wish counts without that."""
    path = reader.site.url("memories")
    answer = reader.ask("GET", f"{path}?lang=zh")
    assert '<html lang="zh-Hans">' in answer.text and "记忆" in answer.text
    chosen = answer.headers["set-cookie"].partition(";")[0]
    again = reader.ask("GET", reader.site.url("health"), Cookie=f"{reader.cookie}; {chosen}")
    assert "哈希链" in again.text or "审计" in again.text
    wished = reader.ask("GET", path, Accept_Language="zh-CN,zh;q=0.9")
    assert '<html lang="zh-Hans">' in wished.text
    assert '<html lang="en">' in reader.ask("GET", path, Accept_Language="de").text


def test_titles_that_turn_a_line_around_are_spelled_out(place: Place, reader: Reader) -> None:
    """In lists, in the heading, in the browser's title."""
    complete(place.root, "bidi.md", "x\n", name="harmless\u202egnp.exe")
    for text in (
        reader.get("memories").text,
        reader.get("memory", ref="project:bidi.md").text,
    ):
        assert "\u202e" not in text and "‹U+202E›" in text


# --- live


def events(reader: Reader, wanted: int) -> list[str]:
    """Listen until so many topics were told of, the greeting left out."""
    import http.client

    line = http.client.HTTPConnection("127.0.0.1", reader.port, timeout=20)
    line.request("GET", reader.site.url("events"), headers={"Cookie": reader.cookie})
    answer = line.getresponse()
    assert answer.getheader("content-type", "").startswith("text/event-stream")
    found: list[str] = []
    while len(found) < wanted:
        said = answer.readline().decode()
        if said.startswith("event: ") and "hello" not in said and "beat" not in said:
            found.append(said.removeprefix("event: ").strip())
    line.close()
    return found


def test_each_kind_of_change_is_told(place: Place, reader: Reader) -> None:
    """A file, a turn, a proposal: whoever made it, each tells its topic."""
    import threading

    heard: set[str] = set()

    def listen() -> None:
        heard.update(events(reader, 4))

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    until(lambda: reader.site.hub.looked)
    complete(place.root, "fresh.md", name="Fresh")
    place.talk("s9")
    place.propose()
    thread.join(20)
    assert heard >= {"memories", "sessions", "proposals", "audit"}


def test_looking_at_pages_is_no_change(place: Place, reader: Reader) -> None:
    """Reading touches databases; the page does not tell itself to read again."""
    from recall.faces.page.live import Looking

    place.talk("s1")
    place.propose()
    looking = Looking(place.recall)
    before = looking.look()
    for path in ("memories", "sessions", "proposals", "health"):
        assert reader.get(path).status == 200
    assert looking.look() == before
