"""recall.disk.config: settings from files, environment and arguments, and why one is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall.disk.config import Arguments, Loaded, load
from recall.errors import RootError, SettingsError
from recall.model import TAXONOMY, Root, Unavailable
from recall.settings import Llm, Settings
from recall.settings_table import KEYS

unless_root = pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")


class World:
    """A home with a user's file, and a git project below it with one of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = (folder / "home").resolve()
        self.project = self.home / "code" / "shop"
        (self.project / ".git").mkdir(parents=True)
        self.user_file = self.home / ".config" / "recall" / "config.toml"
        self.project_file = self.project / ".recall" / "config.toml"
        self.env: dict[str, str] = {"HOME": str(self.home), "XDG_CONFIG_HOME": ""}

    def user(self, text: str) -> Path:
        return self._write(self.user_file, text)

    def own(self, text: str) -> Path:
        return self._write(self.project_file, text)

    def _write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def folder(self, below: str) -> Path:
        path = self.home / below
        path.mkdir(parents=True, exist_ok=True)
        return path

    def load(
        self, *roots: str, cwd: Path | None = None, env: dict[str, str] | None = None, **said: str
    ) -> Loaded:
        return load(
            cwd or self.project,
            env=self.env | (env or {}),
            home=self.home,
            arguments=Arguments(roots=roots, **said),  # type: ignore[arg-type]
        )

    def refuse(self, **said: object) -> SettingsError:
        with pytest.raises(SettingsError) as caught:
            self.load(**said)  # type: ignore[arg-type]
        return caught.value


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# -- layers ---------------------------------------------------------------------------------------


def test_nothing_configured_gives_the_defaults(world: World) -> None:
    """Without files, variables and arguments everything is a default, and says so."""
    loaded = world.load()
    assert loaded.settings == Settings(
        unavailable=(
            Unavailable("project", "not_configured"),
            Unavailable("user", "not_configured"),
            Unavailable("team", "disabled"),
        ),
        project_dir=str(world.project),
        user_file=loaded.user_file,
    )
    assert dict(loaded.sources) == {key.name: "default" for key in KEYS}
    assert loaded.notes == ()
    assert loaded.project_file == ""
    assert loaded.user_file == str(world.user_file)


def test_later_layers_win_and_are_named(world: World) -> None:
    """User's file, project's file, environment, argument: each covers the one before."""
    world.user('mode = "legacy"\nlanguage = "zh"\nagent = "a"\nlock_wait_ms = 5\n')
    world.own('mode = "structured"\nlanguage = "en"\n')
    loaded = world.load(env={"RECALL_LANGUAGE": "zh", "RECALL_AGENT": "b"}, agent="c")
    found = loaded.settings
    assert (found.mode, found.language, found.agent, found.lock_wait_ms) == (
        "structured",
        "zh",
        "c",
        5,
    )
    assert loaded.sources["mode"] == f"project config: {world.project_file}"
    assert loaded.sources["language"] == "environment: RECALL_LANGUAGE"
    assert loaded.sources["agent"] == "argument"
    assert loaded.sources["lock_wait_ms"] == f"user config: {world.user_file}"
    assert loaded.sources["state_dir"] == "default"


def test_an_empty_variable_says_nothing(world: World) -> None:
    """`RECALL_MODE=` is as if it were unset."""
    assert world.load(env={"RECALL_MODE": ""}).sources["mode"] == "default"


def test_folders_are_absolute_afterwards(world: World) -> None:
    """`~/` in a file and a relative path in a variable or argument come out absolute."""
    world.user('cache_dir = "~/c"\n')
    found = world.load(env={"RECALL_STATE_DIR": "s"}).settings
    assert found.cache_dir == str(world.home / "c")
    assert Path(found.state_dir).is_absolute()
    assert world.load(cache_dir="x").settings.cache_dir == str(world.project / "x")


