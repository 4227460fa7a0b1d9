"""The documentation is true: what it shows is run, what it lists is compared with the code."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docs_runner import ANY, ROOT, Block, Reader, blocks, prose

import recall
from recall import errors
from recall.app import open_recall
from recall.engine.session import Session
from recall.model import SCOPES
from recall.settings import Limits

DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "fixtures" / "README.md"])
TOOL_PAGE = DOCS / "search-memory.md"


def page_text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    """Every command and program of the tutorial prints what stands below it."""
    page = DOCS / "tutorial.md"
    found = blocks(page)
    Reader(page, tmp_path).follow(found)
    assert sum(block.info == "console" for block in found) > 10
    assert {block.info for block in found} <= {"console", "python", "text", "sh"}


@pytest.mark.parametrize("name", ["modes.md", "sessions.md"])
def test_a_page_does_what_it_says(tmp_path: Path, name: str) -> None:
    """Its commands and programs print what stands below them."""
    found = blocks(DOCS / name)
    assert {block.info for block in found} <= {"console", "python", "text"}
    Reader(DOCS / name, tmp_path).follow(found)


def test_the_readmes_program_runs(tmp_path: Path) -> None:
    """The lines of Python on the first page work as they stand."""
    page = ROOT / "README.md"
    programs = [block for block in blocks(page) if block.info == "python"]
    assert programs
    Reader(page, tmp_path).follow(programs)


# ---------------------------------------------------------------------------------------------
# The tool's page: requests and answers, programs, errors, budgets


class Caller:
    """Somebody who follows the tool's page, in a conversation for each heading."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(ROOT / "fixtures", folder / "fixtures")
        memory = folder / "fixtures" / "memory"
        self._recall = open_recall(
            roots=[(scope, memory / scope) for scope in SCOPES], cwd=folder, env={}, home=folder
        )
        self._reader = Reader(TOOL_PAGE, folder, folder)
        self._session: Session = self._recall.session()
        self._heading = ""
        self._seen: list[str] = []
        self._answer: Any = None

    def follow(self, found: list[Block]) -> None:
        for block, after in zip(found, [*found[1:], None], strict=True):
            if block.heading != self._heading:
                self._heading, self._session, self._seen = block.heading, self._recall.session(), []
            if block.info == "json request":
                self._ask(json.loads(block.text))
            elif block.info == "json answer":
                wrong = differences(json.loads(block.text), self._answer)
                assert not wrong, f"{TOOL_PAGE.name}:{block.line}: " + "\n".join(wrong)
            self._reader.step(block, after)

    def close(self) -> None:
        self._recall.close()

    def _ask(self, request: Any) -> None:
        try:
            answer = self._session.search_memory(**self._completed(request))
        except errors.RecallError as error:
            answer = {"error": error.details()}
        self._answer = json.loads(json.dumps(answer))
        self._seen += texts(self._answer)

    def _completed(self, value: Any) -> Any:
        """Return the request with each `…` as an earlier answer of the conversation has it."""
        if isinstance(value, dict):
            return {name: self._completed(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._completed(one) for one in value]
        if isinstance(value, str) and ANY in value:
            return next(text for text in reversed(self._seen) if fits(value, text))
        return value


NOTHING = "(nothing)"


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts(one)


def fits(pattern: str, text: str) -> bool:
    return bool(re.fullmatch("(?s:.*)".join(map(re.escape, pattern.split(ANY))), text))


def differences(said: Any, found: Any, place: str = "answer") -> list[str]:
    """Return where an answer is not what the page says; `…` stands for anything."""
    if said == ANY:
        return []
    if isinstance(said, dict) and isinstance(found, dict):
        names = said.keys() - {ANY} if ANY in said else said.keys() | found.keys()
        return [
            line
            for name in sorted(names)
            for line in differences(
                said.get(name, NOTHING), found.get(name, NOTHING), f"{place}.{name}"
            )
        ]
    if isinstance(said, list) and isinstance(found, list):
        more = said[-1:] == [ANY]
        if more or len(said) == len(found):
            wanted = said[:-1] if more else said
            pairs = zip(wanted, found, strict=not more)
            lines = [differences(a, b, f"{place}[{i}]") for i, (a, b) in enumerate(pairs)]
            return [line for some in lines for line in some]
    if said == found or (isinstance(said, str) and isinstance(found, str) and fits(said, found)):
        return []
    return [f"{place}: the page says {said!r}, the engine {found!r:.300}"]


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    one = Caller(tmp_path)
    yield one
    one.close()


def test_the_tools_page_shows_what_the_tool_answers(caller: Caller) -> None:
    """Every request of the page gets the answer that stands below it; programs print their text."""
    found = blocks(TOOL_PAGE)
    infos = [block.info for block in found]
    assert infos.count("json request") == infos.count("json answer") > 10
    caller.follow(found)


def test_every_budget_is_on_the_tools_page() -> None:
    """The table of budgets names each limit of an answer with its default."""
    rows = re.findall(r"(?m)^\| `limits\.(\w+)` \| ([\d,]+) \|", page_text("search-memory.md"))
    listed = {name: int(value.replace(",", "")) for name, value in rows}
    limits = Limits()
    known = {name: getattr(limits, name) for name in Limits.__fields__}
    assert listed == {
        name: value for name, value in known.items() if name not in ("router", "focus")
    }


def test_every_code_of_a_write_that_was_not_made_is_on_its_page() -> None:
    """docs/writes.md names each code that the package gives a WriteError, and no other."""
    table = page_text("writes.md").split("\n## Codes")[1].split("\n## ")[0]
    sources = "".join(path.read_text() for path in (ROOT / "recall").rglob("*.py"))
    given = set(re.findall(r'WriteError\(\s*"([A-Z_]+)"', sources))
    assert set(re.findall(r"(?m)^\| `([A-Z_]+)` \|", table)) == given


def test_every_error_code_is_on_the_tools_page() -> None:
    """The table of errors names each code that can be raised, with the evidence that it carries."""
    table = page_text("search-memory.md").split("\n## Errors")[1].split("\n## ")[0]
    rows = {row[0]: row[2] for row in re.findall(r"(?m)^\| `([A-Z_]+)` \|(.*?)\|(.*?)\|", table)}
    samples = [
        errors.RequestError("m", field="f"),
        errors.InvalidCursor("m", ref="r"),
        errors.StaleCursor("r", issued="v1", current="v2"),
        errors.SettingsError("m", file="f", key="k"),
        errors.RootError("m", path="p"),
        errors.ConflictError("p"),
        errors.AnnotationError("m"),
        errors.MigrationError("m"),
        errors.ProviderError("m", kind="k", said="s"),
        errors.GuardError("m"),
        errors.StoreError("m"),
    ]
    assert set(rows) == {error.code for error in samples}
    for error in samples:
        evidence = error.details().keys() - {"code", "message", "fix"}
        assert set(re.findall(r"`(\w+)`", rows[error.code])) == evidence
    raised = {kind for kind in vars(errors).values() if inspect.isclass(kind)}
    bases = {errors.RecallError, errors.CursorError, errors.WriteError}  # docs/writes.md has these
    assert {type(error) for error in samples} == {
        kind for kind in raised - bases if issubclass(kind, errors.RecallError)
    }


# ---------------------------------------------------------------------------------------------
# Lists that must be whole


def test_every_public_name_is_explained() -> None:
    """Each name that the package exports has a docstring and stands in the tool's page."""
    table = page_text("search-memory.md").split("\n## From Python")[1]
    for name in recall.__all__:
        text = inspect.getdoc(getattr(recall, name)) or ""
        assert text and not text.startswith(f"{name}("), f"{name} has no docstring of its own"
        assert re.search(rf"(?m)^\|[^|]*`{name}`", table), f"{name} is not in the table"


def test_the_packages_own_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `help(recall)` shows works as it stands."""
    for name in [name for name in os.environ if name.startswith(("RECALL_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(ROOT)
    example = doctest.DocTestParser().get_doctest(recall.__doc__ or "", {}, "recall", None, 0)
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_every_dependency_is_explained() -> None:
    """docs/dependencies.md has a section for each dependency of the package, and for no other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[<>=~! \[]", one)[0] for one in project["dependencies"]}
    used = page_text("dependencies.md").split("\n## Used")[1].split("\n## ")[0]
    assert set(re.findall(r"(?m)^### (\S+)$", used)) == names


def test_every_module_is_on_the_map() -> None:
    """docs/architecture.md names each module of the package once, and none that is not there."""
    here = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "recall").rglob("*.py")
        if path.name != "__init__.py" or path.parent.name == "recall"
    }
    rows = re.findall(r"(?m)^\| `(recall/[\w/]+\.py)` \|", page_text("architecture.md"))
    assert sorted(rows) == sorted(here)


