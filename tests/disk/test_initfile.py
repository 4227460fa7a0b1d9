"""recall.disk.initfile: the commented settings file, planned, shown and written whole."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall.disk import initfile, swap
from recall.disk.adopt import Adopted
from recall.disk.commented import commented_project, commented_user
from recall.disk.config import Loaded, load
from recall.disk.initfile import InitPlan, apply, plan_init
from recall.errors import SettingsError
from recall.settings_table import KEYS


class Place:
    def __init__(self, folder: Path) -> None:
        self.home = (folder / "home").resolve()
        self.project = self.home / "code" / "shop"
        (self.project / ".git").mkdir(parents=True)
        self.file = self.home / ".config" / "recall" / "config.toml"
        self.own = self.project / ".recall" / "config.toml"
        self.env = {"HOME": str(self.home), "XDG_CONFIG_HOME": ""}

    def plan(self, *adopted: Adopted, **said: bool) -> InitPlan:
        return plan_init(self.project, env=self.env, home=self.home, adopted=adopted, **said)

    def load(self, cwd: Path | None = None) -> Loaded:
        return load(cwd or self.project, env=self.env, home=self.home)

    def folder(self, below: str, scope: str = "project") -> Adopted:
        path = self.home / below
        path.mkdir(parents=True, exist_ok=True)
        return Adopted(scope, path, "claude-code", 0)

    def write(self, data: bytes) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(data)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _everything(path: Path) -> dict[Path, bytes]:
    return {p: p.read_bytes() if p.is_file() else b"" for p in path.rglob("*")}


# -- the commented texts --------------------------------------------------------------------------


def test_a_fresh_file_sets_nothing(place: Place) -> None:
    """The commented file is valid and gives exactly the defaults."""
    before = place.load()
    apply(place.plan())
    after = place.load()
    assert after.settings == before.settings
    assert set(after.sources.values()) == {"default"}


@pytest.mark.parametrize("own", [False, True])
def test_taking_the_hashes_away_sets_every_default(place: Place, own: bool) -> None:
    """Each commented line is a setting that the loader accepts, with the default as its value."""
    text = commented_project() if own else commented_user()
    live = re.sub(r"(?m)^#(?! )", "", text)
    data = tomllib.loads(live)
    path = place.own if own else place.file
    path.parent.mkdir(parents=True)
    path.write_text(live)
    loaded = place.load()
    tunable = [key for key in KEYS if not own or key.project != "no"]
    for key in tunable:
        table, _, name = key.name.rpartition(".")
        within = data
        for part in table.split(".") if table else ():
            within = within[part]
        value = within[name]
        default = dict(key.default) if key.kind == "ids" else key.default
        assert value == (list(default) if isinstance(default, tuple) else default)
        if not (own and key.project == "lower"):  # an equal limit changes nothing
            assert loaded.sources[key.name] != "default"


@pytest.mark.parametrize("text", [commented_user(), commented_project()])
def test_every_setting_is_explained_on_the_line_above(text: str) -> None:
    """Every key is preceded by a line of prose, and no line is wider than a screen."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        assert len(line) <= 100
        if re.match(r"#[a-z_]+ = ", line) and "trusted" not in line and "-shop" not in line:
            assert lines[i - 1].startswith("# "), line


# -- adopting -------------------------------------------------------------------------------------


def test_adopted_folders_are_read_afterwards(place: Place) -> None:
    """What was adopted is a root at and below the project, beside the default folders."""
    claude = place.folder(".claude/projects/-shop/memory")
    user = place.folder(".qwen/memories", "user")
    team = place.folder("code/shop/.qwen/team-memory", "team")
    plan = place.plan(claude, user, team)
    assert apply(plan)
    assert plan.adopted == (claude, user, team)
    (place.project / "src").mkdir()
    (place.project / ".recall" / "memory").mkdir(parents=True)
    found = place.load(place.project / "src").settings
    assert [(root.scope, root.path) for root in found.roots] == [
        ("project", str(place.project / ".recall/memory")),
        ("project", str(claude.path)),
        ("user", str(user.path)),
    ]
    data = tomllib.loads(plan.text)
    assert data["projects"][str(place.project)]["roots"]["team"] == [
        ".recall/team",
        ".qwen/team-memory",
    ]
    assert data["roots"]["user"] == ["~/.recall/memory", "~/.qwen/memories"]
    assert list(place.load(place.home / "code").settings.roots) == [
        root for root in found.roots if root.scope == "user"
    ]


