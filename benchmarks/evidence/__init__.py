"""Measured figures as records, and the page that is made of them: see docs/evidence.md."""
