"""Times and sizes as a corpus grows, each beside a bare loop over the same files."""
