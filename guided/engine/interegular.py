"""`build`: interegular's automaton of a pattern, within the budgets of a compile.

interegular has no budgets: its constructions may exhaust the memory. All of them use its function ``crawl``, which requests the successor
of each state and transition. While `build` runs, these requests count as steps of the compile. Other threads and other users of
interegular in the process are neither counted nor affected.

Invariant: the total does not depend on the order in which states are found, so a pattern passes or fails the same everywhere.
Whether interegular reads a pattern correctly is not checked (docs/adr/0003).
"""

import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import interegular
import interegular.fsm

from guided.automata.steps import Steps
from guided.errors import LimitError, PatternError
from guided.limits import Limits

__all__ = ["build"]

# Cost in steps of a determinization (8 ns each) of: a step from one state, a comparison with an earlier state, a symbol of a part.
_FOLLOW, _COMPARE, _SYMBOL = 100, 5, 50
_TOO_LARGE = "the pattern is too large for interegular: use builder='guided'"

_RANGE = re.compile(r"(?s)(?=(.)-(.))")
_steps: ContextVar[Steps | None] = ContextVar("_steps", default=None)
_crawl: Callable[..., Any] = interegular.fsm.crawl


def build(pattern: str, limits: Limits) -> Any:
    """Return the FSM over characters that interegular builds.

    Raises
    ------
    PatternError
        interegular refuses the pattern.
    LimitError
        ``steps`` of ``limits`` was exceeded.
    """
    steps = Steps(limits.steps)
    # Each part of a pattern is compared with all symbols: its literals, those of its ranges, and those of a few escapes.
    symbols = len(set(pattern)) + 64
    symbols += sum(max(0, ord(last) - ord(first)) for first, last in set(_RANGE.findall(pattern)))
    steps.spend(_SYMBOL * symbols * len(pattern), _TOO_LARGE)
    interegular.fsm.crawl = _counted
    try:
        _steps.set(steps)
        parsed: Any = interegular.parse_pattern(pattern)
        return parsed.to_fsm()
    except LimitError:
        raise
    except Exception as error:  # Why: besides its own errors it raises RecursionError, AttributeError and more
        reason = f"interegular refuses the pattern ({type(error).__name__}: {error}); use builder='guided'"
        raise PatternError(reason, pattern, 0) from error
    finally:
        _steps.set(None)


def _counted(alphabet: Any, initial: Any, final: Callable[[Any], bool], follow: Callable[[Any, Any], Any]) -> Any:
    """Replace ``interegular.fsm.crawl``, counting steps where enabled."""
    steps = _steps.get()
    if steps is None:
        return _crawl(alphabet, initial, final, follow)
    n_transitions, width, n_states = len(alphabet.by_transition), len(initial), 0

    def counted_final(state: Any) -> bool:
        nonlocal n_states
        n_states += 1
        steps.spend(_COMPARE * n_transitions * n_states, _TOO_LARGE)
        return final(state)

    def counted_follow(state: Any, transition: Any) -> Any:
        # A product of automata (a dict) steps each of them; any other state is a set and may join any two members.
        steps.spend(_FOLLOW * (1 + width if isinstance(state, dict) else 1 + len(state)), _TOO_LARGE)
        found = follow(state, transition)
        if not isinstance(state, dict):
            steps.spend(_FOLLOW * (len(state) * len(found) // 4), _TOO_LARGE)
        return found

    return _crawl(alphabet, initial, counted_final, counted_follow)
