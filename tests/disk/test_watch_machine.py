"""A watched store says what a new one says, at once, whatever happened to the files meanwhile.

The machine of the store, its first store watched, with what only a watch could get wrong: links,
rules, rights, deep folders that are filled at once, and several changes between two looks.
"""

from __future__ import annotations

import errno
import random
import shutil
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule
from store_factory import facts, open_store
from test_store_machine import _FOLDERS, StoreMachine

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify")


class WatchMachine(StoreMachine):
    def __init__(self) -> None:
        super().__init__()
        self.unseen = 0
        self.stores[0].watch()

    @rule(which=st.integers(0, 1))
    def new_process(self, which: int) -> None:
        super().new_process(which)
        if which == 0:
            self.stores[0].watch()

    @rule(count=st.integers(1, 4))
    def look_away(self, count: int) -> None:
        """The next changes come all at once."""
        self.unseen = count

    @rule(folder=st.sampled_from(_FOLDERS), number=st.integers(0, 99))
    def deep_and_at_once(self, folder: str, number: int) -> None:
        self._home()
        at = self.root / folder / "new" / str(number) / "below"
        at.mkdir(parents=True, exist_ok=True)
        (at / "deep.md").write_text(f"# Deep {number}\n", encoding="utf-8")

    @rule(
        name=st.sampled_from(["link", "link.md", "deploy/to.md"]),
        to=st.sampled_from(["../outside", "deploy", ".hidden", ".hidden/in.md", "a.md", "gone"]),
    )
    def link(self, name: str, to: str) -> None:
        self._home()
        hidden = self.root / ".hidden"
        hidden.mkdir(exist_ok=True)
        self.count += 1
        (hidden / "in.md").write_text(f"# Hidden {self.count}\n", encoding="utf-8")
        link = self.root / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.is_symlink() or not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(self.root / to)

    @rule()
    def move_what_links_lead_to(self) -> None:
        self._home()
        if (self.root / ".hidden").exists():
            shutil.rmtree(self.root / ".elsewhere", ignore_errors=True)
            (self.root / ".hidden").rename(self.root / ".elsewhere")

    @rule(
        folder=st.sampled_from(["", "deploy"]),
        text=st.sampled_from(["", "x/\n", "*.MD\n", "!a.md"]),
    )
    def ignore(self, folder: str, text: str) -> None:
        self._home()
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        (self.root / folder / ".recallignore").write_text(text, encoding="utf-8")

    @rule(folder=st.sampled_from(_FOLDERS), mode=st.sampled_from([0o700, 0o500, 0o755]))
    def rights(self, folder: str, mode: int) -> None:
        self._home()
        if (self.root / folder).is_dir():
            (self.root / folder).chmod(mode)
            for file in (self.root / folder).glob("*.md"):
                if file.is_file():
                    file.chmod(mode & 0o666)
            (self.root / folder).chmod(0o700)

    @rule(name=st.sampled_from(["note.txt", ".draft.md.swp", "MEMORY.md"]))
    def what_is_no_memory(self, name: str) -> None:
        self._home()
        (self.root / name).write_text(f"{self.count}", encoding="utf-8")

    # The words that the store's machine searches for may be behind a rule or a link here.
    def _search(self, store: object) -> None:
        pass

    @invariant()
    def all_is_as_if_new(self) -> None:
        if self.unseen > 0:
            self.unseen -= 1
            return
        watch = self.stores[0].watching
        assert watch is not None and watch.how == "inotify", watch
        super().all_is_as_if_new()


class _Vandal(threading.Thread):
    """Changes files at random, as fast as it can."""

    def __init__(self, root: Path, seed: int, rounds: int) -> None:
        super().__init__()
        self.root, self.rng, self.rounds = root, random.Random(seed), rounds

    def run(self) -> None:
        for number in range(self.rounds):
            try:
                self._one(number)
            except (FileNotFoundError, NotADirectoryError, FileExistsError):
                continue
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EINVAL, errno.EISDIR):
                    raise

    def _place(self) -> Path:
        return self.root.joinpath(*self.rng.choices("abc", k=self.rng.randint(0, 3)))

    def _one(self, number: int) -> None:
        rng, place = self.rng, self._place()
        file = place / f"{rng.choice('xyz')}.md"
        what = rng.randrange(9)
        if what < 3:
            place.mkdir(parents=True, exist_ok=True)
            file.write_text(f"# Note {number}\n", encoding="utf-8")
        elif what == 3:
            file.unlink()
        elif what == 4:
            file.rename(self._place() / f"{rng.choice('xyz')}.md")
        elif what == 5:
            place.rename(self._place() / rng.choice("abc"))
        elif what == 6:
            shutil.rmtree(place if place != self.root else place / "a")
        elif what == 7:
            (place / ".twin").write_text(f"# Twin {number}\n", encoding="utf-8")
            (place / ".twin").replace(file)
        else:
            with open(file, "r+", encoding="utf-8") as open_file:
                open_file.write(f"# Edit {number % 10}")


def _meets_a_vandal(tmp_path: Path, root: Path, seed: int, rounds: int) -> None:
    store = open_store(tmp_path / "cache", root)
    store.watch()
    vandal = _Vandal(root, seed, rounds)
    vandal.start()
    while vandal.is_alive():
        store.refresh()
    vandal.join()
    said = store.refresh()
    watching = store.watching
    new = open_store(tmp_path / "new", root)
    assert facts(said) == facts(new.refresh())
    assert watching is not None and watching.how == "inotify"
    new.close()
    store.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_what_changes_while_it_is_looked_at_is_seen_at_the_end(
    tmp_path: Path, root: Path, seed: int
) -> None:
    _meets_a_vandal(tmp_path, root, seed, 400)


@pytest.mark.long
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("seed", range(20))
def test_what_changes_while_it_is_looked_at_is_seen_at_the_end_each_time(
    tmp_path: Path, root: Path, seed: int
) -> None:
    _meets_a_vandal(tmp_path, root, 100 + seed, 5_000)


TestWatched = WatchMachine.TestCase
TestWatched.settings = settings(
    max_examples=8,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


class LongWatchMachine(WatchMachine):
    pass


@pytest.mark.long
@pytest.mark.timeout(3_600)
class TestWatchedLong(LongWatchMachine.TestCase):  # type: ignore[misc,name-defined]
    settings = settings(
        max_examples=150,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