def test_the_weights_are_the_codes() -> None:
    """Every constant that docs/ranking.md lists has the value that stands there."""
    rows = re.findall(r"(?m)^\| `(recall\.[\w.]+)` \| ([\d.]+) \|", page_text("ranking.md"))
    assert len(rows) > 10
    for name, value in rows:
        assert resolve(name) == float(value), name


FIGURES: dict[str, dict[str, tuple[float | None, str]]] = {
    "storage.md": {
        "recall.disk.update._SLICE_S": (0.35, "at most 0.35 seconds"),
        "recall.disk.update.BULK_FILES": (200, "from 200 files on"),
        "recall.disk.indexer._COMMIT_DOCUMENTS": (5_000, "every 5,000 documents"),
        "recall.disk.walks.LAZY": (20, "20 times as long ago as it took"),
        "recall.disk.inside.TICK_NS": (20_000_000, "up to 10 ms apart"),
        "recall.disk.inside.COARSE_NS": (2_000_000_000, "up to 2\nseconds"),
        "recall.disk.keys.KEPT": (4, "the last four verify"),
        "recall.settings.BY_NAME": (None, "`lock_wait_ms` (a second"),
    },
    "capture.md": {
        "recall.core.summary.MOST": (2_000, "At most 2,000 characters."),
    },
    "history.md": {
        "recall.disk.pasttalks.MOST": (8, "The newest 8 conversations"),
        "recall.disk.pasttalks.DAYS": (30, "of the last 30 days"),
        "recall.disk.pasttalks.CHARACTERS": (1_000_000, "the newest million characters"),
        "recall.disk.pasttalks.SECONDS": (2, "not within two seconds"),
        "recall.disk.pasttalks.RECENT_S": (600, "in the last ten minutes"),
        "recall.engine.history.SNIPPETS": (5, "At most five snippets of 300 characters"),
        "recall.engine.history.CHARACTERS": (300, "five snippets of 300 characters"),
        "recall.engine.history.OF_ONE": (3, "three of one conversation"),
        "recall.engine.history.TELLING": (0.5, "half of what a keyword says"),
        "recall.disk.talks.NEWEST": (16 << 20, "its last 16 MB"),
        "recall.disk.talks.MAX_LINE": (1 << 20, "longer than 1 MB"),
    },
    "extract.md": {
        "recall.core.extraction.PORTION": (24_000, "portions of 24,000 characters"),
        "recall.core.extraction.PORTIONS": (20, "the newest twenty"),
        "recall.core.extraction.MESSAGE": (6_000, "more than\n6,000 characters"),
        "recall.core.extraction.AT_ONCE": (5, "At most five memories a portion"),
        "recall.engine.extracting.MOST": (20, "twenty a run"),
        "recall.core.extraction.TEXT": (2_000, "a text of at most 2,000 characters"),
        "recall.remote.llm.VOCABULARY": (8_000, "up to 8,000\ncharacters of keywords"),
    },
    "search-memory.md": {
        "recall.engine.fetch._LONG_REF": (512, "refs of more than 512 characters"),
        "recall.engine.request._MAX_CATEGORIES": (20, "at most 20 | only memories"),
        "recall.core.tree.SHOWN_KEYWORDS": (12, "the 12 that most of them have"),
        "recall.core.question.FUZZY_LENGTH": (5, "words of five letters and more"),
        "recall.engine.relevance.FEW_TERMS": (3, "what a longer\nquestion says"),
    },
    "llm.md": {
        "recall.core.annotation_prompt.BODY_START": (9_000, "the first 9,000"),
        "recall.core.annotation_prompt.BODY_END": (3_000, "the last 3,000"),
        "recall.remote.llm.VOCABULARY": (8_000, "up to 8,000 characters of the"),
        "recall.remote.model.REPLY_TOKENS": (4_000, "(4,000 tokens at most)"),
        "recall.remote.llm.USUAL_REPLY": (200, "with 200 tokens for each reply"),
        "recall.remote.model.LONGEST_WAIT": (60, "(60 s at most)"),
        "recall.remote.chat.MAX_BYTES": (1_000_000, "after 1 MB"),
    },
    "external.md": {
        "recall.core.external.MAX_RESULTS": (5, "and the limit, 5"),
        "recall.core.external.MAX_QUERY": (2_000, "(at most 2,000 characters)"),
        "recall.core.external.MAX_CONTENT": (10_000, "at most 10,000 characters"),
        "recall.faces.elicitation.MAX_MESSAGE": (12_000, "longer\napproval than 12,000"),
        "recall.remote.channel.MAX_BYTES": (1_000_000, "up to 1 MB"),
        "recall.disk.credentials.MIN_KEY": (8, "at least 8 characters"),
        "recall.core.external.PREFIX": ("recall-", "is `recall-` and the first 32"),
    },
    "ranking.md": {
        "recall.core.ranking.SHORT": (4, "it has at most four"),
        "recall.engine.relevance.FEW_TERMS": (3, "questions of more than three terms"),
        "recall.core.question.FUZZY_LENGTH": (5, "words of the question of five letters and more"),
    },
}


