"""`recall export` and `recall import`: out whole, in with one approval, all or nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from terminal import Ran, at_terminal

FACTS = [{"memory": "Prefers tea."}, {"memory": "Deploys on Fridays."}]


class Desk:
    """Somebody with memories of his own and a project's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("user", "project", "home"):
            (folder / name).mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = {**kept, "HOME": str(folder / "home")}

    def run(self, *arguments: str, typed: str = "", agent: str = "", **more: Any) -> Ran:
        env = {**self.env, agent: "1"} if agent else self.env
        roots = [f"--root={scope}={self.folder / scope}" for scope in ("user", "project")]
        places = [f"--cache-dir={self.folder}/cache", f"--state-dir={self.folder}/state"]
        command = [*arguments, *roots, *places]
        return at_terminal(command, typed, env=env, cwd=self.folder, **more)

    def json(self, *arguments: str, typed: str = "") -> Any:
        ran = self.run(*arguments, "--json", typed=typed)
        assert ran.code == 0, ran
        return json.loads(ran.out)

    def file(self, name: str, content: Any) -> str:
        text = content if isinstance(content, str) else json.dumps(content)
        (self.folder / name).write_text(text)
        return name

    def texts(self) -> list[str]:
        return sorted(entry["text"] for entry in self.json("export")["entries"])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_facts_are_shown_and_written_on_one_yes(desk: Desk) -> None:
    """Every new file is shown whole before one question; a y writes them all, audited."""
    ran = desk.run("import", "--adapter", "mem0", desk.file("f.json", FACTS), typed="y\n")
    assert ran.code == 0, ran
    assert ran.shown.count("[y/n]") == 1
    assert "Prefers tea." in ran.shown and "Deploys on Fridays." in ran.shown
    assert ran.out.count("written  user:") == 2
    assert desk.texts() == ["Deploys on Fridays.", "Prefers tea."]
    sources = {entry["source"] for entry in desk.json("export")["entries"]}
    assert sources == {"mem0"}


def test_a_no_writes_none(desk: Desk) -> None:
    """The command fails, and no file is there."""
    ran = desk.run("import", "--adapter", "mem0", desk.file("f.json", FACTS), typed="n\n")
    assert ran.code == 1
    assert list((desk.folder / "user").iterdir()) == []


def test_where_nobody_can_be_asked_the_import_waits(desk: Desk) -> None:
    """As one proposal, which a person approves later; nothing is written until then."""
    file = desk.file("f.json", FACTS)
    ran = desk.run("import", "--adapter", "mem0", file, agent="CLAUDECODE")
    assert ran.code == 0, ran
    assert "proposal 1" in ran.out
    assert desk.texts() == []
    assert desk.run("proposals", "approve", "1", typed="y\n").code == 0
    assert len(desk.texts()) == 2


def test_one_line_that_cannot_be_mapped_ends_the_import(desk: Desk) -> None:
    """The error names format and line; nobody is asked, and nothing of any file is written."""
    good = desk.file("good.md", "## About\n- one\n")
    bad = desk.file("bad.md", "## About\n- two\nprose\n")
    ran = desk.run("import", "--adapter", "hermes-memory-md", good, bad)
    assert ran.code == 1
    assert "bad.md: hermes-memory-md: line 3" in ran.shown
    assert "[y/n]" not in ran.shown
    assert desk.texts() == []


def test_an_export_is_imported_again(desk: Desk, tmp_path: Path) -> None:
    """Texts, tags, tracks, scopes and agents come back as they were, into another's folders."""
    (desk.folder / "project" / "a.md").write_text("---\ntype: project\ntags: [x]\n---\nAlpha.\n")
    (desk.folder / "project" / "b.md").write_text("---\nagent: bot\n---\nBeta.\n")
    (desk.folder / "user" / "c.md").write_text("---\ntype: feedback\n---\nGamma.\n")
    document = desk.json("export")
    (tmp_path / "other").mkdir()
    other = Desk(tmp_path / "other")
    assert other.run("import", other.file("all.json", document), typed="y\n").code == 0

    def kept(found: dict[str, Any]) -> list[Any]:
        names = ("text", "tags", "track", "scope", "agentKey")
        return sorted([entry[name] for name in names] for entry in found["entries"])

    assert kept(other.json("export")) == kept(document)
    assert len(document["entries"]) == 3


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("no json", 2),
        ({"schema": "memory-export-v9", "plugin": "dsh-memento"}, 2),
        ({"schema": "memory-export-v1", "plugin": "dsh-memento"}, 2),
        ({"facts": []}, 2),
    ],
)
def test_a_file_that_is_no_export_is_refused(desk: Desk, content: Any, code: int) -> None:
    """Without --adapter only our own export is read, and strictly."""
    ran = desk.run("import", desk.file("f.json", content))
    assert ran.code == code
    assert desk.texts() == []


def test_files_that_are_no_text_or_not_there_are_told(desk: Desk) -> None:
    """With the file's name, and the line of what is no UTF-8."""
    (desk.folder / "latin.md").write_bytes(b"- one\n- caf\xe9\n")
    ran = desk.run("import", "--adapter", "hermes-memory-md", "latin.md")
    assert ran.code == 2 and "latin.md, line 2" in ran.shown
    ran = desk.run("import", "--adapter", "hermes-memory-md", "missing.md")
    assert ran.code == 1 and "missing.md" in ran.shown
    ran = desk.run("import", "--adapter", "hermes-memory-md", desk.file("e.md", "## Empty\n"))
    assert ran.code == 2 and "nothing to import" in ran.shown


