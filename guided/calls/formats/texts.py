r"""The texts of a format: blanks, placeholders, and the pattern of all spellings.

**Blanks (spaces, line feeds) are optional**, each one separately; ``{ }`` and ``{\n}`` are a required space and line feed. ``{name}`` and
``{id}`` are replaced by a name and an id; all other characters are literal. Rendered texts contain all blanks.
"""

import re
from functools import lru_cache

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.patterns.tree import Intersect, Literal, Node, alternate, concat, optional

__all__ = ["BLANKS", "any_of", "automaton_of", "ending", "final_blanks", "id_in", "least", "part", "source", "written"]

BLANKS = " \n"
_TOKENS = re.compile(r"\{([ \n]|id|name)\}|([ \n])|([^ \n{]+|\{)")


def written(text: str, name: str = "", id: str = "") -> str:  # noqa: A002 - the placeholder's name
    """Render a text."""
    values = {"name": name, "id": id}
    return "".join(
        values.get(placeholder, placeholder) if placeholder else blank or solid
        for placeholder, blank, solid in _TOKENS.findall(text)
    )


def final_blanks(text: str) -> str:
    """Return the blanks at the end of a text."""
    return text[len(text.rstrip(BLANKS)) :]


def least(text: str) -> str:
    """Return the shortest spelling of a text: without optional blanks, with empty ids and names."""
    return "".join(
        (placeholder if placeholder in BLANKS else "") if placeholder else solid
        for placeholder, _, solid in _TOKENS.findall(text)
    )


@lru_cache(maxsize=4096)
def ending(text: str) -> tuple[str, str]:
    """Split the text after a raw string: what ends the string, up to the first blank that is optional, and the rest."""
    text = text.lstrip(BLANKS)
    found = ""
    for match in _TOKENS.finditer(text):
        placeholder, blank, solid = match.groups()
        if blank:
            return found, text[match.start() :]
        found += (placeholder if placeholder in BLANKS else "") if placeholder else solid
    return found, ""


@lru_cache(maxsize=4096)
def part(text: str, id_pattern: str = "") -> Node:
    """Return the pattern of all spellings of a text."""
    items: list[Node] = []
    solid = ""
    for placeholder, blank, found in _TOKENS.findall(text):
        if placeholder == "id" or blank:
            # Why Intersect: the pattern of ids must see only the id.
            node = Intersect((parse(id_pattern),)) if placeholder else optional(Literal(blank))
            items.extend((Literal(solid), node))
            solid = ""
        else:
            solid += placeholder or found
    return concat([*items, Literal(solid)])


def source(texts: tuple[str, ...], id_pattern: str = "") -> str:
    """Return a regular expression of all spellings of several texts."""
    return "|".join(_source(text, id_pattern, "(?:{})") for text in texts)


def _source(text: str, id_pattern: str, group: str) -> str:
    return "".join(
        group.format(id_pattern) if placeholder == "id" else f"{blank}?" if blank else re.escape(placeholder or solid)
        for placeholder, blank, solid in _TOKENS.findall(text)
    )


@lru_cache(maxsize=4096)
def any_of(texts: tuple[str, ...], id_pattern: str = "") -> Node:
    """Return the pattern of all spellings of several texts."""
    return alternate(part(text, id_pattern) for text in texts)


@lru_cache(maxsize=1024)
def automaton_of(node: Node) -> Automaton:
    """Return the automaton of a pattern."""
    return from_tree(node, Limits())


def id_in(texts: tuple[str, ...], id_pattern: str, found: str) -> str | None:
    """Return the id in a spelling of one of some texts, if it has one."""
    for text in texts:
        if "{id}" in text:
            match = _with_id(text, id_pattern).fullmatch(found)
            if match is not None:
                return match["id"]
    return None


@lru_cache(maxsize=256)
def _with_id(text: str, id_pattern: str) -> re.Pattern[str]:
    return re.compile(_source(text, id_pattern, "(?P<id>{})"), re.DOTALL)
