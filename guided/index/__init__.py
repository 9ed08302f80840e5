"""Automaton x token trie -> transition tables as plain data."""
