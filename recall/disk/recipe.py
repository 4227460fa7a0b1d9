"""What a question asks of the text index: which terms of which fields, at which weights.

The weights were chosen on one half of eight labelled sets and checked on the other
(docs/ranking.md): each stands in the middle of a range over which nothing changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import tantivy
from tantivy import Occur, Query

from recall.core.analysis import normalize
from recall.core.question import FUZZY_LENGTH, Question

PLAIN, NAMES, NAME_GRAMS, DATES, PAIRS = 0.25, 0.3, 0.5, 2.0, 0.3
"""Weights beside `text` and `grams`, which have 1."""
MARKS, PARTS, EXACT = 2.0, 0.5, 3.0
MAX_TERMS = 32
"""Of a long question the rarest terms count: more of them cost time and find nothing else."""


class Recipe:
    """One question as queries over one state of the index."""

    def __init__(
        self,
        question: Question,
        schema: tantivy.Schema,
        searcher: tantivy.Searcher,
        analyzers: Mapping[str, tantivy.TextAnalyzer],
    ) -> None:
        self._question = question
        self._schema = schema
        self._searcher = searcher
        self._analyzers = analyzers

    def terms(self) -> Query | None:
        """Return the query for any of the terms; a question of function words needs all."""
        question = self._question
        if question.weak:
            return self.all_words()
        stems = self._rarest("text", self._stems(question.words))
        clauses = [self._term("text", stem) for stem in stems]
        clauses += [self._term("names", stem, NAMES) for stem in stems]
        plain = self._rarest("plain", self._plain(question.words))
        clauses += [self._term("plain", word, PLAIN) for word in plain]
        pairs = self._rarest("grams", question.grams)
        clauses += [self._term("grams", gram) for gram in pairs]
        clauses += [self._term("name_grams", gram, NAME_GRAMS) for gram in pairs]
        clauses += [self._term("marks", mark, MARKS) for mark in question.symbols]
        for parts in question.parts:
            # Side by side only: single parts are words of other things.
            phrase = self._phrase("text", self._stems(parts, unique=False))
            if phrase is not None:
                clauses.append(Query.boost_query(phrase, PARTS))
        clauses += [self._term("dates", date, DATES) for date in question.dates]
        if clauses:
            clauses.append(self._term("exact", exact_term(question.text), EXACT))
        return any_of(clauses) if clauses else None

    def all_words(self) -> Query | None:
        """Return the query for all of the terms, wherever they stand."""
        question = self._question
        clauses = [self._term("text", stem) for stem in self._stems(question.words)]
        clauses += [self._term("grams", gram) for gram in question.grams]
        clauses += [self._term("marks", mark) for mark in question.symbols]
        return Query.boolean_query([(Occur.Must, c) for c in clauses]) if clauses else None

    def phrase(self) -> Query | None:
        """Return the query for the whole question, word after word."""
        words = self._stems(self._question.phrase, unique=False)
        runs = self._question.grams
        clauses = [self._phrase("text", words), self._phrase("grams", runs)]
        found = [clause for clause in clauses if clause is not None]
        return any_of(found) if found else None

    def pairs(self) -> list[Query]:
        """Return the queries for neighbouring words, weighted."""
        out = []
        for pair in self._question.pairs[:MAX_TERMS]:
            query = self._phrase("text", self._stems(pair, unique=False))
            if query is not None:
                out.append(Query.boost_query(query, PAIRS))
        return out

    def near(self) -> Query | None:
        """Return the query for words one typo away from the long words; None without any."""
        words = [w for w in self._plain(self._question.words) if len(w) >= FUZZY_LENGTH]
        near = [Query.fuzzy_term_query(self._schema, "plain", word, distance=1) for word in words]
        return any_of(near) if near else None

    def rarity(self) -> dict[str, float]:
        """Return the idf of each word, symbol and gram of the question."""
        out = {}
        for word in self._question.words:
            stems = self._stems([word])
            out[word] = max((self._idf("text", stem) for stem in stems), default=0.0)
        out |= {mark: self._idf("marks", mark) for mark in self._question.symbols}
        return out | {gram: self._idf("grams", gram) for gram in self._question.grams}

    def _idf(self, field: str, term: str) -> float:
        total, found = self._searcher.num_docs, self._searcher.doc_freq(field, term)
        return math.log(1 + (max(0, total - found) + 0.5) / (found + 0.5))

    def _rarest(self, field: str, terms: Sequence[str]) -> list[str]:
        if len(terms) <= MAX_TERMS:
            return list(terms)
        return sorted(terms, key=lambda term: self._searcher.doc_freq(field, term))[:MAX_TERMS]

    def _stems(self, words: Iterable[str], *, unique: bool = True) -> list[str]:
        found = [t for word in words for t in self._analyzers["stems"].analyze(word)]
        return list(dict.fromkeys(found)) if unique else found

    def _plain(self, words: Iterable[str]) -> list[str]:
        return [t for word in words for t in self._analyzers["words"].analyze(word)]

    def _term(self, field: str, text: str, boost: float = 1.0) -> Query:
        query = Query.term_query(self._schema, field, text, index_option="freq")
        return query if boost == 1.0 else Query.boost_query(query, boost)

    def _phrase(self, field: str, words: Sequence[str]) -> Query | None:
        return Query.phrase_query(self._schema, field, list(words)) if len(words) > 1 else None


def exact_term(text: str) -> str:
    """Return a title or a keyword as the one term that an equal question finds."""
    return " ".join(normalize(text).lower().split())[:200]


def any_of(clauses: Sequence[Query]) -> Query:
    """Return a query for any of the clauses."""
    if len(clauses) == 1:
        return clauses[0]
    return Query.boolean_query([(Occur.Should, clause) for clause in clauses])