def test_the_users_file_can_stand_elsewhere(world: World, tmp_path: Path) -> None:
    """RECALL_CONFIG names another file; one that is not there is an error, /dev/null is none."""
    other = tmp_path / "other.toml"
    other.write_text('mode = "legacy"\n')
    world.user('mode = "structured"\n')
    assert world.load(env={"RECALL_CONFIG": str(other)}).settings.mode == "legacy"
    assert world.load(env={"RECALL_CONFIG": os.devnull}).settings.mode == "auto"
    other.unlink()
    error = world.refuse(env={"RECALL_CONFIG": str(other)})
    assert error.key == "RECALL_CONFIG"
    assert str(other) in error.message


def test_a_users_file_may_be_a_link(world: World, tmp_path: Path) -> None:
    """Dotfile managers link the user's file; a link to nothing is an error, not an empty file."""
    target = tmp_path / "dotfiles.toml"
    target.write_text('language = "zh"\n')
    world.user_file.parent.mkdir(parents=True)
    world.user_file.symlink_to(target)
    assert world.load().settings.language == "zh"
    target.unlink()
    assert str(world.user_file) in world.refuse().message


def test_taxonomy_is_taken_from_either_file(world: World) -> None:
    """Categories can be named by the user and by the project; the project's come last."""
    world.user('[taxonomy]\nnames = ["a", "b"]\nstrict = true\n')
    assert world.load().settings.taxonomy.names == ("a", "b")
    world.own('[taxonomy]\nnames = ["c"]\n')
    found = world.load().settings.taxonomy
    assert (found.names, found.strict) == (("c",), True)
    assert Settings().taxonomy.names == TAXONOMY


# -- what a file may not say ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "near"),
    [
        ('langauge = "zh"', "langauge", "language"),
        ("[limits]\nroutr = 3000", "limits.routr", "limits.router"),
        ("router = 3000", "router", "limits.router"),
        ("[limit]\nrouter = 3000", "limit", "limits"),
        ('[projects."/x"]\ntrustd = true', 'projects."/x".trustd', 'projects."/x".trusted'),
        ('[projects."/x".roots]\nteams = []', 'projects."/x".roots.teams', "roots.team"),
    ],
)
def test_an_unknown_key_names_file_key_and_the_nearest(
    text: str, key: str, near: str, world: World
) -> None:
    """A misspelt key is an error with the file, the dotted key and the likeliest known one."""
    path = world.user(text)
    error = world.refuse()
    assert (error.file, error.key) == (str(path), key)
    assert str(path) in error.message
    assert near in error.message
    assert error.fix


def test_a_key_that_resembles_nothing_lists_what_is_known(world: World) -> None:
    """Where no known key is near, all of them are named."""
    world.user("qqqqqqqq = 1")
    assert "limits.router" in (world.refuse().fix or "")


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ('mode = "fast"', "mode", "auto, legacy, structured"),
        ("mode = 3", "mode", "auto, legacy, structured"),
        ('limits.router = "6000"', "limits.router", "a whole number from 200 to 100000"),
        ("limits.router = 6000.0", "limits.router", "a whole number"),
        ("limits.router = true", "limits.router", "a whole number"),
        ("scopes.team = 1", "scopes.team", "true or false"),
        ('roots.user = "~/memory"', "roots.user", "a list of folders"),
        ('roots.user = ["memory"]', "roots.user", "absolute path"),
        ('trust.projects = ["work"]', "trust.projects", "absolute path"),
        ('cache_dir = "cache"', "cache_dir", "absolute path"),
        ("limits = 3", "limits", "a table"),
        ("projects = 3", "projects", "a table"),
        ('projects."/x" = 3', 'projects."/x"', "a table"),
        ('[projects."x"]', "projects", "absolute path"),
        ('[projects."/x"]\ntrusted = "yes"', 'projects."/x".trusted', "true or false"),
        ('[projects."/x"]\nroots = ["/m"]', 'projects."/x".roots', "a table"),
        ('[projects."/x".roots]\nuser = ["m"]', 'projects."/x".roots.user', "absolute path"),
        ("mode = 1979-05-27", "mode", "auto, legacy, structured"),
    ],
)
def test_a_wrong_value_names_file_key_and_what_is_allowed(
    text: str, key: str, allowed: str, world: World
) -> None:
    """A wrong type or value is an error that says what would be right."""
    path = world.user(text)
    error = world.refuse()
    assert (error.file, error.key) == (str(path), key)
    assert allowed in error.message
    assert allowed in (error.fix or "")


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("RECALL_MODE", "fast", "mode"),
        ("RECALL_LOCK_WAIT_MS", "soon", "lock_wait_ms"),
        ("RECALL_AGENT", "x" * 100, "agent"),
    ],
)
def test_a_wrong_variable_is_named(name: str, value: str, key: str, world: World) -> None:
    """An environment variable that can't be used is named, with what it may be."""
    error = world.refuse(env={name: value})
    assert name in error.message
    assert error.key == key


