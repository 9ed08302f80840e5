"""Letters: what the parser is fed, with what the lexer then still owes, as far as the difference matters.

Behind a lexeme stands a control (`guided.lalr.lexemes`). Two controls behind which, in every context in which they can occur, the same
terminals with equal controls can follow are of one *class*: the coarsest such partition (bisimulation). A *letter* is a terminal with
the class control it; ``after`` says which letters may come in a context behind a class, text that is ignored left out. The letters of
a lexically harmless grammar are its terminals.

What an Indenter adds is left out: no letters are made for its grammars.

Controls that cannot occur may be among the explored, since a context is taken to follow a terminal wherever some state has both.
"""

from dataclasses import dataclass

from guided.automata.steps import Steps
from guided.lalr.items import Items
from guided.lalr.lexemes import Control, Lexemes, Outcomes
from guided.lalr.tables import LalrTables

__all__ = ["Letters", "letters_of"]

_STEP_COST = 50
_TOO_MANY = "its terminals leave too much open"


@dataclass(frozen=True, slots=True, eq=False)
class Letters:
    """The letters of a grammar.

    Attributes
    ----------
    terminals : tuple of int
        Terminal of each letter; the last letter is ``$END``.
    classes : tuple of int
        The class control each letter; that behind ``$END`` is -1.
    number : dict of (int, int) to int
        Letter of a terminal and a class.
    class_of : dict of Control to int
    after : dict of (int, int) to int
        By context and class: the letters that may come, as bits.
    ignored : int
        The label of text that is ignored.
    """

    terminals: tuple[int, ...]
    classes: tuple[int, ...]
    number: dict[tuple[int, int], int]
    class_of: dict[Control, int]
    after: dict[tuple[int, int], int]
    ignored: int

    def of(self, outcomes: Outcomes, context: int) -> int:
        """The letters that outcomes come to in a context, as bits."""
        found = outcomes.can_end << (len(self.terminals) - 1)
        for label, control in outcomes.lexemes:
            if label == self.ignored:
                found |= self.after.get((context, self.class_of[control]), 0)
            else:
                found |= 1 << self.number[label, self.class_of[control]]
        return found


# In a context, control a control: terminals with controls, and may the text end?
_Followers = tuple[frozenset[tuple[int, Control]], bool]


def letters_of(tables: LalrTables, items: Items, lexemes: Lexemes, first: tuple[int, Control], steps: Steps) -> Letters:
    """The letters that texts are made of.

    Parameters
    ----------
    first : (int, Control)
        Context and control at the begin of a text.

    Raises
    ------
    LimitError
        ``steps`` is passed.
    """
    followers = _explored(tables, items, lexemes, first, steps)
    class_of = _classes(followers, steps)
    letters: dict[tuple[int, int], int] = {}
    for pairs, _ in followers.values():
        for terminal, control in sorted(pairs, key=_order):
            letters.setdefault((terminal, class_of[control]), len(letters))
    end = len(letters)
    after: dict[tuple[int, int], int] = {}
    for (context, control), (found, can_end) in followers.items():
        bits = sum(1 << letter for letter in {letters[terminal, class_of[one]] for terminal, one in found})
        after[context, class_of[control]] = bits | can_end << end
    letters[tables.end, -1] = end
    return Letters(
        tuple(terminal for terminal, _ in letters),
        tuple(number for _, number in letters),
        letters,
        class_of,
        after,
        len(tables.lexer.terminals),
    )


def _explored(
    tables: LalrTables, items: Items, lexemes: Lexemes, first: tuple[int, Control], steps: Steps
) -> dict[tuple[int, Control], _Followers]:
    """Followers of all that is reached, text that is ignored passed over."""
    ignored = len(tables.lexer.terminals)
    contexts: list[set[int]] = [set() for _ in tables.symbols]
    for state in items.states:
        if items.reached_by[state] >= 0:
            contexts[items.reached_by[state]].add(int(tables.context[state]))
    passed: dict[tuple[int, Control], list[Control]] = {}
    work = [first]
    while work:
        key = work.pop()
        if key in passed:
            continue
        pairs = lexemes.begun(*key).lexemes
        passed[key] = [control for label, control in pairs if label == ignored]
        steps.spend(_STEP_COST * (1 + len(pairs)), _TOO_MANY)
        work += [(key[0], control) for control in passed[key]]
        work += [(context, control) for label, control in pairs if label != ignored for context in contexts[label]]
    followers: dict[tuple[int, Control], _Followers] = {}
    for context, control in passed:
        seen, stack = {control}, [control]
        while stack:
            for one in passed[context, stack.pop()]:
                if one not in seen:
                    seen.add(one)
                    stack.append(one)
        outcomes = [lexemes.begun(context, one) for one in seen]
        found = frozenset(pair for one in outcomes for pair in one.lexemes if pair[0] != ignored)
        steps.spend(_STEP_COST * (len(seen) + len(found)), _TOO_MANY)
        followers[context, control] = found, any(one.can_end for one in outcomes)
    return followers


def _classes(followers: dict[tuple[int, Control], _Followers], steps: Steps) -> dict[Control, int]:
    """The coarsest classes whose members have the same followers up to classes."""
    of: dict[Control, list[tuple[int, _Followers]]] = {}
    for (context, control), found in followers.items():
        of.setdefault(control, []).append((context, found))
    for pairs, _ in followers.values():
        for _, one in pairs:
            of.setdefault(one, [])
    class_of = dict.fromkeys(of, 0)
    n_classes = 1
    while True:
        numbers: dict[object, int] = {}
        refined = {}
        for control, said in of.items():
            steps.spend(_STEP_COST * (1 + sum(len(found) for _, (found, _) in said)), _TOO_MANY)
            signature = frozenset(
                (context, frozenset((terminal, class_of[one]) for terminal, one in found), can_end)
                for context, (found, can_end) in said
            )
            refined[control] = numbers.setdefault((class_of[control], signature), len(numbers))
        class_of = refined
        if len(numbers) == n_classes:
            return class_of
        n_classes = len(numbers)


def _order(pair: tuple[int, Control]) -> tuple[object, ...]:
    terminal, (left, watchers, rest, is_end) = pair
    return terminal, left, sorted(watchers), rest, is_end
