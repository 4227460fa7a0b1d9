"""recall.disk.adopt: finding the folders in which hosts keep memories."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.disk.adopt import (
    Adopted,
    claude_slug,
    find_host_roots,
    named_folders,
    plain_folder,
    qwen_slug,
)
from recall.errors import RootError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "me"
    folder.mkdir(parents=True)
    return folder.resolve()


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "work" / "shop_v2"
    (folder / ".git").mkdir(parents=True)
    return folder


def _memories(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    return folder


def _found(found: list[Adopted]) -> list[tuple[str, Path]]:
    return [(a.scope, a.path) for a in found if a.adopt]


def _claude(home: Path, project: Path) -> Path:
    return home / ".claude" / "projects" / claude_slug(str(project)) / "memory"


def test_nothing_is_found_where_nothing_is(home: Path, project: Path) -> None:
    """Without a host's folders there is nothing to adopt, and nothing is created."""
    before = sorted(home.rglob("*"))
    assert find_host_roots("auto", project, home) == []
    assert find_host_roots(None, project, home) == []
    assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize(
    ("folder", "slug"),
    [
        ("/home/me/my_repo.v2", "-home-me-my-repo-v2"),
        (
            "/Users/foo/test-`=~!@#$%^&*()_+[]{}|;':\",.<>?åß∂ƒ©∆˚¬…あ",
            "-Users-foo-test" + "-" * 40,
        ),
        ("C:\\git\\cc-plus", "C--git-cc-plus"),
        ("/w/文档/a b", "-w----a-b"),
        ("/w/\U0001f4e6", "-w---"),
        # computed with Node from the bundled program's own function
        (
            "/home/me/" + "deep folder/" * 30 + "\U0001f4e6",
            "-home-me-" + ("deep-folder-" * 30)[:191] + "-oo6avv",
        ),
    ],
)
def test_claude_codes_names_are_its_own(folder: str, slug: str) -> None:
    """A project's folder name is derived as Claude Code derives it."""
    assert claude_slug(folder) == slug


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300))
def test_names_are_plain_and_bounded(folder: str) -> None:
    """A derived name holds ASCII letters, digits and dashes only, and is a legal file name."""
    for slug in (claude_slug(folder), qwen_slug(folder)):
        assert all(c.isascii() and (c.isalnum() or c == "-") for c in slug)
    assert len(claude_slug(folder)) <= 208


def test_claude_code_keeps_one_folder_for_a_repository(home: Path, project: Path) -> None:
    """From any folder of the repository the same memory folder is found, with its count."""
    memory = _memories(
        _claude(home, project), "MEMORY.md", "a.md", "b/c.MD", ".hidden.md", "x.txt", "d.markdown"
    )
    (project / "src").mkdir()
    for folder in (project, project / "src"):
        found = find_host_roots("claude-code", folder, home)
        assert found == [Adopted("project", memory, "claude-code", 3)]
    assert find_host_roots("qwen-code", project, home) == []


def test_claude_config_dir_moves_everything(home: Path, project: Path, tmp_path: Path) -> None:
    """CLAUDE_CONFIG_DIR takes the place of ~/.claude; the old folder is not looked at."""
    _memories(_claude(home, project), "old.md")
    moved = tmp_path / "cfg"
    memory = _memories(moved / "projects" / claude_slug(str(project)) / "memory", "new.md")
    env = {"CLAUDE_CONFIG_DIR": str(moved)}
    assert _found(find_host_roots("claude-code", project, home, env=env)) == [("project", memory)]
    named = _memories(moved / "projects" / "shop" / "memory")
    env["CLAUDE_CODE_PROJECT_DIR_NAME"] = "shop"
    assert ("project", named) in _found(find_host_roots("claude-code", project, home, env=env))
    _memories(moved / "secret" / "memory", "a.md")
    env["CLAUDE_CODE_PROJECT_DIR_NAME"] = "../secret"
    assert len(find_host_roots("claude-code", project, home, env=env)) == 1


def test_the_users_own_memory_directory_is_found(home: Path, project: Path) -> None:
    """`autoMemoryDirectory` in the user's settings is followed, a project's is only mentioned."""
    mine, theirs = _memories(home / "mine", "a.md"), _memories(home / "theirs", "b.md")
    (home / ".claude").mkdir()
    settings = home / ".claude" / "settings.json"
    settings.write_text(json.dumps({"autoMemoryDirectory": "~/mine"}))
    (project / ".claude").mkdir()
    own = project / ".claude" / "settings.local.json"
    own.write_text(json.dumps({"autoMemoryDirectory": str(theirs)}))
    found = find_host_roots("claude-code", project, home)
    assert [(a.path, a.adopt) for a in found] == [(mine, True), (theirs, False)]
    assert "--root" in found[1].note
    for broken in ("{", "[]", '{"autoMemoryDirectory": 3}', '{"autoMemoryDirectory": "mine"}'):
        settings.write_text(broken)
        assert _found(find_host_roots("claude-code", project, home)) == []


def test_a_worktree_shares_the_main_checkouts_folder(home: Path) -> None:
    """Claude Code's main folder is found from a worktree, and the worktree's own as well."""
    git = {"PATH": os.environ["PATH"], "HOME": str(home)}
    main, tree = home / "main", home / "tree"
    main.mkdir()
    who = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for words in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", str(tree)],
    ):
        subprocess.run([*who, *words], cwd=main, env=git, check=True, capture_output=True)
    shared = _memories(_claude(home, main), "a.md")
    alone = _memories(_claude(home, tree), "b.md")
    found = find_host_roots("claude-code", tree, home)
    assert _found(found) == [("project", shared), ("project", alone)]
    assert "shared by its worktrees" in found[0].note
    assert "this worktree alone" in found[1].note
    assert _found(find_host_roots("claude-code", main, home)) == [("project", shared)]