def test_a_misspelt_variable_is_noted(world: World) -> None:
    """A variable that looks like one of ours is not an error, but is not silent either."""
    notes = world.load(env={"RECALL_LANGAUGE": "zh", "RECALL_SOMETHING_ELSE": "1"}).notes
    assert notes == ("RECALL_LANGAUGE is not read; did you mean RECALL_LANGUAGE?",)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("mode = \n", 1),
        ('mode = "auto"\n[limits\n', 2),
        ('mode = "auto"\nmode = "auto"\n', 2),
        ("a = [1,\n2,\n", 3),
        ('# ok\r\nmode = "auto"\r\n= 3\r\n', 3),
    ],
)
def test_broken_toml_names_file_and_line(text: str, line: int, world: World) -> None:
    """A file that is no TOML is refused with the line where it breaks."""
    path = world.user(text)
    error = world.refuse()
    assert error.message.startswith(f"{path}:{line}: ")
    assert error.file == str(path)


@pytest.mark.parametrize("table", ["writes", "external.mem0"])
def test_a_table_that_is_there_already_is_named_with_both_lines(table: str, world: World) -> None:
    """Who pastes an example below what `recall init` wrote is told where its keys belong."""
    text = f"# mine\n\n[ {table} ] # as init wrote it\n#a = 1\n\n[{table}]\n"
    path = world.user(text)
    error = world.refuse()
    assert str(error) == f"{path}:6: the table [{table}] stands in line 3 already."
    assert error.fix == "Put the keys below line 3, and leave this line out."


def test_a_file_that_is_not_text_is_refused_with_its_line(world: World) -> None:
    """Bytes that are not UTF-8 are named by line; a BOM is fine."""
    path = world.user("")
    path.write_bytes(b'mode = "auto"\nagent = "\xff"\n')
    assert world.refuse().message == f"{path}:2: not UTF-8 text."
    path.write_bytes(b'\xef\xbb\xbfmode = "legacy"\r\n')
    assert world.load().settings.mode == "legacy"


def test_what_is_no_file_is_refused_at_once(world: World) -> None:
    """A folder or a pipe in the file's place is an error, and never waits for a writer."""
    world.user_file.mkdir(parents=True)
    assert str(world.user_file) in world.refuse().message
    world.user_file.rmdir()
    os.mkfifo(world.user_file)
    assert "not a file" in world.refuse().message


@unless_root
def test_an_unreadable_file_is_an_error(world: World) -> None:
    """A file that is there and can't be read is not taken for an absent one."""
    world.user("").chmod(0)
    assert "can't be read: Permission denied" in world.refuse().message


def test_sizes_are_bounded(world: World) -> None:
    """A file of megabytes is refused, and a hostile project's file costs no time."""
    world.user("# " + "x" * 300_000)
    assert "larger than" in world.refuse().message
    world.user("")
    world.own("# " + "x" * 40_000)
    assert "larger than" in world.refuse().message
    started = time.monotonic()
    for text in ("a=" + "[" * 16_000, "[[a]]\n" * 5_000):
        world.own(text)
        world.refuse()
    world.own("# one line\n" + ".".join("a" * 16_000) + " = 1")
    assert ":2: more than 500 dots" in world.refuse().message
    assert time.monotonic() - started < 3  # a dotted key alone takes tomllib three seconds


