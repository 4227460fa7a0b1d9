"""The figures that recall answers for, each measured beside a named baseline in the same run."""
