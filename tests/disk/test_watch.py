"""What a watched store promises: nothing is touched where nothing changed, nothing is missed."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import write
from store_factory import (
    Parses,
    cache,
    facts,
    open_store,
    parses,
    same_as_new,
    settle,
    store,
    titles,
)

from recall.disk import watch as watching
from recall.disk.catalog import Catalog
from recall.disk.store import Store

__all__ = ["cache", "parses", "store"]

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify")


@pytest.fixture
def watched(cache: Path, root: Path) -> Iterator[Store]:
    """A watched store over a few memories, walked once, with everything settled."""
    write(root, "top.md", "body", name="Top")
    write(root, "deploy/staging.md", "body", name="Staging")
    write(root, "deploy/deep/er.md", "body", name="Deeper")
    settle(root)
    store = open_store(cache, root)
    store.watch()
    store.refresh(index=True)
    yield store
    store.close()


def how(store: Store) -> tuple[str, int]:
    """Return how the store watches, and how often it has walked."""
    state = store.watching
    assert state is not None
    return state.how, state.walks


_audited: list[tuple[str, str]] | None = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    by_name = event in ("os.scandir", "os.listdir", "open") and not isinstance(arguments[0], int)
    if _audited is not None and by_name:  # a descriptor was opened just before
        _audited.append((event, os.fspath(arguments[0])))


sys.addaudithook(_audit)


# --- nothing changed


def test_an_unchanged_corpus_is_not_looked_at_but_for_its_root(
    watched: Store, root: Path, monkeypatch: pytest.MonkeyPatch, parses: Parses
) -> None:
    global _audited
    before = watched.refresh(index=True)
    looked: list[str] = []
    for name in ("stat", "lstat"):
        real = getattr(os, name)

        def noting(path: Any, *rest: Any, _real: Any = real, **more: Any) -> Any:
            if not isinstance(path, int):
                looked.append(os.fspath(path))
            return _real(path, *rest, **more)

        monkeypatch.setattr(os, name, noting)
    parses.clear()
    _audited = []
    try:
        after = watched.refresh(index=True)
        opened = _audited
    finally:
        _audited = None
        monkeypatch.undo()
    assert after is before
    assert parses == []
    below = [path for path in looked if path.startswith(f"{root}/")]
    assert below == []
    assert str(root) in looked, "the root itself may have been replaced: no event says so"
    assert [one for one in opened if one[1].startswith(str(root))] == []


def test_without_a_watch_the_same_refresh_lists_every_folder(store: Store, root: Path) -> None:
    global _audited
    write(root, "deploy/staging.md", "body", name="Staging")
    store.refresh()
    _audited = []
    try:
        store.refresh()
        listed = {path for event, path in _audited if event == "open"}
    finally:
        _audited = None
    assert {str(root), str(root / "deploy")} <= listed


def test_an_answer_under_a_watch_is_fresh_even_if_a_recent_one_would_do(watched: Store) -> None:
    status = watched.refresh(lazy=True).status
    assert (status.fresh, status.age_ms) == (True, 0)


# --- something changed


def test_changed_files_are_seen_at_once_and_nothing_else_is_read(
    watched: Store, root: Path, tmp_path: Path, parses: Parses
) -> None:
    parses.clear()
    write(root, "top.md", "other", name="Edited")
    write(root, "deploy/new.md", "body", name="New")
    (root / "deploy/deep/er.md").rename(root / "deploy/moved.md")
    (root / "deploy/staging.md").unlink()
    assert titles(watched.refresh()) == {
        "project:top.md": "Edited",
        "project:deploy/new.md": "New",
        "project:deploy/moved.md": "Deeper",
    }
    assert set(parses) == {"top.md", "deploy/new.md", "deploy/moved.md"}
    assert how(watched) == ("inotify", 1), "files alone need no walk"
    same_as_new(watched, tmp_path, root)


def test_an_edit_within_one_tick_of_the_last_look_is_seen(watched: Store, root: Path) -> None:
    file = root / "top.md"
    for number in range(50):
        file.write_bytes(b"---\nname: T%02d\n---\nbody" % number)
        assert watched.refresh().memories["project:top.md"].title == f"T{number:02}"


def test_an_edit_that_no_fingerprint_shows_is_read(watched: Store, root: Path) -> None:
    file = root / "top.md"
    write(root, "top.md", "body", name="Cup")
    st = file.stat()
    ledger = watched._ledger
    # As if it had been read just before that, in the same tick of the clock.
    ledger.stamps[0]["top.md"] = (st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)
    ledger.racy[0].add("top.md")
    assert watched.refresh().memories["project:top.md"].title == "Cup"


def test_a_new_folder_is_watched_from_its_first_file_on(watched: Store, root: Path) -> None:
    for number in range(5):
        write(root, f"new/{number}/below/a.md", "body", name="Deep")
        assert f"project:new/{number}/below/a.md" in watched.refresh().memories
        write(root, f"new/{number}/below/a.md", "body", name="Again")
        assert watched.refresh().memories[f"project:new/{number}/below/a.md"].title == "Again"


def test_a_renamed_folder_is_followed(watched: Store, root: Path, tmp_path: Path) -> None:
    (root / "deploy").rename(root / "release")
    assert "project:release/deep/er.md" in watched.refresh().memories
    write(root, "release/deep/er.md", "body", name="There")
    assert watched.refresh().memories["project:release/deep/er.md"].title == "There"
    shutil.move(root / "release", tmp_path / "away")
    assert set(watched.refresh().memories) == {"project:top.md"}
    write(tmp_path / "away", "deep/er.md", "body", name="Away")
    assert set(watched.refresh().memories) == {"project:top.md"}
    same_as_new(watched, tmp_path, root)


def test_rules_are_followed(watched: Store, root: Path, tmp_path: Path) -> None:
    (root / ".recallignore").write_text("deep/\ndraft-*\n")
    assert set(watched.refresh().memories) == {"project:top.md", "project:deploy/staging.md"}
    write(root, "draft-a.md", "body")
    write(root, "note-a.md", "body")
    assert "project:draft-a.md" not in watched.refresh().memories
    same_as_new(watched, tmp_path, root)
    (root / ".recallignore").unlink()
    assert "project:draft-a.md" in watched.refresh().memories


def test_rules_behind_a_link_are_followed(watched: Store, root: Path) -> None:
    (root / "rules.txt").write_text("# none\n")
    (root / ".recallignore").symlink_to("rules.txt")
    assert "project:top.md" in watched.refresh().memories
    (root / "rules.txt").write_text("top.md\n")
    assert "project:top.md" not in watched.refresh().memories


def test_links_are_followed_to_folders_that_no_walk_lists(
    watched: Store, root: Path, tmp_path: Path
) -> None:
    write(root, ".hidden/target.md", "body", name="First")
    write(root, ".hidden/folder/in.md", "body", name="In")
    (root / "link.md").symlink_to(".hidden/target.md")
    (root / "linked").symlink_to(".hidden/folder")
    assert watched.refresh().memories["project:link.md"].title == "First"
    write(root, ".hidden/target.md", "body", name="Second")
    write(root, ".hidden/folder/in.md", "body", name="Edited")
    seen = watched.refresh().memories
    assert seen["project:link.md"].title == "Second"
    assert seen["project:linked/in.md"].title == "Edited"
    (root / ".hidden").rename(root / ".gone")
    assert "project:linked/in.md" not in watched.refresh().memories
    same_as_new(watched, tmp_path, root)
    assert how(watched)[0] == "inotify"


def test_a_link_that_led_nowhere_is_forgotten_with_it(
    watched: Store, root: Path, tmp_path: Path
) -> None:
    (root / "link.md").symlink_to("nowhere.md")
    assert watched.refresh().status.skipped_total == 1
    (root / "link.md").unlink()
    assert watched.refresh().status.skipped_total == 0
    same_as_new(watched, tmp_path, root)


def test_what_a_reader_found_changed_is_read_again_without_an_event(
    watched: Store, root: Path
) -> None:
    memory = watched.refresh().memories["project:top.md"]
    with open(root / "top.md", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        at = mapped.find(b"Top\n---\nbody")
        mapped[at : at + 12] = b"Cup\n---\nBODY"
        mapped.flush()
        assert watched.refresh().memories["project:top.md"].title == "Top"
        watched.read(memory)
        assert watched.refresh().memories["project:top.md"].title == "Cup"


def test_watches_of_folders_that_went_are_let_go(
    watched: Store, root: Path, tmp_path: Path
) -> None:
    for number in range(5):
        (root / "deploy").rename(tmp_path / f"away-{number}")
        write(root, "deploy/deep/er.md", "body", name="Deeper")
        watched.refresh()
    info = Path(f"/proc/self/fdinfo/{_inotify(watched).fileno()}").read_text()
    state = watched.watching
    assert state is not None
    assert info.count("inotify wd:") == state.folders == 3


def test_what_no_memory_is_wakes_nobody(watched: Store, root: Path) -> None:
    for number in range(20):
        (root / ".draft.md.swp").write_text(f"{number}")
        (root / "log.txt").write_text("line\n" * number)
        (root / ".git").mkdir(exist_ok=True)
        (root / ".git/notes.md").write_text("no memory")
    watched.refresh()
    state = watched.watching
    assert state is not None
    assert state.walks == 1
    assert state.events == 1, "only the new file, which might have been a link"


def test_others_commits_are_followed(watched: Store, root: Path, cache: Path) -> None:
    other = open_store(cache, root)
    other.watch()
    for number in range(5):
        write(root, "top.md", "body", name=f"Title {number}")
        write(root, f"deploy/{number}.md", "body", name="Of one")
        first, second = (watched, other) if number % 2 else (other, watched)
        assert facts(first.refresh()) == facts(second.refresh())
    other.close()


def test_what_others_committed_is_looked_at(watched: Store, cache: Path) -> None:
    other = Catalog(str(cache))
    other.apply([], [(0, "top.md")], {})  # it had walked before the file was there
    other.close()
    assert "project:top.md" in watched.refresh().memories


def test_another_database_is_walked_for(watched: Store, root: Path, cache: Path) -> None:
    shutil.rmtree(cache)
    assert set(watched.refresh().memories) == {
        "project:top.md",
        "project:deploy/staging.md",
        "project:deploy/deep/er.md",
    }
    write(root, "top.md", "body", name="After")
    assert watched.refresh().memories["project:top.md"].title == "After"
    assert how(watched)[0] == "inotify"


# --- roots


def test_a_root_that_vanishes_is_never_an_empty_one(
    watched: Store, root: Path, tmp_path: Path
) -> None:
    root.rename(tmp_path / "away")
    status = watched.refresh().status
    assert [(one.reason, one.discovered) for one in status.incomplete] == [("root_read_failed", 3)]
    (tmp_path / "away").rename(root)
    assert len(watched.refresh().memories) == 3
    write(root, "top.md", "body", name="Back")
    assert watched.refresh().memories["project:top.md"].title == "Back"


def test_a_root_that_is_replaced_is_another_one(
    watched: Store, root: Path, tmp_path: Path, parses: Parses
) -> None:
    root.rename(tmp_path / "away")
    write(root, "only.md", "body", name="Only")
    assert titles(watched.refresh()) == {"project:only.md": "Only"}
    write(root, "only.md", "body", name="Edited")
    write(tmp_path / "away", "top.md", "body", name="Not here")
    assert titles(watched.refresh()) == {"project:only.md": "Edited"}


def test_a_root_whose_parent_moves_is_noticed(tmp_path: Path, cache: Path) -> None:
    root = tmp_path / "above" / "memory"
    write(root, "a.md", "body", name="Old")
    write(tmp_path / "other" / "memory", "a.md", "body", name="Other")
    store = open_store(cache, root)
    store.watch()
    store.refresh()
    (tmp_path / "above").rename(tmp_path / "away")
    (tmp_path / "other").rename(tmp_path / "above")
    assert titles(store.refresh()) == {"project:a.md": "Other"}
    store.close()


def test_a_root_that_is_a_link_is_followed_elsewhere(tmp_path: Path, cache: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, "a.md", "body", name=name)
    link = tmp_path / "link"
    link.symlink_to("one")
    store = open_store(cache, link)
    store.watch()
    assert titles(store.refresh()) == {"project:a.md": "one"}
    link.unlink()
    link.symlink_to("two")
    assert titles(store.refresh()) == {"project:a.md": "two"}
    store.close()


def test_an_emptied_root_is_walked_before_anything_is_forgotten(watched: Store, root: Path) -> None:
    for file in root.rglob("*.md"):
        file.unlink()
    watched.refresh()
    assert how(watched) == ("inotify", 2)


def test_two_roots_and_one_inside_another_keep_their_own(tmp_path: Path, cache: Path) -> None:
    outer, inner = tmp_path / "memory", tmp_path / "memory" / "inner"
    write(outer, "a.md", "body", name="Outer")
    write(inner, "a.md", "body", name="Inner")
    store = open_store(cache, outer, ("user", inner))
    store.watch()
    store.refresh()
    write(inner, "a.md", "body", name="Edited")
    assert titles(store.refresh()) == {"project:a.md": "Outer", "user:a.md": "Edited"}
    assert how(store) == ("inotify", 1)
    store.close()


# --- where it can't be watched


def _inotify(store: Store) -> Any:
    watch = store._watch
    assert watch is not None and watch._inotify is not None
    return watch._inotify


def test_after_a_queue_ran_over_everything_is_looked_at(watched: Store, root: Path) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 100_000:
        pytest.skip("the queue here is too long to fill")
    queue = _inotify(watched)
    with queue._lock:  # nobody reads the queue meanwhile
        for number in range(most // 2 + 500):
            os.chmod(root / "top.md", 0o600 + number % 2)
            os.chmod(root / "deploy/staging.md", 0o600 + number % 2)
        write(root, "deploy/lost.md", "body", name="Lost")
    assert "project:deploy/lost.md" in watched.refresh().memories
    state = watched.watching
    assert state is not None
    assert (state.how, state.overflows) == ("inotify", 1)
    write(root, "deploy/lost.md", "body", name="Found")
    assert watched.refresh().memories["project:deploy/lost.md"].title == "Found"


def test_a_queue_that_breaks_means_walking_and_another_try_later(
    watched: Store, root: Path
) -> None:
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), _inotify(watched).fileno())
    write(root, "top.md", "body", name="Edited")
    assert watched.refresh().memories["project:top.md"].title == "Edited"
    state = watched.watching
    assert state is not None
    assert (state.how, state.why) == ("polling", "the system's queue can't be read: it ended")
    write(root, "top.md", "body", name="Again")
    assert watched.refresh().memories["project:top.md"].title == "Again"
    assert watched._watch is not None
    assert watched._watch.recheck_at == float("inf"), "nothing is left to be checked"
    watched._watch._retry_at = 0.0  # a minute later
    write(root, "top.md", "body", name="Later")
    assert watched.refresh().memories["project:top.md"].title == "Later"
    assert how(watched)[0] == "inotify"


def test_answers_do_not_depend_on_the_thread_in_the_background(watched: Store, root: Path) -> None:
    watch = watched._watch
    assert watch is not None
    watch.keeper.close()
    watch.keeper.thread.join(30)
    assert not watch.keeper.thread.is_alive()
    for number in range(3):
        write(root, "top.md", "body", name=f"Edited {number}")
        assert watched.refresh().memories["project:top.md"].title == f"Edited {number}"
    assert how(watched) == ("inotify", 1)


_CHILD = """
import os, resource, sys
sys.path[:0] = {path!r}
from store_factory import open_store
from pathlib import Path
root, cache = map(Path, sys.argv[1:])
store = open_store(cache, root)
{before}
state = store.watch()
store.refresh()
(root / "top.md").write_text("---\\nname: Edited\\n---\\n")
print(store.refresh().memories["project:top.md"].title)
print(store.watching.how, "|", store.watching.why)
"""


def _child(root: Path, cache: Path, before: str, *command: str) -> list[str]:
    """Watch in a process of its own in which something is not as it should be."""
    if command:
        probe = subprocess.run([*command, "true"], capture_output=True, text=True, timeout=60)
        if probe.returncode:
            pytest.skip(f"not allowed here: {probe.stderr.strip()[-200:]}")
    here = Path(__file__).parent
    code = _CHILD.format(path=[str(here), str(here.parents[1])], before=before)
    done = subprocess.run(
        [*command, sys.executable, "-c", code, str(root), str(cache)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_without_watchdog_every_refresh_walks(root: Path, cache: Path) -> None:
    write(root, "top.md", "body", name="Top")
    title, state = _child(root, cache, "sys.modules['watchdog'] = None")
    assert title == "Edited"
    assert state.startswith("polling | the package watchdog is missing (pip install")


def test_a_limit_on_queues_means_walking(root: Path, cache: Path) -> None:
    write(root, "top.md", "body", name="Top")
    command = ["unshare", "-Ur", "sh", "-c"]
    command += ['echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"', "sh"]
    title, state = _child(root, cache, "", *command)
    assert title == "Edited"
    assert state.startswith("polling | the system allows no more queues")


def test_a_limit_on_watches_means_walking(root: Path, cache: Path) -> None:
    for number in range(10):
        write(root, f"folder-{number}/a.md", "body", name="Note")
    write(root, "top.md", "body", name="Top")
    command = ["unshare", "-Ur", "sh", "-c"]
    command += ['echo 5 > /proc/sys/user/max_inotify_watches && exec "$@"', "sh"]
    title, state = _child(root, cache, "", *command)
    assert title == "Edited"
    assert state.startswith("polling | the system allows no more watches")


def test_a_disk_that_is_mounted_over_a_folder_is_noticed(root: Path, cache: Path) -> None:
    write(root, "deploy/a.md", "body", name="Under")
    write(root, "top.md", "body", name="Top")
    before = (
        "import subprocess\n"
        "store.watch(); store.refresh()\n"
        "subprocess.run(['mount', '-t', 'tmpfs', 'none', str(root / 'deploy')], check=True)\n"
        "assert 'project:deploy/a.md' not in store.refresh().memories\n"
        "(root / 'deploy/b.md').write_text('# New disk')\n"
        "assert 'project:deploy/b.md' in store.refresh().memories\n"
        "subprocess.run(['umount', str(root / 'deploy')], check=True)\n"
        "assert 'project:deploy/a.md' in store.refresh().memories\n"
    )
    command = ["unshare", "-Urm", "sh", "-c", 'mount -t tmpfs none /mnt && exec "$@"', "sh"]
    title, state = _child(root, cache, before, *command)
    assert (title, state) == ("Edited", "inotify | ")


def test_a_file_system_that_reports_nothing_is_not_watched(
    root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "top.md", "body", name="Top")
    monkeypatch.setattr(watching, "remote_kind", lambda path: "nfs4")
    store = open_store(cache, root)
    state = store.watch()
    assert (state.how, state.why) == (
        "polling",
        f"{root} is on nfs4, where others' changes are not reported",
    )
    write(root, "top.md", "body", name="Edited")
    assert titles(store.refresh()) == {"project:top.md": "Edited"}
    store.close()


def test_many_links_are_walked(watched: Store, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_MOST_LINKS", 1)
    (root / "one.md").symlink_to("top.md")
    (root / "two.md").symlink_to("top.md")
    assert "project:two.md" in watched.refresh().memories
    state = watched.watching
    assert state is not None
    assert (state.how, state.why) == (
        "polling",
        "more than 1 links would have to be followed each time",
    )


def test_a_forked_child_walks_and_leaves_the_parents_watch_alone(
    watched: Store, root: Path
) -> None:
    code = os.fork()
    if code == 0:
        write(root, "top.md", "body", name="Of the child")
        good = False
        try:
            seen = watched.refresh().memories["project:top.md"].title
            state = watched.watching
            watched.close()
            good = seen == "Of the child" and state is not None and state.how == "polling"
        finally:
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(code, 0)[1]) == 0
    assert watched.refresh().memories["project:top.md"].title == "Of the child"
    write(root, "deploy/staging.md", "body", name="Of the parent")
    assert watched.refresh().memories["project:deploy/staging.md"].title == "Of the parent"
    assert how(watched) == ("inotify", 1)


# --- in the background


def _until(true: Any) -> None:
    deadline = time.monotonic() + 30
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert true()


def test_changes_are_taken_in_before_anybody_asks(
    watched: Store, root: Path, cache: Path, parses: Parses
) -> None:
    parses.clear()
    write(root, "top.md", "body", name="Edited")
    _until(lambda: len(parses) == 2)  # for the catalog, for the text index
    watched.refresh(index=True)
    assert parses == ["top.md", "top.md"]


@pytest.mark.parametrize("way", ["mapped", "hard link"])
def test_what_no_event_tells_is_found_by_the_walk_in_the_background(
    watched: Store, root: Path, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "top.md"
    if way == "hard link":
        os.link(file, tmp_path / "other name")
        file = tmp_path / "other name"
    with open(file, "r+b") as open_file, mmap.mmap(open_file.fileno(), 0) as mapped:
        watched.refresh()
        at = mapped.find(b"Top")
        mapped[at : at + 3] = b"Cup"
        mapped.flush()
        watch = watched._watch
        assert watch is not None
        watch.recheck_at = 0.0  # five minutes later
        watch.keeper.wake()
        _until(lambda: how(watched)[1] > 1)
        assert watched.refresh().memories["project:top.md"].title == "Cup"


def test_closing_ends_every_thread_and_leaves_no_file(root: Path, cache: Path) -> None:
    def live(number: int) -> None:
        store = open_store(cache, root)
        store.watch()
        write(root, "top.md", "body", name=f"Edited {number}")
        store.refresh(index=True)
        store.close()
        assert titles(store.refresh())["project:top.md"] == f"Edited {number}"
        store.close()

    live(0)
    threads = set(threading.enumerate())
    open_files = len(os.listdir("/proc/self/fd"))
    for number in range(1, 4):
        live(number)
    assert set(threading.enumerate()) <= threads
    assert len(os.listdir("/proc/self/fd")) <= open_files
    assert [name for name in os.listdir(cache) if name.startswith("watch-")] == []


def test_a_store_that_nobody_holds_is_not_kept_alive(cache: Path, root: Path) -> None:
    write(root, "top.md", "body", name="Top")
    store: Store | None = open_store(cache, root)
    assert store is not None
    store.watch()
    store.refresh()
    keeper = store._watch.keeper.thread if store._watch else None
    assert keeper is not None
    store = None
    write(root, "top.md", "body", name="Edited")
    keeper.join(30)
    assert not keeper.is_alive()


def test_watchers_of_one_corpus_in_many_processes_agree(root: Path, cache: Path) -> None:
    here = Path(__file__).parent
    code = (
        f"import sys, time; sys.path[:0] = {[str(here), str(here.parents[1])]!r}\n"
        "from pathlib import Path\nfrom store_factory import open_store\n"
        "store = open_store(Path(sys.argv[2]), Path(sys.argv[1]))\n"
        "assert store.watch().how == 'inotify'\nstore.refresh()\nprint('ready', flush=True)\n"
        "for line in sys.stdin:\n"
        "    s = store.refresh(index=True)\n"
        "    print(s.revision, s.status.fresh, store.watching.how, flush=True)\n"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(root), str(cache)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for number in range(10):
            write(root, f"folder-{number % 3}/{number}.md", "body", name=f"Note {number}")
            write(root, "same.md", "body", name=f"Edit {number}")
            said = set()
            for child in children:
                assert child.stdin is not None and child.stdout is not None
                child.stdin.write("\n")
                child.stdin.flush()
            for child in children:
                assert child.stdout is not None
                said.add(child.stdout.readline())
            new = open_store(cache.with_name("new"), root)
            assert said == {f"{new.refresh().revision} True inotify\n"}
            new.close()
    finally:
        for child in children:
            child.send_signal(signal.SIGKILL)
            child.communicate()


def test_a_folder_that_vanishes_between_its_watch_and_its_listing_is_no_reason_to_stop(
    watched: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = _inotify(watched)
    real = queue.watch

    def vanished(path: str) -> int:
        if path.endswith("/deploy"):
            raise FileNotFoundError(errno.ENOENT, "gone")
        return int(real(path))

    monkeypatch.setattr(queue, "watch", vanished)
    (root / "new").mkdir()
    watched.refresh()
    monkeypatch.undo()
    write(root, "deploy/staging.md", "body", name="Unwatched")
    assert watched.refresh().memories["project:deploy/staging.md"].title == "Unwatched"
    assert how(watched)[0] == "inotify"
