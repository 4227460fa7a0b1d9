"""Incremental equals from scratch: random changes to real files, seen by two living stores.

After each step the store that lived through everything says the same as one that begins with an
empty cache; its revision changed if and only if something visible did; each living file's own
word finds exactly that file, and no dead word finds anything.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from store_factory import facts, found, open_store

from recall.core.refs import make_ref
from recall.core.snapshot import Snapshot
from recall.disk import ledger, update
from recall.disk.store import Store

_FOLDERS = ["", "deploy", "deploy/deep", "café\udce9", "x"]
_NAMES = ["a.md", "b.MD", "new\nline.md"]
_PATHS = st.builds(
    lambda folder, name: f"{folder}/{name}" if folder else name,
    st.sampled_from(_FOLDERS),
    st.sampled_from(_NAMES),
)
_CATEGORIES = st.sampled_from(["", "tech_stack", "other/deep"])


def word(number: int) -> str:
    """Return a word of letters that no other number has."""
    return "zq" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:05d}")


def visible(snapshot: Snapshot) -> Any:
    """Return what a revision covers."""
    leaves = {
        (m.ref, m.scope, m.type, m.category, m.title, m.description, m.keywords)
        for m in snapshot.memories.values()
    }
    return leaves, snapshot.status.stable()


def known(said: dict[str, Any]) -> dict[str, Any]:
    """Return the facts without how many memories are known to be away: a new cache can't know."""
    searched, incomplete, *rest = said["status"]
    return said | {
        "status": (searched, [one._replace(discovered=None) for one in incomplete], rest)
    }


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        # Images and bulk indexing from the first files on.
        self.saved = ledger._IMAGE_ROWS, update.BULK_FILES
        ledger._IMAGE_ROWS, update.BULK_FILES = 3, 2
        self.base = Path(tempfile.mkdtemp(prefix="recall-machine-"))
        self.root = self.base / "memory"
        self.root.mkdir()
        self.away = self.base / "away"
        self.words: dict[str, str] = {}
        self.dead: list[str] = []
        self.count = 0
        self.stores = [open_store(self.base / "cache", self.root) for _ in range(2)]
        self.last: tuple[str, Any] | None = None

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        shutil.rmtree(self.base)
        ledger._IMAGE_ROWS, update.BULK_FILES = self.saved

    # --- what people and programs do to files

    def _write(self, path: str, category: str, *, in_place: bool) -> None:
        self.count += 1
        file = self.root / path
        head = f"---\nname: Note {self.count % 3}\ndescription: d\ncategory: {category}\n---\n"
        text = f"{head}It says {word(self.count)}.\n".encode()
        if in_place:
            file.write_bytes(text)
        else:
            twin = file.parent / ".twin"
            twin.write_bytes(text)
            twin.replace(file)
        self._kill(path)
        self.words[path] = word(self.count)

    def _kill(self, path: str) -> None:
        if path in self.words:
            self.dead.append(self.words.pop(path))

    @rule(path=_PATHS, category=_CATEGORIES, in_place=st.booleans())
    def write(self, path: str, category: str, in_place: bool) -> None:
        self._home()
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        self._write(path, category, in_place=in_place)

    @precondition(lambda self: self.words)
    @rule(data=st.data(), how=st.sampled_from(["body", "same size and mtime", "title", "twice"]))
    def edit(self, data: st.DataObject, how: str) -> None:
        self._home()
        path = data.draw(st.sampled_from(sorted(self.words)))
        file = self.root / path
        if how == "title":
            file.write_bytes(file.read_bytes().replace(b"name: ", b"name: x"))
            return
        self.count += 1
        before = file.stat()
        text = file.read_bytes().replace(self.words[path].encode(), word(self.count).encode())
        file.write_bytes(text)
        if how == "same size and mtime":
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        self._kill(path)
        self.words[path] = word(self.count)
        if how == "twice":
            self.stores[0].refresh()
            self._write(path, "", in_place=True)

    @precondition(lambda self: self.words)
    @rule(data=st.data(), to=_PATHS)
    def rename(self, data: st.DataObject, to: str) -> None:
        self._home()
        path = data.draw(st.sampled_from(sorted(self.words)))
        if path == to:
            return
        (self.root / to).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).replace(self.root / to)
        self._kill(to)
        self.words[to] = self.words.pop(path)

    @rule(folder=st.sampled_from(_FOLDERS[1:]), to=st.sampled_from(["deploy", "x", "moved", ".h"]))
    def rename_folder(self, folder: str, to: str) -> None:
        self._home()
        if not (self.root / folder).is_dir() or (self.root / to).exists() or to in folder:
            return
        (self.root / folder).rename(self.root / to)
        for path in [path for path in self.words if path.startswith(folder + "/")]:
            if to == ".h":
                self._kill(path)
            else:
                self.words[to + path[len(folder) :]] = self.words.pop(path)

    @precondition(lambda self: self.words)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self._home()
        path = data.draw(st.sampled_from(sorted(self.words)))
        (self.root / path).unlink()
        self._kill(path)

    @rule(folder=st.sampled_from(_FOLDERS[1:]))
    def delete_folder(self, folder: str) -> None:
        self._home()
        shutil.rmtree(self.root / folder, ignore_errors=True)
        for path in [path for path in self.words if path.startswith(folder + "/")]:
            self._kill(path)

    @precondition(lambda self: self.words)
    @rule(data=st.data(), ns=st.sampled_from([0, 10**18, 2**61, 1_700_000_000_123_456_789]))
    def touch(self, data: st.DataObject, ns: int) -> None:
        self._home()
        path = data.draw(st.sampled_from(sorted(self.words)))
        os.utime(self.root / path, ns=(ns, ns))

    @rule()
    def take_the_root_away(self) -> None:
        if self.root.exists():
            self.root.rename(self.away)
        else:
            self._home()

    def _home(self) -> None:
        if not self.root.exists():
            self.away.rename(self.root)

    # --- what processes do

    @rule(index=st.booleans(), lazy=st.booleans())
    def other_process(self, index: bool, lazy: bool) -> None:
        self.stores[1].refresh(index=index, lazy=lazy)

    @rule(which=st.integers(0, 1))
    def new_process(self, which: int) -> None:
        self.stores[which].close()
        self.stores[which] = open_store(self.base / "cache", self.root)

    @rule()
    def delete_the_cache(self) -> None:
        shutil.rmtree(self.base / "cache", ignore_errors=True)

    # --- what must hold

    @invariant()
    def all_is_as_if_new(self) -> None:
        store = self.stores[0]
        snapshot = store.refresh(index=True)
        new = open_store(self.base / "new", self.root)
        assert known(facts(snapshot)) == known(facts(new.refresh()))
        new.close()
        shutil.rmtree(self.base / "new")
        now = snapshot.revision, visible(snapshot)
        if self.last is not None:
            assert (now[0] == self.last[0]) == (now[1] == self.last[1])
        self.last = now
        self._search(store)

    def _search(self, store: Store) -> None:
        present = self.root.exists()
        for path, own in self.words.items():
            assert found(store, own) == ({make_ref("project", path)} if present else set()), path
        for own in self.dead[-6:]:
            assert found(store, own) == set()


TestStore = StoreMachine.TestCase
TestStore.settings = settings(
    max_examples=8,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
