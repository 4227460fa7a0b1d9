"""The text index: everything that tantivy knows of memories stays behind this class.

A document is one content of one file, named by its key. Fields: `text` (all of it, and the parts
of camelCase words; stemmed, with positions for phrases), `plain` (all of it, words as written),
`names` (title, file name, keywords that the body does not hold), `grams` and `name_grams`
(character pairs of scripts without spaces), `marks` (`c++`, `.env`), `dates`, `exact` (the title
and each keyword as one term). What a question makes of them is `disk/recipe.py`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any

import tantivy
from tantivy import Filter, Occur, Query, TextAnalyzerBuilder, Tokenizer

from recall.core.analysis import camel_parts, grams, holds, normalize, symbols, without_runs
from recall.core.dates import memory_dates, question_dates
from recall.core.question import Question
from recall.disk.recipe import Recipe, any_of, exact_term
from recall.tuples import NamedTuple

_MAX_TERM_BYTES = 256
"""Longer runs of letters and digits are data, not words; a SHA-512 in hex has 128."""
_SMALL_HEAP = 15_000_000
_BULK_HEAP = 40_000_000
_BULK_DOCUMENTS = 200
_MAX_SEGMENTS = 7
"""tantivy begins to merge at eight small segments: a merge that nobody waits for is lost work."""
_DELETE_BATCH = 500

_FIELDS = (
    ("text", "stems", "position"),
    ("plain", "words", "freq"),
    ("names", "stems", "freq"),
    ("grams", "spaced", "position"),
    ("name_grams", "spaced", "freq"),
    ("marks", "spaced", "freq"),
    ("dates", "spaced", "basic"),
    ("exact", "raw", "basic"),
)


class Document(NamedTuple):
    """What is indexed of one memory; texts whole, as read."""

    key: int
    scope: str
    category: str
    names: tuple[str, ...]
    """What it is called: title, the file's name."""
    keywords: tuple[str, ...]
    about: str
    """Description, usage scenarios, tags, the category as written, the folders of its path."""
    exact: tuple[str, ...]
    """The title and each keyword: a question that equals one of them finds it first."""
    dated: str
    """The head's own dates."""
    body: str


class Hit(NamedTuple):
    key: int
    score: float


def _analyzer(tokenizer: Tokenizer, *filters: Any) -> tantivy.TextAnalyzer:
    builder = TextAnalyzerBuilder(tokenizer)
    for one in (Filter.remove_long(_MAX_TERM_BYTES), Filter.lowercase(), *filters):
        builder = builder.filter(one)
    return builder.build()


def _analyzers() -> dict[str, tantivy.TextAnalyzer]:
    return {
        "words": _analyzer(Tokenizer.simple(), Filter.ascii_fold()),
        "stems": _analyzer(Tokenizer.simple(), Filter.ascii_fold(), Filter.stemmer("english")),
        "spaced": _analyzer(Tokenizer.whitespace()),
    }


