"""The command line: ``guided demo | run | compile | inspect | check | explain | schema | vocabulary | warmup``."""

from guided.cli.app import main

__all__ = ["main"]