def test_a_dry_run_shows_what_would_be_written(desk: Desk) -> None:
    """One line a memory; with --json all of each; nothing is written or asked."""
    note = desk.file("Tea.md", "---\ntags: [drinks]\n---\n- [fact] Green is best\n")
    ran = desk.run("import", "--adapter", "basic-memory", "--dry-run", note)
    assert ran.code == 0 and "1 memory would be written" in ran.out and "Tea" in ran.out
    (entry,) = desk.json("import", "--adapter", "basic-memory", "--dry-run", note)["entries"]
    assert (entry["text"], entry["tags"]) == ("- [fact] Green is best", ["drinks"])
    assert desk.texts() == []


def test_an_import_goes_where_the_scope_says(desk: Desk) -> None:
    """--scope comes before what the file says."""
    file = desk.file("f.json", FACTS)
    ran = desk.run("import", "--adapter", "mem0", "--scope", "project", file, typed="y\n")
    assert ran.code == 0, ran
    assert len(list((desk.folder / "project").glob("*.md"))) == 2


def test_standard_input_is_a_file(desk: Desk) -> None:
    """`-` reads it; the yes is typed at the terminal all the same."""
    ran = desk.run(
        *("import", "--adapter", "mem0", "-"), stdin=json.dumps(FACTS).encode(), typed="y\n"
    )
    assert ran.code == 0, ran
    assert len(desk.texts()) == 2


def test_an_export_in_another_format_is_that_formats_file(desk: Desk) -> None:
    """A text where the format is text, JSON where it is not; --scope bounds it."""
    (desk.folder / "project" / "a.md").write_text("Alpha\nand more.\n")
    (desk.folder / "user" / "c.md").write_text("---\ntype: user\n---\nGamma.\n")
    text = desk.run("export", "--adapter", "hermes-memory-md").out
    assert text == "## agent/workspace\n- Alpha and more.\n\n## user/user-global\n- Gamma.\n"
    assert desk.json("export", "--adapter", "hermes-memory-md")["text"] == text.rstrip("\n")
    facts = json.loads(desk.run("export", "--adapter", "mem0", "--scope", "user").out)["facts"]
    assert [fact["memory"] for fact in facts] == ["Gamma."]
    lines = desk.run("export", "--adapter", "mcp-memory-jsonl").out.splitlines()
    assert {json.loads(line)["type"] for line in lines} == {"entity"}


def test_more_than_one_document_holds_is_exported_in_parts(desk: Desk) -> None:
    """Without --part it is refused with the number of parts; together they are everything."""
    for number in range(1_003):
        (desk.folder / "project" / f"{number}.md").write_text(f"Memory {number}.")
    ran = desk.run("export")
    assert ran.code == 2 and "--part 2" in ran.shown
    parts = [desk.json("export", "--part", str(part))["entries"] for part in (1, 2, 3)]
    assert [len(part) for part in parts] == [1_000, 3, 0]
    assert len({entry["text"] for part in parts for entry in part}) == 1_003


def test_an_export_changes_nothing(desk: Desk) -> None:
    """No file, no state folder, nobody asked."""
    (desk.folder / "project" / "a.md").write_text("Alpha.")
    before = sorted(path for path in desk.folder.rglob("*") if "cache" not in path.parts)
    assert desk.run("export").code == 0
    assert sorted(p for p in desk.folder.rglob("*") if "cache" not in p.parts) == before


def test_a_file_of_ten_thousand_is_imported_in_parts(desk: Desk) -> None:
    """One import is 1,000 at most: without --part nothing is written, and it says how many."""
    file = desk.file("f.json", [{"memory": f"Fact {number}."} for number in range(10_000)])
    ran = desk.run("import", "--adapter", "mem0", file, typed="y\n")
    assert ran.code == 2 and "--part 1 to --part 10" in ran.shown
    assert list((desk.folder / "user").iterdir()) == []
    told = desk.json("import", "--adapter", "mem0", "--part", "10", "--dry-run", file)["entries"]
    assert [one["text"] for one in told] == [f"Fact {n}." for n in range(9_000, 10_000)]
    ran = desk.run("import", "--adapter", "mem0", "--part", "11", file, typed="y\n")
    assert ran.code == 2 and "nothing to import" in ran.shown


def test_one_line_of_many_that_no_memory_can_have_writes_nothing(desk: Desk) -> None:
    """Where the file looks well, and only a text can't be kept: file and line are named."""
    lines = [f"- fact {number}" for number in range(500)]
    lines[400] = "- " + "x" * 100_001
    file = desk.file("long.md", "\n".join(lines))
    ran = desk.run("import", "--adapter", "hermes-memory-md", file, typed="y\n")
    assert ran.code == 1
    assert "long.md: hermes-memory-md: line 401: `text` has 100,001 characters" in ran.shown
    assert list((desk.folder / "user").iterdir()) == []
    document = desk.json("export")
    entry = desk.json("import", "--adapter", "mem0", "--dry-run", desk.file("f.json", FACTS))
    wrong = [one | {"text": text} for text in ("good", "a\0b") for one in entry["entries"][:1]]
    full = {
        **dict.fromkeys(("workspaceKey", "agentKey"), ""),
        **dict.fromkeys(("lastRecalled", "sessionId")),
        "id": "6476a412-60be-459e-a875-6128113ea7d3",
        "recallCount": 0,
        "tags": [],
        **dict.fromkeys(("version", "createdAt", "updatedAt"), 1),
    }
    document["entries"] = [full | one for one in wrong]
    ran = desk.run("import", desk.file("all.json", document), typed="y\n")
    assert ran.code == 2 and "Memory 2 of 2: `text` holds NUL" in ran.shown
    assert list((desk.folder / "user").iterdir()) == []