# -- a project's own file -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ('[roots]\nproject = ["/etc"]', "roots.project", "which of your folders"),
        ("[scopes]\nteam = true", "scopes.team", "team's memories on"),
        ("[trust]\nall = true", "trust.all", "trust itself"),
        ('[projects."/"]\ntrusted = true', "projects./", "other projects"),
        ('[external.mem0]\nbase_url = "https://x"', "external.mem0.base_url", "are sent"),
        ("[external.mem0]\nenable_writes = true", "external.mem0.enable_writes", "are sent"),
        ('[external.mem0.scope]\nuser_id = "x"', "external.mem0.scope", "are sent"),
        ("[external]", "external", "switch off where you have chosen"),
        ('external = ""', "external", "switch off where you have chosen"),
        ('[env]\nMEM0_API_KEY = "theirs"', "env.MEM0_API_KEY", "key of its own"),
        ('writes = "auto"', "writes", "writes"),
        ('cache_dir = "/srv/x"', "cache_dir", "where files are written"),
        ('state_dir = "/srv/x"', "state_dir", "where files are written"),
        ('agent = "boss"', "agent", "private memories"),
        ("lock_wait_ms = 60000", "lock_wait_ms", "hold up"),
    ],
)
def test_a_project_may_not_redirect_enable_or_name(
    text: str, key: str, reason: str, world: World
) -> None:
    """What a repository may not decide is refused with file, key and the reason."""
    path = world.own(text)
    error = world.refuse()
    assert (error.file, error.key) == (str(path), key)
    assert key in error.message
    assert reason in error.message
    assert "mode, language, taxonomy.names, taxonomy.strict and limits.*" in (error.fix or "")


def test_a_project_lowers_limits_and_never_raises_them(world: World) -> None:
    """A project's limit counts where it is lower than the user's; a higher one is noted."""
    world.user("[limits]\nfetch_window = 3000\n")
    world.own("[limits]\nfetch_window = 5000\nsearch_results = 2\n")
    loaded = world.load()
    assert loaded.settings.limits.fetch_window == 3000
    assert loaded.sources["limits.fetch_window"] == f"user config: {world.user_file}"
    assert loaded.settings.limits.search_results == 2
    assert loaded.sources["limits.search_results"] == f"project config: {world.project_file}"
    assert "limits.fetch_window = 5000 counts as 3000 only" in loaded.notes[0]


def test_a_project_may_size_its_tree_where_nobody_chose(world: World) -> None:
    """The tree's budget may grow to what a host lets a hook add, unless the user set it."""
    world.own("[limits]\nrouter = 9000\n")
    assert world.load().settings.limits.router == 9000
    world.own("[limits]\nrouter = 90000\n")
    assert world.load().settings.limits.router == 10_000
    world.user("[limits]\nrouter = 4000\n")
    assert world.load().settings.limits.router == 4000


def test_a_window_fits_its_call(world: World) -> None:
    """Where a call's bound is lowered, its window goes down with it, and the source says why."""
    world.user("[limits]\nfetch_call = 2000\nsearch_call = 200\n")
    loaded = world.load()
    limits = loaded.settings.limits
    assert (limits.fetch_window, limits.search_window, limits.search_before) == (2000, 200, 150)
    assert loaded.sources["limits.fetch_window"] == "default (lowered to fit limits.fetch_call)"
    assert loaded.sources["limits.fetch_refs"] == "default"


def test_a_project_file_behind_a_link_is_refused(world: World, tmp_path: Path) -> None:
    """A project's settings are a regular file of its own, not a link to someone else's."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "config.toml").write_text('agent = "secret"\n')
    (world.project / ".recall").symlink_to(elsewhere)
    error = world.refuse()
    assert "symbolic link" in error.message
    assert "secret" not in error.message
    (world.project / ".recall").unlink()
    world.own("").unlink()
    world.project_file.symlink_to(elsewhere / "config.toml")
    assert "symbolic link" in world.refuse().message


def test_the_home_folders_own_recall_is_no_project_file(world: World) -> None:
    """`~/.recall/config.toml` is not read as a project's settings."""
    (world.folder(".recall") / "config.toml").write_text("nonsense =")
    assert world.load(cwd=world.home).project_file == ""
    assert world.load(cwd=world.folder("elsewhere")).project_file == ""


# -- roots, trust and unavailable scopes ----------------------------------------------------------


