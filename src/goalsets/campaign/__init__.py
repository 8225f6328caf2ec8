"""Our own results: what is trained for them, and the pages that show it. See `make results`."""
