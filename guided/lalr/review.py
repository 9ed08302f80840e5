"""`review`: findings about a grammar for its author, each with a short example if one is found within a budget.

- *conflict*: Lark silently chose one of several actions;
- *unproductive*: the parser expects a rule or terminal that derives no text;
- *dead end*: after some terminals that Lark's parser accepts, nothing can follow;
- *lookahead*: a terminal's lookahead excludes every occurrence of a terminal that the parser expects after it;
- *doubt*: neither proof nor search rules out dead ends.

Complexity: a search for each finding (`guided.lalr.examples`), `_CONFIGURATIONS_TRIED` stacks for dead ends; O(terminals that look ahead x
states) for lookaheads.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from guided.errors import LimitError
from guided.lalr.deadends import DeadEnds
from guided.lalr.examples import Example, Examples
from guided.lalr.indents import NO_NEWLINE
from guided.lalr.lexemes import Control, Lexemes
from guided.lalr.machine import LalrMachine
from guided.lalr.prefix_position import PrefixPositions
from guided.lalr.tables import LalrTables

__all__ = ["Finding", "review"]

# Maximum number of configurations searched for a dead end.
_CONFIGURATIONS_TRIED = 500


class Finding(NamedTuple):
    """A finding.

    Attributes
    ----------
    kind : {"conflict", "unproductive", "dead end", "lookahead", "doubt"}
    note : str
    example : Example or None
        Text that leads to it.
    """

    kind: str
    note: str
    example: Example | None


def review(machine: LalrMachine, positions: PrefixPositions) -> list[Finding]:
    """Return all findings about the grammar of an automaton and its positions, ordered by kind."""
    tables, examples, dead_ends = positions.tables, Examples(positions), machine.dead_ends
    found = [
        Finding("conflict", note, examples.conflict(conflict))
        for note, conflict in zip(tables.notes, tables.conflicts, strict=True)
    ]
    found += [
        Finding("unproductive", f"{name} occurs in no accepted text", examples.waited(name))
        for name in dead_ends.unproductive
    ]
    if tables.indentation is None:
        found += _dead_ends(positions, machine, examples)
        found += _lookaheads(tables, dead_ends, examples)
    return [*found, *(Finding("doubt", f"dead ends are possible: {doubt}", None) for doubt in dead_ends.doubts)]


def _dead_ends(positions: PrefixPositions, machine: LalrMachine, examples: Examples) -> Iterator[Finding]:
    """Yield the first dead end that Lark's parser reaches among the nearest configurations."""
    tables, scanner = positions.tables, positions.scanner
    reader, lexemes, ignored = machine.reader, machine.dead_ends.lexemes, scanner.ignored
    contexts: list[int] = tables.context.tolist()
    # The same terminals leave different controls, depending on how the last lexeme is spelled.
    first = (0,), frozenset({Control(scanner.first_left, frozenset(), (), False)})
    work: deque[tuple[tuple[int, ...], frozenset[Control], tuple[int, ...]]] = deque([(*first, ())])
    seen: set[tuple[tuple[int, ...], frozenset[Control]]] = {first}
    try:
        while work and len(seen) < _CONFIGURATIONS_TRIED:
            stack, controls, terminals = work.popleft()
            context = contexts[machine.cells.known[stack[-1]].state]
            for label, behind in _followers(lexemes, context, controls, ignored):
                target = machine.cells.after(stack, label, NO_NEWLINE)
                if target is None:
                    continue
                after, read = contexts[machine.cells.known[target[-1]].state], (*terminals, label)
                live = frozenset(one for one in behind if reader.can_complete(target, lexemes.begun(after, one)))
                if not live:
                    names = " ".join(tables.symbols[terminal] for terminal in read)
                    yield Finding("dead end", f"Lark reads {names}, but no text completes it", examples.spelled(read))
                    return
                if (target, live) not in seen:
                    seen.add((target, live))
                    work.append((target, live, read))
    except LimitError:
        return


def _followers(
    lexemes: Lexemes, context: int, controls: Iterable[Control], ignored: int
) -> list[tuple[int, set[Control]]]:
    """Return the labels that can follow any of these controls in a context, skipping ignored text, each with the controls after it."""
    found: dict[int, set[Control]] = {}
    work = list(controls)
    seen = set(work)
    while work:
        for label, control in lexemes.begun(context, work.pop()).lexemes:
            if label != ignored:
                found.setdefault(label, set()).add(control)
            elif control not in seen:
                seen.add(control)
                work.append(control)
    return sorted(found.items(), key=lambda item: item[0])


def _lookaheads(tables: LalrTables, dead_ends: DeadEnds, examples: Examples) -> Iterator[Finding]:
    """Yield the terminals that look ahead, each with the expected terminals that can never follow it."""
    lexemes, ignored = dead_ends.lexemes, tables.lexer.label_of_ignored
    looking = {event[0] for event, end in zip(lexemes.events, lexemes.ends, strict=True) if event[1] > 0}
    contexts: list[int] = tables.context.tolist()
    try:
        for label in sorted(looking - {ignored}):
            behind = {
                control
                for row in lexemes.starts
                for state in row
                if state >= 0
                for found, control in lexemes.fresh(state, frozenset()).lexemes
                if found == label
            }
            missed: dict[int, None] = {}
            for state in examples.states_after(label):
                can_come = {found for found, _ in _followers(lexemes, contexts[state], behind, ignored)}
                missed.update(dict.fromkeys(sorted(examples.waited_in(state) - can_come)))
            for other in missed:
                names = tables.symbols[label], tables.symbols[other]
                note = f"{names[1]} can never follow {names[0]}, which has a lookahead"
                yield Finding("lookahead", note, examples.waited_behind(label, other))
    except LimitError:
        return