def test_default_roots_count_where_they_exist(world: World) -> None:
    """The default folders are roots as soon as they are there, from anywhere in the project."""
    memory = world.folder("code/shop/.recall/memory")
    user = world.folder(".recall/memory")
    src = world.folder("code/shop/src/deep")
    found = world.load(cwd=src).settings
    assert found.roots == (
        Root("project", str(memory), "default"),
        Root("user", str(user), "default"),
    )
    assert found.unavailable == (Unavailable("team", "disabled"),)
    assert found.requested == ("project", "user", "team")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "disabled"),
        ("[scopes]\nteam = true", "untrusted"),
        ("[trust]\nall = true", "disabled"),
        ("[scopes]\nteam = true\n[trust]\nall = true", None),
        ('[scopes]\nteam = true\n[trust]\nprojects = ["~/code"]', None),
        ('[scopes]\nteam = true\n[trust]\nprojects = ["~/code/shop/src"]', "untrusted"),
        ('[scopes]\nteam = true\n[trust]\nprojects = ["~/wor"]', "untrusted"),
        ('[scopes]\nteam = true\n[projects."~/code/shop"]\ntrusted = true', None),
        (
            '[scopes]\nteam = true\n[trust]\nall = true\n[projects."~/code/shop"]\ntrusted = false',
            "untrusted",
        ),
        (
            '[scopes]\nteam = true\n[projects."~/code"]\ntrusted = false\n'
            '[projects."~/code/shop"]\ntrusted = true',
            None,
        ),
        ('[scopes]\nteam = true\n[projects."~/code/shop/src"]\ntrusted = true', "untrusted"),
    ],
)
def test_team_memories_need_the_switch_and_trust(
    text: str, reason: str | None, world: World
) -> None:
    """A repository's team folder is read only when the scope is on and the project trusted."""
    team = world.folder("code/shop/.recall/team")
    src = world.folder("code/shop/src")
    world.user(text)
    found = world.load(cwd=src).settings
    roots = [root.path for root in found.roots if root.scope == "team"]
    assert roots == ([] if reason else [str(team)])
    assert [u.reason for u in found.unavailable if u.scope == "team"] == [reason] * bool(reason)


def test_a_trusted_project_without_team_memories_is_not_configured(world: World) -> None:
    """On, trusted and not there is `not_configured`, which is not the same as `untrusted`."""
    world.user("[scopes]\nteam = true\n[trust]\nall = true\n")
    assert Unavailable("team", "not_configured") in world.load().settings.unavailable


def test_a_scope_can_be_switched_off(world: World) -> None:
    """A scope that is off has no root and is reported as disabled."""
    world.folder(".recall/memory")
    world.user("[scopes]\nuser = false\nproject = false\n")
    found = world.load().settings
    assert found.roots == ()
    assert [u.reason for u in found.unavailable] == ["disabled"] * 3


def test_listed_roots_take_the_place_of_the_default_ones(world: World) -> None:
    """What is listed is what is read; absolute ones count although they are not there."""
    world.folder("code/shop/.recall/memory")
    notes = world.folder("code/shop/notes")
    world.user('[roots]\nproject = ["notes", "absent", "/srv/gone", "~/code/shop/notes/."]\n')
    found = world.load().settings.roots
    assert [root.path for root in found] == [str(notes), "/srv/gone"]
    assert {root.origin for root in found} == {f"user config: {world.user_file}"}


def test_a_project_table_speaks_for_its_folder_and_below(world: World) -> None:
    """Adopted roots apply at and below the folder that they are listed for, and nowhere else."""
    claude = world.folder("claude/memory")
    world.folder("code/shop/.recall/memory")
    world.user(
        '[projects."~/code/shop"]\n'
        f'roots.project = [".recall/memory", "{claude}"]\n'
        '[projects."~/code"]\nroots.user = ["/srv/u"]\n'
    )
    inside = world.load(cwd=world.folder("code/shop/src")).settings.roots
    assert [root.path for root in inside] == [
        str(world.project / ".recall/memory"),
        str(claude),
        "/srv/u",
    ]
    outside = world.load(cwd=world.folder("other")).settings.roots
    assert outside == ()


