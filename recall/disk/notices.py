"""What the log `recall.cache` is told. `logging` is a slow import that few processes need."""

from __future__ import annotations


def warn(text: str, *values: object) -> None:
    """Log a warning; `values` fill in `text` as in logging."""
    import logging

    logging.getLogger("recall.cache").warning(text, *values)
