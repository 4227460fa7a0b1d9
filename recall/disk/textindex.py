"""The text index: everything that tantivy knows of memories stays behind this class.

A document is one content of one file, named by its key. Fields: `text` (all of it, stemmed),
`plain` (all of it, words as written, for phrases), `title`, `about` (description, keywords,
usage scenarios), `grams` and `title_grams` (character pairs of unspaced scripts), `marks`
(identifiers whole and in parts), `exact` (the title and each keyword as one term).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import tantivy
from tantivy import Filter, Occur, Query, TextAnalyzerBuilder, Tokenizer

from recall.core.analysis import grams, identifier_terms, normalize, without_runs
from recall.core.question import Question

VERSION = 1
_MAX_TERM_BYTES = 64
_SMALL_HEAP = 15_000_000
_BULK_HEAP = 80_000_000
_BULK_DOCUMENTS = 200
_MAX_SEGMENTS = 12

_WORD_FIELDS = ("plain", "text", "title", "about")
_SPACED_FIELDS = ("grams", "title_grams", "marks", "exact")


class Document(NamedTuple):
    """What is indexed of one memory; texts whole, as read."""

    key: int
    scope: str
    category: str
    title: str
    about: str
    """Description, keywords, usage scenarios, the category path and the file's path."""
    exact: tuple[str, ...]
    """The title and each keyword: a question that equals one of them finds it first."""
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


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("key", indexed=True, fast=True)
    for name in ("scope", "category"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("text", tokenizer_name="stems", index_option="freq")
    builder.add_text_field("plain", tokenizer_name="words", index_option="position")
    builder.add_text_field("title", tokenizer_name="stems", index_option="freq")
    builder.add_text_field("about", tokenizer_name="stems", index_option="freq")
    builder.add_text_field("grams", tokenizer_name="spaced", index_option="position")
    builder.add_text_field("title_grams", tokenizer_name="spaced", index_option="freq")
    builder.add_text_field("marks", tokenizer_name="spaced", index_option="position")
    builder.add_text_field("exact", tokenizer_name="raw", index_option="basic")
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
        return IndexWriter(self, self._index.writer(heap_size=heap, num_threads=threads))

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
        how = self._fuzzy if fuzzy else self._any_of
        should = [q for question in questions if (q := how(question)) is not None]
        if not should:
            return []
        query = self._filtered(_or(should), scopes, categories)
        return self._run(query, limit)

    def probe(self, question: Question, keys: Collection[int], how: str) -> dict[int, float]:
        """Return which of `keys` match the question, with scores.

        `how`: `any` term, `all` terms, the `phrase`, or `fuzzy` (one typo in a long word).
        """
        query = {
            "any": self._any_of,
            "all": self._all_of,
            "phrase": self._phrase,
            "fuzzy": self._fuzzy,
        }[how](question)
        if query is None or not keys:
            return {}
        wanted = Query.term_set_query(self._schema, "key", list(keys))
        query = Query.boolean_query(
            [(Occur.Must, Query.const_score_query(wanted, 0.0)), (Occur.Must, query)]
        )
        return {hit.key: hit.score for hit in self._run(query, len(keys))}

    def stem(self, word: str) -> str:
        """Return the word as the stemmed fields hold it; empty if they hold nothing of it."""
        return "".join(self._analyzers["stems"].analyze(word)[:1])

    def _run(self, query: Query, limit: int) -> list[Hit]:
        found = self._searcher.search(query, limit=limit, count=False).hits
        keys = self._searcher.fast_field_values("key", [address for _, address in found])
        return [
            Hit(int(key or 0), float(score)) for (score, _), key in zip(found, keys, strict=True)
        ]

    def _filtered(
        self, query: Query, scopes: Collection[str], categories: Collection[str]
    ) -> Query:
        clauses = [(Occur.Must, query)]
        for field, values in (("scope", scopes), ("category", categories)):
            if values:
                one_of = Query.term_set_query(self._schema, field, list(values))
                clauses.append((Occur.Must, Query.const_score_query(one_of, 0.0)))
        return Query.boolean_query(clauses) if len(clauses) > 1 else query

    def _term(self, field: str, text: str, boost: float = 1.0) -> Query:
        query = Query.term_query(self._schema, field, text, index_option="freq")
        return query if boost == 1.0 else Query.boost_query(query, boost)

    def _plain_terms(self, words: Iterable[str]) -> list[str]:
        return [t for word in words for t in self._analyzers["words"].analyze(word)]

    def _stem_terms(self, words: Iterable[str]) -> list[str]:
        return [t for word in words for t in self._analyzers["stems"].analyze(word)]

    def _any_of(self, question: Question) -> Query | None:
        clauses: list[Query] = []
        for stem in dict.fromkeys(self._stem_terms(question.words)):
            clauses.append(self._term("text", stem))
            clauses.append(self._term("title", stem, 0.5))
            clauses.append(self._term("about", stem, 0.3))
        for plain in dict.fromkeys(self._plain_terms(question.words)):
            clauses.append(self._term("plain", plain, 0.5))
        for gram in question.grams:
            clauses.append(self._term("grams", gram))
            clauses.append(self._term("title_grams", gram, 0.5))
        for mark in question.symbols:
            clauses.append(self._term("marks", mark, 2.0))
        for part in question.parts:
            clauses.append(self._term("marks", part, 0.5))
        clauses.append(self._term("exact", exact_term(question.text), 3.0))
        phrase = self._phrase(question)
        if phrase is not None:
            clauses.append(Query.boost_query(phrase, 0.5))
        return _or(clauses)

    def _all_of(self, question: Question) -> Query | None:
        clauses = [self._term("text", stem) for stem in self._stem_terms(question.words)]
        clauses += [self._term("grams", gram) for gram in question.grams]
        clauses += [self._term("marks", mark) for mark in question.symbols]
        return Query.boolean_query([(Occur.Must, c) for c in clauses]) if clauses else None

    def _phrase(self, question: Question) -> Query | None:
        clauses: list[Query] = []
        words = self._plain_terms(question.phrase)
        if len(words) > 1:
            clauses.append(Query.phrase_query(self._schema, "plain", list(words)))
        if len(question.grams) > 1:
            clauses.append(Query.phrase_query(self._schema, "grams", list(question.grams)))
        return _or(clauses) if clauses else None

    def _fuzzy(self, question: Question) -> Query | None:
        words = [w for w in self._plain_terms(question.words) if len(w) >= 5]
        if not words:
            return None
        return _or(
            [
                Query.fuzzy_term_query(self._schema, field, word, distance=1)
                for word in words
                for field in ("plain", "title")
            ]
        )


class IndexWriter:
    """Writes documents; a key written again replaces its document, so repeating is harmless."""

    def __init__(self, index: TextIndex, writer: tantivy.IndexWriter) -> None:
        self._index = index
        self._writer = writer
        self._empty = index.documents == 0

    def write(self, documents: Iterable[Document], gone: Iterable[int] = ()) -> None:
        for key in gone:
            self._writer.delete_documents_by_term("key", key)
        for document in documents:
            if not self._empty:
                self._writer.delete_documents_by_term("key", document.key)
            self._writer.add_document(_to_tantivy(document))

    def commit(self) -> None:
        self._writer.commit()
        self._index.reload()

    def close(self) -> None:
        """Let go of the writer; many small segments are merged first (tenths of a second)."""
        if self._index.segments > _MAX_SEGMENTS:
            self._writer.wait_merging_threads()
            self._index.reload()


def exact_term(text: str) -> str:
    """Return a title or a keyword as the one term that an equal question finds."""
    return " ".join(normalize(text).lower().split())[:200]


def _or(clauses: Sequence[Query]) -> Query:
    if len(clauses) == 1:
        return clauses[0]
    return Query.boolean_query([(Occur.Should, clause) for clause in clauses])


def _to_tantivy(document: Document) -> tantivy.Document:
    title = normalize(document.title)
    about = normalize(document.about)
    whole = f"{title}\n{about}\n{normalize(document.body)}"
    words = without_runs(whole)
    out = tantivy.Document()
    out.add_unsigned("key", document.key)
    out.add_text("scope", document.scope)
    out.add_text("category", document.category)
    out.add_text("text", words)
    out.add_text("plain", words)
    out.add_text("title", without_runs(title))
    out.add_text("about", without_runs(about))
    pairs = grams(whole)
    if pairs:
        out.add_text("grams", pairs)
        out.add_text("title_grams", grams(title))
    marks = identifier_terms(whole)
    if marks:
        out.add_text("marks", marks)
    for one in document.exact:
        out.add_text("exact", exact_term(one))
    return out