def test_the_inner_project_table_wins(world: World) -> None:
    """Of two tables that apply, the one for the inner folder decides, scope by scope."""
    world.user(
        '[projects."~/code/shop".roots]\nproject = ["/srv/inner"]\n'
        '[projects."~/code".roots]\nproject = ["/srv/outer"]\nuser = ["/srv/u"]\n'
    )
    assert [root.path for root in world.load().settings.roots] == ["/srv/inner", "/srv/u"]


def test_a_worktree_uses_its_main_checkouts_table(world: World) -> None:
    """Roots and trust given to a checkout hold for its linked worktrees too."""
    git = {"PATH": os.environ["PATH"], "HOME": str(world.home)}
    main, tree = world.folder("main"), world.home / "tree"
    who = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for words in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", str(tree)],
    ):
        subprocess.run([*who, *words], cwd=main, env=git, check=True, capture_output=True)
    (tree / ".recall" / "team").mkdir(parents=True)
    world.user(
        '[scopes]\nteam = true\n[projects."~/main"]\ntrusted = true\nroots.user = ["/srv/u"]\n'
    )
    found = world.load(cwd=tree).settings
    assert [root.path for root in found.roots] == ["/srv/u", str(tree / ".recall" / "team")]


def test_a_link_out_of_the_project_needs_trust(world: World) -> None:
    """A repository can't make another folder a root by shipping a link to it."""
    secret = world.folder("private")
    world.folder("code/shop/.recall")
    (world.project / ".recall" / "memory").symlink_to(secret)
    loaded = world.load()
    assert loaded.settings.roots == ()
    assert Unavailable("project", "untrusted") in loaded.settings.unavailable
    assert str(world.project / ".recall/memory") in loaded.notes[0]
    world.user("[trust]\nall = true\n")
    assert [root.scope for root in world.load().settings.roots] == ["project"]


def test_the_home_folder_as_a_project_does_not_take_the_users_memories(world: World) -> None:
    """In the home folder `.recall/memory` is the user's root, once, and not the project's."""
    memory = world.folder(".recall/memory")
    found = world.load(cwd=world.home).settings
    assert found.roots == (Root("user", str(memory), "default"),)


def test_team_roots_of_your_own_need_no_trust(world: World) -> None:
    """A team folder outside of the project that the user names himself is read when on."""
    shared = world.folder("shared")
    world.user(f'[scopes]\nteam = true\n[roots]\nteam = ["{shared}", ".recall/team"]\n')
    world.folder("code/shop/.recall/team")
    loaded = world.load()
    assert [root.path for root in loaded.settings.roots] == [str(shared)]
    assert "not trusted" in loaded.notes[0]


def test_a_link_into_the_project_does_not_get_around_trust(world: World) -> None:
    """A team root elsewhere that leads into the project is the project's, and needs its trust."""
    world.folder("code/shop/.recall/team")
    (world.home / "link").symlink_to(world.project / ".recall" / "team")
    world.user('[scopes]\nteam = true\n[roots]\nteam = ["~/link"]\n')
    assert Unavailable("team", "untrusted") in world.load().settings.unavailable


def test_a_root_listed_twice_counts_once(world: World) -> None:
    """The same folder under two names in one list is read once, under the first."""
    notes = world.folder("notes")
    (world.home / "link").symlink_to(notes)
    world.user('[roots]\nuser = ["~/notes", "~/link", "~/notes/"]\n')
    assert [root.path for root in world.load().settings.roots] == [str(notes)]


def test_cache_and_state_never_lie_among_memories(world: World) -> None:
    """A cache or state folder inside of a root is refused: reading never writes there."""
    memory = world.folder("code/shop/.recall/memory")
    for name in ("RECALL_CACHE_DIR", "RECALL_STATE_DIR"):
        error = world.refuse(env={name: str(memory / "x")})
        assert error.key == name.removeprefix("RECALL_").lower()
        assert str(memory) in error.message


# -- --root ---------------------------------------------------------------------------------------


