"""Run the command line with `python -m goalsets`."""

from goalsets.cli import main

if __name__ == "__main__":
    main()
