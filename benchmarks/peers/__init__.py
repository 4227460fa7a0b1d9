"""Speed beside peers: recall, ripgrep, basic-memory and reme-ai on one corpus, in one run."""