def test_adoption_writes_only_the_settings_file(place: Place) -> None:
    """Nothing is moved, written or created in an adopted folder."""
    claude = place.folder(".claude/projects/-shop/memory")
    (claude.path / "a.md").write_text("x")
    before = _everything(place.home)
    apply(place.plan(claude, trust=True))
    after = _everything(place.home)
    made = {p for p in after if p not in before}
    assert made == {place.file, place.file.parent, place.file.parent.parent}
    assert all(after[p] == before[p] for p in before)


def test_a_folder_that_should_not_be_adopted_is_not(place: Place) -> None:
    """A finding that needs a person's word is in the plan, and not in the text."""
    doubtful = place.folder("elsewhere")._replace(adopt=False)
    plan = place.plan(doubtful)
    assert plan.adopted == (doubtful,)
    assert "elsewhere" not in plan.text


def test_planning_writes_nothing(place: Place) -> None:
    """A plan is only a plan, with the difference that it would make."""
    before = _everything(place.home)
    plan = place.plan(place.folder("code/shop/notes"), trust=True)
    assert plan.changed
    assert plan.diff.startswith(f"--- {os.devnull}\n+++ {place.file}\n@@ ")
    assert "+trusted = true\n" in plan.diff
    assert set(_everything(place.home)) - set(before) == {place.project / "notes"}


@pytest.mark.parametrize("trust", [False, True])
def test_a_second_init_changes_nothing(place: Place, trust: bool) -> None:
    """Planning again over the result finds nothing to do, and applying it writes nothing."""
    folders = [
        place.folder(".claude/memory"),
        place.folder(".qwen/memories", "user"),
        place.folder("code/shop/.qwen/team-memory", "team"),
    ]
    apply(place.plan(*folders, trust=trust))
    stamp = place.file.stat()
    again = place.plan(*folders, trust=trust)
    assert (again.changed, again.diff) == (False, "")
    assert not apply(again)
    assert place.file.stat() == stamp


def test_trust_lets_the_team_memories_be_read(place: Place) -> None:
    """`trust` marks the project as trusted, and an existing `false` becomes true."""
    place.write(b'[scopes]\nteam = true\n[projects."~/code/shop"]\ntrusted = false\n')
    (place.project / ".recall" / "team").mkdir(parents=True)
    assert not place.load().settings.trusted
    apply(place.plan(trust=True))
    found = place.load().settings
    assert found.trusted
    assert [root.scope for root in found.roots] == ["team"]


# -- merging --------------------------------------------------------------------------------------

OLD = """\
# my own words

mode = "legacy"   # pinned until June
[limits]
    router = 3000
[roots]
project = [
  ".recall/memory",  # the default
  "notes",
]

[projects."~/code/other"] # not this one
trusted = true
"""


def test_an_existing_file_keeps_every_line(place: Place) -> None:
    """Merging adds lines; comments, order, blanks and values of the old file stay."""
    place.write(OLD.encode())
    plan = place.plan(place.folder(".claude/memory"), place.folder(".qwen/memories", "user"))
    removed = [line for line in plan.diff.splitlines()[2:] if line.startswith("-")]
    assert removed == []
    apply(plan)
    loaded = place.load()
    assert loaded.settings.mode == "legacy"
    data = tomllib.loads(place.file.read_text())
    assert data["projects"][str(place.project)]["roots"]["project"] == [
        ".recall/memory",
        "notes",
        "~/.claude/memory",
    ]


def test_the_projects_own_table_is_extended(place: Place) -> None:
    """A table that already names the project, in whichever spelling, gets the folders."""
    place.write(b'[projects."~/code/../code/shop"]\nroots = { project = ["/srv/a"] } # mine\n')
    plan = place.plan(place.folder(".claude/memory"), trust=True)
    assert tomllib.loads(plan.text)["projects"] == {
        "~/code/../code/shop": {
            "roots": {"project": ["/srv/a", "~/.claude/memory"]},
            "trusted": True,
        }
    }
    assert "# mine" in plan.text


@pytest.mark.parametrize(
    "old",
    [
        b"",
        b"# nothing but a comment",
        b'mode = "legacy"',
        b"projects = {}\n",
        b'projects."/srv/x".trusted = true\n',
        b'[projects]\n"/srv/x" = { trusted = true }\n[limits]\nrouter = 900\n',
        b'[projects."/srv/x"]\ntrusted = true\n[limits]\nrouter = 900\n[projects."/srv/y"]\n',
        b"roots = { user = [] }\n",
        b"roots.user = []\n\n\n",
        b'[roots]\r\n# c\r\nuser = ["/srv/u"]\r\n',
    ],
)
def test_any_layout_of_the_old_file_is_extended(old: bytes, place: Place) -> None:
    """Inline, dotted, scattered and CRLF tables all take the new folders, or are left alone."""
    place.write(old)
    before = place.load()
    folders = (place.folder(".claude/memory"), place.folder(".qwen/memories", "user"))
    apply(place.plan(*folders, trust=True))
    loaded = place.load()
    paths = {root.path for root in loaded.settings.roots}
    assert {str(folder.path) for folder in folders} <= paths
    assert loaded.settings.trusted
    assert loaded.settings.limits == before.settings.limits
    assert not place.plan(*folders, trust=True).changed
    if b"\r\n" in old:
        assert place.file.read_bytes().count(b"\r\n") == place.file.read_bytes().count(b"\n")


