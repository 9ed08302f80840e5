"""The command line: ``guided run | check | explain | warmup | demo``."""

from guided.cli.app import main

__all__ = ["main"]
