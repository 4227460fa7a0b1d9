"""What `recall export` prints and `recall import` reads: around once, the same to the byte."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from test_transfer import Desk

from recall.core.adapters import IDS

MEMORIES = {
    "project/tests.md": "---\ntype: project\ntags: [ci]\n---\nRun  them\twith `make`.\n",
    "project/list.md": "# Deploys\n\n- on Fridays\n- never at night\n",
    "project/scripts.md": "---\ntype: reference\n---\n日本語 العربية 👩‍👩‍👧 a\u2028b\n",
    "user/tea.md": "---\ntype: user\ntags: [taste, drinks]\n---\nPrefers tea.\n",
    "user/long.md": "---\ntype: feedback\n---\nFirst line.\n\n```sh\n# a fence\n```\n",
}
ANEW = re.compile(
    r"(created_at|updated_at|createdAt|updatedAt|exportedAt|created|modified|workspace_?[kK]ey)"
    r"(\W+)[^,\\\n]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
"""An import gives times and ids anew; a workspace's key is its folder."""


def settled(text: str) -> str:
    return ANEW.sub(lambda found: f"{found[1] or ''}{found[2] or ''}…", text)


def desk(folder: Path) -> Desk:
    folder.mkdir()
    return Desk(folder)


@pytest.mark.parametrize("adapter", ["", *IDS])
def test_what_was_imported_is_exported_as_it_was(tmp_path: Path, adapter: str) -> None:
    """In each format: what one imports, another gets from him byte by byte, in the same order."""
    options = ["--adapter", adapter] if adapter else []
    first = desk(tmp_path / "first")
    for name, text in MEMORIES.items():
        (first.folder / name).write_text(text)
    said = [first.run("export", *options).out]
    for name in ("second", "third"):
        other = desk(tmp_path / name)
        ran = other.run("import", *options, other.file("in", said[-1]), typed="y\n")
        assert ran.code == 0, ran
        said.append(other.run("export", *options).out)
    assert "Prefers tea." in said[0]
    assert settled(said[2]) == settled(said[1])
    if adapter not in ("mem0", ""):  # those name the source, which is the adapter after an import
        assert settled(said[1]) == settled(said[0])


def test_a_memory_servers_file_comes_back_as_it_was(tmp_path: Path) -> None:
    """Entities in their order, observations of any lines, relations after them."""
    records: list[dict[str, object]] = [
        {"type": "entity", "name": name, "entityType": "thing", "observations": observations}
        for name, observations in (
            *((f"Thing {number}", [f"is number {number}"]) for number in range(40)),
            ("Zed", ["two\nlines", "", "- a list", "## Relations", "a\u2028b"]),
            ("Alone", []),
        )
    ]
    for end in ("Zed", "Alone"):
        records.append({"type": "relation", "from": "Thing 7", "to": end, "relationType": "knows"})
    lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in records]
    one = desk(tmp_path / "one")
    file = one.file("memory.jsonl", "\n".join(lines))
    assert one.run("import", "--adapter", "mcp-memory-jsonl", file, typed="y\n").code == 0
    assert one.run("export", "--adapter", "mcp-memory-jsonl").out.split("\n") == [*lines, ""]