def test_a_merge_that_would_lose_something_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is parsed and compared before it counts: what the old file says must stand."""
    place.write(OLD.encode())
    real = initfile._merge

    def lose(document: Any, *args: Any, **said: Any) -> None:
        real(document, *args, **said)
        del document["limits"]["router"]

    monkeypatch.setattr(initfile, "_merge", lose)
    with pytest.raises(SettingsError, match=r"without losing router"):
        place.plan(trust=True)


def test_a_bom_and_a_mode_are_kept(place: Place) -> None:
    """A file with a BOM keeps it, and a file that others may read stays readable."""
    place.write(b'\xef\xbb\xbfmode = "legacy"\r\n')
    place.file.chmod(0o644)
    apply(place.plan(trust=True))
    assert place.file.read_bytes().startswith(b'\xef\xbb\xbfmode = "legacy"\r\n')
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o644


@pytest.mark.parametrize("old", [b"mode =", b'mode = "fast"', b"\xff", b"unknown = 1"])
def test_a_file_with_a_fault_is_not_touched(old: bytes, place: Place) -> None:
    """A file that can't be used is named and left as it is; `overwrite` starts afresh."""
    place.write(old)
    with pytest.raises(SettingsError) as caught:
        place.plan(trust=True)
    assert caught.value.file == str(place.file)
    assert place.file.read_bytes() == old


def test_overwriting_must_be_asked_for(place: Place) -> None:
    """An existing file is replaced only when told, and the plan shows what goes."""
    place.write(OLD.encode())
    assert "-mode" not in place.plan(trust=True).diff
    plan = place.plan(overwrite=True)
    assert '-mode = "legacy"   # pinned until June\n' in plan.diff
    apply(plan)
    assert place.file.read_text() == commented_user()
    assert not place.plan(overwrite=True).changed


def test_a_linked_file_is_written_behind_its_link(place: Place, tmp_path: Path) -> None:
    """A dotfile manager's link stays a link; its target gets the text."""
    target = tmp_path / "dotfiles" / "recall.toml"
    target.parent.mkdir()
    target.write_text('mode = "legacy"\n')
    place.file.parent.mkdir(parents=True)
    place.file.symlink_to(target)
    apply(place.plan(trust=True))
    assert place.file.is_symlink()
    assert "trusted = true" in target.read_text()


def test_the_null_device_is_not_a_place_for_settings(place: Place) -> None:
    """With RECALL_CONFIG=/dev/null there is no file to write to."""
    place.env["RECALL_CONFIG"] = os.devnull
    with pytest.raises(SettingsError):
        place.plan(trust=True)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(
        st.text(
            st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=12
        ).filter(lambda n: n not in (".", "..")),
        min_size=1,
        max_size=3,
    )
)
def test_any_folder_name_survives_the_file(place: Place, names: list[str]) -> None:
    """A folder of any name (quotes, blanks, `~`, control characters) is listed so that it loads."""
    below = "code/shop/" + "/".join(names)
    adopted = place.folder(below)
    place.file.unlink(missing_ok=True)
    apply(place.plan(adopted))
    assert [root.path for root in place.load().settings.roots] == [str(adopted.path)]


@pytest.mark.parametrize("name", ["~", "~/x", "~x", "./ ", 'a"b', "a\\b", "a\nb", "#", "é"])
def test_awkward_folder_names_are_listed(name: str, place: Place) -> None:
    """A folder called `~` inside of the project is not taken for the home folder, and so on."""
    adopted = place.folder(f"code/shop/{name}")
    apply(place.plan(adopted))
    assert [root.path for root in place.load().settings.roots] == [str(adopted.path)]


def test_a_name_that_toml_cannot_hold_is_refused(place: Place) -> None:
    """A folder whose name is no UTF-8 is named in an error instead of being garbled."""
    os.mkdir(os.fsencode(place.home) + b"/\xff")
    bad = Adopted("project", Path(os.fsdecode(os.fsencode(place.home) + b"/\xff")), "folder", 0)
    with pytest.raises(SettingsError, match=r"not UTF-8"):
        place.plan(bad)