def test_a_cut_name_of_another_version_is_mentioned_only(home: Path) -> None:
    """A long path's folder under another hash may be another project's: it is not adopted."""
    project = home / ("deep" * 40) / ("deeper" * 20)
    project.mkdir(parents=True)
    slug = claude_slug(str(project))
    exact = _memories(_claude(home, project), "a.md")
    other = _memories(home / ".claude" / "projects" / f"{slug[:200]}-zzzz" / "memory", "b.md")
    found = find_host_roots("claude-code", project, home)
    assert [(a.path, a.adopt) for a in found] == [(exact, True), (other, False)]


def test_qwen_code_keeps_three_kinds(home: Path, project: Path) -> None:
    """Qwen Code's project, local, user and team folders are found, each for its scope."""
    base = home / ".qwen"
    kept = _memories(base / "projects" / qwen_slug(str(project)) / "memory", "a.md")
    local = _memories(project / ".qwen" / "memory", "b.md", "pinned/c.md")
    user = _memories(base / "memories", "MEMORY.md")
    team = _memories(project / ".qwen" / "team-memory", "d.md")
    found = find_host_roots("qwen-code", project, home)
    assert [(a.scope, a.path, a.files) for a in found] == [
        ("project", kept, 1),
        ("project", local, 2),
        ("user", user, 0),
        ("team", team, 1),
    ]
    assert "trusted" in found[3].note
    assert find_host_roots("auto", project, home) == found


@pytest.mark.parametrize("variable", ["QWEN_HOME", "QWEN_RUNTIME_DIR", "QWEN_CODE_MEMORY_BASE_DIR"])
def test_qwen_codes_variables_move_its_folders(variable: str, home: Path, project: Path) -> None:
    """Each of Qwen Code's variables moves the folders as it does for the host."""
    _memories(home / ".qwen" / "memories", "old.md")
    user = _memories(home / "q" / "memories", "new.md")
    found = find_host_roots("qwen-code", project, home, env={variable: "~/q"})
    assert _found(found) == [("user", user)]


def test_a_link_out_of_the_repository_is_not_adopted(home: Path, project: Path) -> None:
    """A repository that ships `.qwen/memory` as a link elsewhere gets it mentioned only."""
    secret = _memories(home / "secret", "a.md")
    (project / ".qwen").mkdir()
    for name in ("memory", "team-memory"):
        (project / ".qwen" / name).symlink_to(secret)
    found = find_host_roots("qwen-code", project, home)
    assert [a.adopt for a in found] == [False, False]
    assert all("outside" in a.note for a in found)


def test_the_same_folder_comes_once(home: Path, project: Path) -> None:
    """A host's folder that is a link to another one of the list is named once."""
    base = home / ".qwen" / "projects" / qwen_slug(str(project))
    local = _memories(project / ".qwen" / "memory", "a.md")
    base.mkdir(parents=True)
    (base / "memory").symlink_to(local)
    assert len(find_host_roots("qwen-code", project, home)) == 1


def test_a_project_behind_a_link_is_found_by_either_name(home: Path, project: Path) -> None:
    """A folder kept under the linked path is found beside the one under the real path."""
    link = home / "shortcut"
    link.symlink_to(project)
    real = _memories(_claude(home, project), "a.md")
    linked = _memories(_claude(home, link), "b.md")
    assert _found(find_host_roots("claude-code", link, home)) == [
        ("project", real),
        ("project", linked),
    ]


def test_a_decomposed_path_is_found_under_its_composed_name(home: Path) -> None:
    """Claude Code composes characters (NFC) before it derives the name."""
    project = home / "Fa\u0308hre"
    (project / ".git").mkdir(parents=True)
    memory = _memories(_claude(home, home / "F\u00e4hre"), "a.md")
    assert _found(find_host_roots("claude-code", project, home)) == [("project", memory)]


def test_a_file_in_the_folders_place_is_nothing(home: Path, project: Path) -> None:
    """A file called `memory` and a dangling link are no memory folders."""
    path = _claude(home, project)
    path.parent.mkdir(parents=True)
    path.touch()
    (home / ".qwen").mkdir()
    (home / ".qwen" / "memories").symlink_to(home / "nowhere")
    assert find_host_roots("auto", project, home) == []


def test_counting_ends_and_never_follows_links(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A huge folder is counted up to a bound, and a loop of links not at all."""
    folder = _memories(tmp_path / "notes", *(f"{i}.md" for i in range(30)))
    (folder / "loop").symlink_to(folder)
    assert plain_folder("notes", tmp_path, home) == Adopted("project", folder, "folder", 30)
    monkeypatch.setattr("recall.disk.adopt._MAX_ENTRIES", 10)
    counted = plain_folder(str(folder), tmp_path, home, scope="user")
    assert counted.files <= 10
    assert "10 entries" in counted.note


def test_a_plain_folder_must_be_one(home: Path, tmp_path: Path) -> None:
    """A person's own folder is taken as named; anything else raises RootError."""
    with pytest.raises(RootError) as caught:
        plain_folder("absent", tmp_path, home)
    assert caught.value.path == str(tmp_path / "absent")


def test_named_folders_are_read_like_arguments(home: Path, tmp_path: Path) -> None:
    """`--root [SCOPE=]DIR` means the same to `init` as to every other command."""
    (tmp_path / "a=b").mkdir()
    found = named_folders(["a=b", "team=a=b"], tmp_path, home)
    assert [(a.scope, a.path) for a in found] == [
        ("project", tmp_path / "a=b"),
        ("team", tmp_path / "a=b"),
    ]
