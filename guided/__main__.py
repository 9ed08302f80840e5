"""``python -m guided``: the command line."""

from guided.cli import main

if __name__ == "__main__":
    main()
