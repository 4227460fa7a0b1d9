"""Placeholder."""
COMMANDS: tuple = ()
