"""Retrieval quality: recall's search beside bm25s over the labelled sets, in one run."""