@lru_cache(maxsize=1)
def _stemmer() -> tantivy.TextAnalyzer:
    return _analyzers()["stems"]


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the word as the stemmed fields hold it; empty if they hold nothing of it."""
    return "".join(_stemmer().analyze(word)[:1])


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("key", indexed=True, fast=True)
    for name in ("scope", "category"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name, analyzer, option in _FIELDS:
        builder.add_text_field(name, tokenizer_name=analyzer, index_option=option)
    return builder.build()


class TextIndex:
    """One index on disk. Any number of processes read; one at a time writes."""

    def __init__(self, folder: str) -> None:
        """Open or create the index. Raises OSError or ValueError where it is unusable."""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._schema = _schema()
        self._index = tantivy.Index(self._schema, path=folder)
        self._analyzers = _analyzers()
        for name, analyzer in self._analyzers.items():
            self._index.register_tokenizer(name, analyzer)
        self._index.config_reader(reload_policy="Manual")
        self._searcher = self._index.searcher()

    def reload(self) -> None:
        """See what other processes have committed since."""
        self._index.reload()
        self._searcher = self._index.searcher()

    @property
    def documents(self) -> int:
        return int(self._searcher.num_docs)

    def writer(self, expected: int) -> IndexWriter:
        """Return a writer; `expected` documents decide its memory and threads.

        The caller holds the index's lock: a second writer can't be opened.
        """
        bulk = expected > _BULK_DOCUMENTS
        heap, threads = (_BULK_HEAP, 2) if bulk else (_SMALL_HEAP, 1)
        return IndexWriter(self, self._schema, self._index.writer(heap, threads))

    @property
    def segments(self) -> int:
        return int(self._searcher.num_segments)

    # --- reading

    def find(
        self,
        questions: Sequence[Question],
        *,
        scopes: Collection[str] = (),
        categories: Collection[str] = (),
        limit: int = 50,
        fuzzy: bool = False,
    ) -> list[Hit]:
        """Return the best documents for any of the questions, best first.

        `fuzzy`: documents with a word one typo away from a word of five letters or more.
        """
        recipes = [self._recipe(question) for question in questions]
        wanted = [r.near() if fuzzy else r.terms() for r in recipes]
        should = [query for query in wanted if query is not None]
        if not should:
            return []
        hits = self._run(self._filtered(any_of(should), scopes, categories), limit)
        pairs = [] if fuzzy else [pair for recipe in recipes for pair in recipe.pairs()]
        return self._with_pairs(hits, pairs)

    def probe(self, question: Question, keys: Collection[int], how: str) -> dict[int, float]:
        """Return which of `keys` match the question, with scores.

        `how`: `any` term, `all` of its words, the `phrase`, or `fuzzy` (see `find`).
        """
        recipe = self._recipe(question)
        query = {
            "any": recipe.terms,
            "all": recipe.all_words,
            "phrase": recipe.phrase,
            "fuzzy": recipe.near,
        }[how]()
        if query is None or not keys:
            return {}
        both = Query.boolean_query([(Occur.Must, self._among(keys)), (Occur.Must, query)])
        return {hit.key: hit.score for hit in self._run(both, len(keys))}

    def rarity(self, question: Question) -> dict[str, float]:
        """Return how much each of the question's words and grams tells: BM25's idf."""
        return self._recipe(question).rarity()

    def _recipe(self, question: Question) -> Recipe:
        return Recipe(question, self._schema, self._searcher, self._analyzers)

    def _run(self, query: Query, limit: int) -> list[Hit]:
        found = self._searcher.search(query, limit=limit, count=False).hits
        keys = self._searcher.fast_field_values("key", [address for _, address in found])
        return [
            Hit(int(key or 0), float(score)) for (score, _), key in zip(found, keys, strict=True)
        ]

    def _with_pairs(self, hits: list[Hit], pairs: Sequence[Query]) -> list[Hit]:
        """Add what neighbouring words of the questions are worth as phrases, to the hits only.

        One optional clause a level: any other clause than a term beside others makes tantivy
        score every document, ten times as slow at 100,000 documents.
        """
        if not hits or not pairs:
            return hits
        query = self._among([hit.key for hit in hits])
        for pair in pairs:
            query = Query.boolean_query([(Occur.Must, query), (Occur.Should, pair)])
        more = {hit.key: hit.score for hit in self._run(query, len(hits))}
        scored = [Hit(hit.key, hit.score + more.get(hit.key, 0.0)) for hit in hits]
        return sorted(scored, key=lambda hit: -hit.score)

    def _among(self, keys: Iterable[int]) -> Query:
        """Match these documents, each with score 0 (an OR of terms: faster than a term set)."""
        terms = [Query.term_query(self._schema, "key", key) for key in keys]
        return Query.const_score_query(any_of(terms), 0.0)

    def _filtered(
        self, query: Query, scopes: Collection[str], categories: Collection[str]
    ) -> Query:
        clauses = [(Occur.Must, query)]
        for field, values in (("scope", scopes), ("category", categories)):
            if values:
                terms = [Query.term_query(self._schema, field, value) for value in values]
                clauses.append((Occur.Must, Query.const_score_query(any_of(terms), 0.0)))
        return Query.boolean_query(clauses) if len(clauses) > 1 else query


class IndexWriter:
    """Writes documents; a key written again replaces its document, so repeating is harmless."""

    def __init__(
        self, index: TextIndex, schema: tantivy.Schema, writer: tantivy.IndexWriter
    ) -> None:
        self._index = index
        self._schema = schema
        self._writer: tantivy.IndexWriter | None = writer
        self._empty = index.documents == 0

    def write(self, documents: Sequence[Document], gone: Iterable[int] = ()) -> None:
        """Queue documents, and the keys whose documents go. Raises ValueError once closed."""
        writer = self._open()
        keys = [*gone, *(() if self._empty else (document.key for document in documents))]
        for start in range(0, len(keys), _DELETE_BATCH):
            batch = keys[start : start + _DELETE_BATCH]
            # By query: delete_documents_by_term takes a number for a signed one and finds nothing.
            terms = [Query.term_query(self._schema, "key", key) for key in batch]
            writer.delete_documents_by_query(any_of(terms))
        for document in documents:
            writer.add_document(_to_tantivy(document))

    def commit(self) -> None:
        """Make what was queued durable, and visible to whoever reloads."""
        self._open().commit()
        self._index.reload()

    def close(self) -> None:
        """Let go of the writer; many small segments are merged first (tenths of a second)."""
        writer, self._writer = self._writer, None
        if writer is not None and self._index.segments > _MAX_SEGMENTS:
            writer.wait_merging_threads()
            self._index.reload()

    def _open(self) -> tantivy.IndexWriter:
        if self._writer is None:
            raise ValueError("the index writer is closed")
        return self._writer


def _to_tantivy(document: Document) -> tantivy.Document:
    body = normalize(document.body)
    said, unsaid = _said(document.keywords, body)
    names = normalize("\n".join((*document.names, *unsaid)))
    whole = "\n".join((names, normalize(document.about), *said, body))
    words = f"{without_runs(whole)}\n{camel_parts(whole)}"
    out = tantivy.Document()
    out.add_unsigned("key", document.key)
    out.add_text("scope", document.scope)
    out.add_text("category", document.category)
    out.add_text("text", words)
    out.add_text("plain", words)
    out.add_text("names", without_runs(names))
    pairs = grams(whole)
    if pairs:
        out.add_text("grams", pairs)
        out.add_text("name_grams", grams(names))
    marks = symbols(whole)
    if marks:
        out.add_text("marks", " ".join(marks))
    dates = (*question_dates(document.dated), *memory_dates(whole))
    if dates:
        out.add_text("dates", " ".join(dict.fromkeys(dates)))
    for one in document.exact:
        out.add_text("exact", exact_term(one))
    return out


def _said(keywords: Sequence[str], body: str) -> tuple[list[str], list[str]]:
    """Return the keywords that the body holds already, and the others.

    A word of the body that is made a keyword is in the text once more, and that is enough: as a
    name too, it outweighs what people ask for by other words (docs/ranking.md).
    """
    found: tuple[list[str], list[str]] = ([], [])
    lower = body.lower() if keywords else ""
    for keyword in map(normalize, keywords):
        found[not holds(lower, keyword.lower())].append(keyword)
    return found