def test_arguments_stand_alone(world: World) -> None:
    """With `--root` no other root is read and no other scope is asked for."""
    world.folder(".recall/memory")
    one, two = world.folder("one"), world.folder("two")
    loaded = world.load(f"user={one}", str(two))
    assert loaded.settings.roots == (
        Root("project", str(two), "argument"),
        Root("user", str(one), "argument"),
    )
    assert loaded.settings.unavailable == ()
    assert loaded.settings.requested == ("project", "user")
    assert loaded.sources["roots.user"] == "argument"


@pytest.mark.parametrize(
    ("text", "scope", "folder"),
    [
        ("notes", "project", "notes"),
        ("team=notes", "team", "notes"),
        ("a=b", "project", "a=b"),
        ("x=y=z", "project", "x=y=z"),
        ("user=a=b", "user", "a=b"),
        ("C:\\memory", "project", "C:\\memory"),
        ("team=C:\\a=b", "team", "C:\\a=b"),
        ("team=literal", "project", "team=literal"),
        ("./a=b", "project", "a=b"),
        ("user=with space", "user", "with space"),
        ("~/notes", "project", "../../notes"),
    ],
)
def test_a_root_argument_is_a_scope_and_a_folder(
    text: str, scope: str, folder: str, world: World
) -> None:
    """`[SCOPE=]DIR` works for folders with `=`, `\\` and blanks in their names."""
    (world.project / folder).mkdir(exist_ok=True)
    found = world.load(text).settings.roots
    assert found == (Root(scope, os.path.abspath(world.project / folder), "argument"),)


def test_the_scoped_reading_wins_where_both_exist(world: World) -> None:
    """`team=x` is the folder x for the team, even beside a folder that is called `team=x`."""
    for name in ("x", "team=x"):
        (world.project / name).mkdir()
    assert [(r.scope, Path(r.path).name) for r in world.load("team=x").settings.roots] == [
        ("team", "x")
    ]


def test_a_root_named_twice_counts_once(world: World) -> None:
    """The same folder twice in one scope, also through a link, is one root."""
    (world.project / "m").mkdir()
    (world.project / "link").symlink_to(world.project / "m")
    assert len(world.load("m", "./m/", "link").settings.roots) == 1
    assert len(world.load("m", "user=m").settings.roots) == 2


@pytest.mark.parametrize("text", ["absent", "team=absent", "file", "", "team=", "=m"])
def test_a_root_that_is_no_folder_is_an_error(text: str, world: World) -> None:
    """`--root` with something that is not a folder raises RootError with its path."""
    (world.project / "file").touch()
    with pytest.raises(RootError) as caught:
        world.load(text)
    assert text in caught.value.message
    assert caught.value.fix


def test_a_misspelt_scope_is_named(world: World) -> None:
    """`--root taem=DIR` with an existing DIR says which scopes there are."""
    (world.project / "m").mkdir()
    with pytest.raises(SettingsError, match=r"nearest known one is team"):
        world.load("taem=m")


# -- whatever comes -------------------------------------------------------------------------------

_toml_values = st.recursive(
    st.booleans() | st.integers(-5, 10**6) | st.text("ab/~.\\\"'\n", max_size=5),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)
_names = st.sampled_from([key.name for key in KEYS] + ["roots", "projects", "external", "x.y"])


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.dictionaries(_names, _toml_values, max_size=4), own=st.booleans())
def test_any_file_gives_settings_or_a_settings_error(
    world: World, content: dict[str, object], own: bool
) -> None:
    """Whatever a file says, it is used or refused with its name, never anything else."""
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in content.items())
    world.user("" if own else lines)
    world.own(lines if own else "")
    try:
        loaded = world.load()
    except SettingsError as error:
        assert error.file in (str(world.project_file), str(world.user_file)) or error.key
        return
    assert set(loaded.sources) == {key.name for key in KEYS}
    if own:
        assert loaded.settings.roots == ()
        assert not loaded.settings.trusted
        assert loaded.settings.cache_dir == ""


@given(data=st.binary(max_size=200))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_settings_or_a_settings_error(world: World, data: bytes) -> None:
    """Garbage in a file's place never raises anything but SettingsError."""
    world.user("").write_bytes(data)
    try:
        world.load()
    except SettingsError as error:
        assert error.file == str(world.user_file)


