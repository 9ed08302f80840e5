"""Tests of the grammars that come with the package."""
