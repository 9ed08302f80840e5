"""Repairing a name after the fact: the baselines that match what the model wrote against the inventory.

*suffix* is the paper's and ToolEval's: the first name that ends with what was written; an empty name matches every one, several may
match, and both are told. *ratio* takes the name that is most alike by the matching blocks of Python's `difflib`, always one.
"""

import difflib
from collections.abc import Callable, Sequence

__all__ = ["MATCHES", "by_ratio", "by_suffix", "is_ambiguous", "renamed"]


def by_suffix(name: str, names: Sequence[str]) -> str:
    """The first name that ends with this one; the name itself where none does."""
    return name if name in names else next((known for known in names if known.endswith(name)), name)


def is_ambiguous(name: str, names: Sequence[str]) -> bool:
    """Do several names end with this one, which is none of them?"""
    return name not in names and sum(known.endswith(name) for known in names) > 1


def by_ratio(name: str, names: Sequence[str]) -> str:
    """The most alike name, the first among equals."""
    if name in names:
        return name
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(name)
    scores = []
    for known in names:
        matcher.set_seq1(known)
        scores.append(matcher.ratio())
    return names[scores.index(max(scores))]


MATCHES: dict[str, Callable[[str, Sequence[str]], str]] = {"suffix match": by_suffix, "edit ratio": by_ratio}


def renamed(line: str, names: Sequence[str], match: Callable[[str, Sequence[str]], str]) -> str:
    """A written call with its name, all before the first parenthesis, matched."""
    name, parenthesis, rest = line.partition("(")
    blank = name[: len(name) - len(name.lstrip())]
    return blank + match(name.strip(), names) + parenthesis + rest