def test_the_examples_of_the_reference_load(world: World) -> None:
    """Every TOML example in docs/settings.md is accepted where the page says that it stands."""
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
    mine, theirs = page.split("## The project's file")
    examples = [re.findall(r"```toml\n(.*?)```", part, re.DOTALL) for part in (mine, theirs)]
    assert [len(found) for found in examples] == [2, 1]
    for text in examples[0]:
        world.user(text)
        world.load()
    world.own(examples[1][0])
    found = world.load().settings
    assert (found.language, found.mode, found.limits.router) == ("zh", "structured", 9000)
    assert found.taxonomy.names == ("runbook", "decision", "pitfall")


def test_loading_imports_nothing_heavy() -> None:
    """A hook's process pays for tomllib only, also where the `init` command is imported."""
    code = "import recall.disk.config, recall.disk.initfile, sys; print(*sys.modules)"
    repo = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=repo, capture_output=True, text=True, check=True
    )
    heavy = {"tomlkit", "difflib", "click", "tempfile"}
    if sys.platform.startswith("linux"):
        heavy.add("platformdirs")
    assert heavy.isdisjoint(run.stdout.split())


# -- telemetry ------------------------------------------------------------------------------------


def test_telemetry_is_chosen_by_its_user(world: World) -> None:
    """In their own file or the environment; the file of lines comes out absolute."""
    world.user('[telemetry]\nsink = "jsonl"\nfile = "~/logs/recall.jsonl"\n')
    found = world.load().settings.telemetry
    assert (found.sink, found.file) == ("jsonl", str(world.home / "logs" / "recall.jsonl"))
    env = {"RECALL_TELEMETRY": "otel", "RECALL_TELEMETRY_FILE": "here.jsonl"}
    found = world.load(env=env).settings.telemetry
    assert (found.sink, found.file) == ("otel", str(world.project / "here.jsonl"))


@pytest.mark.parametrize("line", ['sink = "jsonl"', 'file = "/tmp/x"', ""])
def test_a_project_chooses_no_telemetry(world: World, line: str) -> None:
    """It came with a repository: where records of sessions go is not its to say."""
    world.own(f"[telemetry]\n{line}\n")
    assert "telemetry" in world.refuse().message


def test_telemetry_files_are_refused_by_name(world: World) -> None:
    """A relative one in a file, one among memories, an unknown sink."""
    world.user('[telemetry]\nfile = "recall.jsonl"\n')
    assert world.refuse().key == "telemetry.file"
    root = world.folder(".recall/memory")
    world.user(f'[telemetry]\nfile = "{root}/events.jsonl"\n')
    assert "lies in the memory root" in world.refuse().message
    world.user('[telemetry]\nsink = "syslog"\n')
    assert "none, jsonl, otel" in world.refuse().message


# -- the model that annotates ----------------------------------------------------------------------


def test_a_model_is_named_by_its_user(world: World) -> None:
    """In their own file or the environment; every key arrives."""
    assert world.load().settings.llm.model == ""
    world.user(
        '[llm]\nbase_url = "http://127.0.0.1:8080/v1"\nmodel = "qwen3:8b"\nenv_key = "MY_KEY"\n'
        "timeout_ms = 9000\nmax_calls = 7\nmax_tokens = 8\nmax_seconds = 9\n"
        "allow_insecure_http = true\n"
    )
    found = world.load().settings.llm
    assert found == Llm("http://127.0.0.1:8080/v1", "qwen3:8b", "MY_KEY", 9000, 7, 8, 9, True)
    env = {"RECALL_LLM_BASE_URL": "https://models.example.com", "RECALL_LLM_MODEL": "other"}
    found = world.load(env=env).settings.llm
    assert (found.base_url, found.model) == ("https://models.example.com", "other")


@pytest.mark.parametrize("line", ["", *(f"{name} = 1" for name in Llm.__fields__)])
def test_a_project_names_no_model(world: World, line: str) -> None:
    """It came with a repository: it can neither switch one on nor say where memories are sent."""
    world.own(f"[llm]\n{line}\n")
    refused = world.refuse()
    assert "llm" in refused.message
    assert "sent to" in refused.message
