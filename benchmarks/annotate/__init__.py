"""How good the heuristic annotator's metadata is: against people's own, and for searching."""