@pytest.mark.parametrize("page", FIGURES)
def test_figures_in_sentences_are_the_codes(page: str) -> None:
    """Where a page states a constant in words, the code still has it."""
    text = page_text(page)
    for name, (value, sentence) in FIGURES[page].items():
        assert sentence in text, sentence
        assert value is None or resolve(name) == value, name


# ---------------------------------------------------------------------------------------------
# Links


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    for title in re.findall(r"(?m)^#{1,6} +(.+?)[ \t]*$", prose(text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = 0
        while (name := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(name)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page leads to a file that is there, and to a heading in it."""
    text = page.read_text(encoding="utf-8")
    wrong = []
    bare = re.sub(r"`[^`\n]*`", "", prose(text))
    for target in re.findall(r"\]\(([^)\s]+)\)", bare):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            wrong.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            wrong.append(f"{target}: no such heading")
    assert not wrong


def test_the_index_names_every_page() -> None:
    """docs/README.md links to each page beside it."""
    index = page_text("README.md")
    for page in DOCS.glob("*.md"):
        assert page.name == "README.md" or f"({page.name}" in index, page.name


def test_pages_name_no_place_of_a_machine() -> None:
    """No page holds a path of the machine that it was written on."""
    for page in PAGES:
        assert not re.search(r"(?<![\w~])/(?:tmp|work|root)/", page.read_text(encoding="utf-8")), (
            page.name
        )


def test_modules_that_pages_name_exist() -> None:
    """A dotted name like `recall.app` in a page is a module, or something in one."""
    for page in PAGES:
        for name in set(re.findall(r"`(recall(?:\.\w+)+)`", page.read_text(encoding="utf-8"))):
            if name.split(".")[1] not in ("toml",):
                resolve(name)


def resolve(name: str) -> Any:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)