# -- writing --------------------------------------------------------------------------------------


def test_a_new_file_is_private(place: Place) -> None:
    """The user's file is 0600 in a folder of 0700."""
    apply(place.plan())
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.file.parent.stat().st_mode) & 0o077 == 0
    assert [p.name for p in place.file.parent.iterdir()] == ["config.toml"]


@pytest.mark.parametrize("old", [None, b'mode = "auto"\n'])
def test_a_file_that_changed_meanwhile_is_left_alone(old: bytes | None, place: Place) -> None:
    """If the file is not what it was when planned, nothing is written and the error says so."""
    if old is not None:
        place.write(old)
    plan = place.plan(trust=True)
    place.write(b'mode = "legacy"\n')
    with pytest.raises(SettingsError, match=r"changed since"):
        apply(plan)
    assert place.file.read_bytes() == b'mode = "legacy"\n'
    assert [p.name for p in place.file.parent.iterdir()] == ["config.toml"]


def test_a_file_that_appears_at_the_last_moment_is_not_replaced(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new file is linked into place, so that one made in between is never lost."""
    plan = place.plan()
    real = os.fsync

    def appear(fd: int) -> None:
        real(fd)
        if not place.file.exists():
            place.file.write_text("theirs")

    monkeypatch.setattr(os, "fsync", appear)
    with pytest.raises(SettingsError, match=r"changed since"):
        apply(plan)
    assert place.file.read_text() == "theirs"
    assert [p.name for p in place.file.parent.iterdir()] == ["config.toml"]


@pytest.mark.parametrize("step", ["fsync", "replace", "fchmod"])
def test_a_failed_write_leaves_the_old_file_and_no_litter(
    step: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fails while writing, the old file stands whole and no temporary one is left."""
    place.write(b'mode = "auto"\n')
    plan = place.plan(trust=True)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    monkeypatch.setattr(swap, "exchange", lambda *_: False)  # so that it is a rename
    with pytest.raises(OSError, match=r"No space"):
        apply(plan)
    assert place.file.read_bytes() == b'mode = "auto"\n'
    assert [p.name for p in place.file.parent.iterdir()] == ["config.toml"]


def test_without_hard_links_a_new_file_is_written_too(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that has no hard links gets its file by a rename."""

    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(initfile.os, "link", refuse)
    assert apply(place.plan())
    assert place.file.read_text() == commented_user()
    assert [p.name for p in place.file.parent.iterdir()] == ["config.toml"]


# -- the project's file ---------------------------------------------------------------------------


def test_a_project_gets_its_file_and_its_memory_folder(place: Place) -> None:
    """`for_project` writes .recall/config.toml and creates the folder that the plan names."""
    plan = place.plan(place.folder(".claude/memory"), for_project=True, trust=True)
    assert plan.path == place.own
    assert plan.folders == (place.project / ".recall" / "memory",)
    assert plan.adopted == ()
    assert apply(plan)
    assert place.own.read_text() == commented_project()
    assert [root.path for root in place.load().settings.roots] == [str(plan.folders[0])]
    again = place.plan(for_project=True)
    assert not again.changed
    assert not apply(again)


def test_an_existing_project_file_is_kept(place: Place) -> None:
    """A project's file that is there is not changed, only the folder is made; or it is refused."""
    place.own.parent.mkdir()
    place.own.write_text('language = "zh"\n')
    plan = place.plan(for_project=True)
    assert (plan.diff, len(plan.folders)) == ("", 1)
    assert apply(plan)
    assert place.own.read_text() == 'language = "zh"\n'
    place.own.write_text('agent = "x"\n')
    with pytest.raises(SettingsError):
        place.plan(for_project=True)


@pytest.mark.parametrize("name", [".recall", ".recall/config.toml", ".recall/memory"])
def test_nothing_is_written_through_a_projects_link(name: str, place: Place) -> None:
    """A repository that ships links in `.recall` can't make `init` write elsewhere."""
    (place.home / "target").mkdir()
    link = place.project / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(place.home / "target")
    with pytest.raises(SettingsError, match=r"symbolic link"):
        place.plan(for_project=True)
    assert list((place.home / "target").iterdir()) == []


def test_the_home_folder_is_no_project(place: Place) -> None:
    """In the home folder `--project` is refused: its .recall holds the user's own memories."""
    with pytest.raises(SettingsError, match=r"home folder"):
        plan_init(place.home, env=place.env, home=place.home, for_project=True)
