"""Sessions of fifty labelled questions: what enters the context, and whether the evidence does."""
