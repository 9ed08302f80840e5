"""The papers' claims, each with a rule that says from the rows whether it held here: held, did not hold, not decided, not run.

*Not decided* is where the interval or the paired test leaves both open; where guided calls are never right, nothing is left open. Rules
look at no numbers but those of the run. What nothing here could decide is in `UNTESTED`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.tooldec.kamel import SIZES
from benchmarks.tooldec.once import read
from benchmarks.tooldec.results import guided_errors, has_error, of, p_value, paired, read_rows, share
from benchmarks.tooldec.rows import Row
from benchmarks.tooldec.statistics import Estimate, binomial, estimate, mcnemar, ratio_of_sums

__all__ = ["INDEX_GROWS", "LEAST", "NAIVE_GROWS", "NOT_RUN", "OPEN", "UNTESTED", "Verdict", "growth", "verdicts"]

HELD, FAILED, OPEN, NOT_RUN = "held", "did not hold", "not decided", "not run"
# Fewer problems decide nothing, whatever their interval.
LEAST = 10
# A step by matching costs more than so many times as much at the last place of E7 as at the first, one by the index less than so many.
NAIVE_GROWS, INDEX_GROWS = 2.0, 1.5
UNTESTED = (
    ("accuracies of LLaMA-33B, ToolLLM-7B, Vicuna and the like", "no such model here; no absolute accuracy is claimed"),
    ("pass and win rates of ToolEval", "they need the live APIs and a judge"),
    (
        "accuracy of answers on KAMEL",
        "the tools' knowledge base is not in the data; right tools are counted in its place",
    ),
    ("the models fine-tuned by the paper", "no weights of theirs; examples in the prompt stand for seen tools"),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim: what the paper says, what was found here."""

    experiment: str
    claim: str
    paper: str
    here: str
    verdict: str


def verdicts(folder: Path) -> list[Verdict]:
    """All claims with what the rows of a folder say of them."""
    rows = {name: read_rows(folder, name) for name in ("E2", "E3", "E4", "E5", "E9")}
    return [
        *_logs(folder),
        _no_errors([row for found in rows.values() for row in found]),
        *_calls(rows["E2"]),
        *_unseen(rows["E3"], rows["E4"]),
        *_numbers_of_tools(rows["E4"]),
        _meaningless(rows["E5"]),
        *_sizes(folder),
        *_matching(folder),
        *_trigger(folder),
        *_paths(rows["E9"]),
    ]


def _logs(folder: Path) -> list[Verdict]:
    found = read("E1", folder)
    if not found or "ToolLLM" not in found:
        return []
    theirs, ours = found["ToolLLM"], found["ToolDec"]
    wrong, cut = ours["tasks with a tool error"], ours["tasks with a tool error or a cut call"]
    same = sum(len(run["disagreements"]) for run in found.values())
    rate = theirs["tasks with a tool error"]
    logged = f"{wrong} of {ours['tasks']}, and {cut - wrong} more with a call that was cut"
    judged = f"{same} disagreements with a plain checker over {sum(run['calls'] for run in found.values()):,} calls"
    return [
        Verdict(
            "E1",
            "ToolLLM has tool errors in 39.0 % of tasks",
            "39.0 %",
            f"{rate} of {theirs['tasks']}",
            _if(bool(found), rate == 39),
        ),
        Verdict("E1", "ToolDec's logs have none", "0 %", logged, _if(bool(found), not cut)),
        Verdict("E1", "an acceptor finds exactly the bad calls", "", judged, _if(bool(found), not same)),
    ]


def _no_errors(rows: Sequence[Row]) -> Verdict:
    asked = [row for row in rows if row["arm"].startswith("guided")]
    wrong = guided_errors(rows)
    here = f"{len(wrong)} errors in {len(asked):,} answers of guided arms"
    return Verdict("E2-E9", "guided calls have no tool error", "0 %", here, _if(bool(asked), not wrong))


def _calls(rows: Sequence[Row]) -> list[Verdict]:
    found = []
    for setting in ("one call", "several calls"):
        here = of(rows, setting=setting)
        for other in ("unconstrained", "backtrace", "edit ratio"):
            left, right = of(here, arm="guided"), of(here, arm=other)
            wrong = f"{_percent(share(right, has_error))} against {_percent(share(left, has_error))} %"
            claim = f"FuncQA, {setting}: fewer tool errors than {other}"
            found.append(Verdict("E2", claim, "to 0", wrong, _fewer(here, other)))
        claim = f"FuncQA, {setting}: more right answers than backtrace"
        found.append(Verdict("E2", claim, "yes", *_better(here, "guided", "backtrace", "right_answer")))
        pairs = paired(here, "guided", "backtrace")
        cost = ratio_of_sums([left["passes"] for left, _ in pairs], [right["passes"] for _, right in pairs])
        claim = f"FuncQA, {setting}: half the time of backtrace"
        verdict = _if(bool(cost.n), cost.low <= 0.5, is_open=cost.contains(0.5) or cost.n < LEAST)
        found.append(Verdict("E2", claim, "up to 2x", f"{_ratio(cost)} of its forward passes", verdict))
    return found


def _unseen(four: Sequence[Row], many: Sequence[Row]) -> list[Verdict]:
    found = []
    for label, rows in (("E3", of(four, group="unseen")), ("E4", of(many, group="unseen"))):
        name = "FuncQA" if label == "E3" else "KAMEL"
        for other in ("unconstrained", "edit ratio"):
            claim = f"{name}, unseen tools: more right tools than {other}"
            found.append(Verdict("E3", claim, "up to 8x", *_better(rows, "guided", other, "right_name")))
    return found


def _numbers_of_tools(rows: Sequence[Row]) -> list[Verdict]:
    """Does the guided share fall less, from the smallest inventory to the largest, than that of others?"""
    found = []
    small, large = f"{SIZES[0]} relations", f"{SIZES[-1]} relations"
    for other in ("unconstrained", "edit ratio"):
        differences = []
        for setting in (small, large):
            pairs = paired(of(rows, setting=setting), "guided", other)
            differences.append(estimate([left["right_name"] - right["right_name"] for left, right in pairs]))
        here = f"guided less {other}: {_points(differences[0])} at {SIZES[0]}, {_points(differences[1])} at {SIZES[-1]}"
        verdict = _if(
            bool(differences[1].n),
            differences[1].low > 0,
            is_open=differences[1].contains(0) or differences[1].n < LEAST,
        )
        found.append(Verdict("E4", f"KAMEL, {SIZES[-1]} tools: more right tools than {other}", "yes", here, verdict))
    return found


def _meaningless(rows: Sequence[Row]) -> Verdict:
    """By the exact binomial test: the bootstrap's interval of a share of zero has no width."""
    chance, counts = 1 / SIZES[0], []
    for setting in ("random names", "own names"):
        mine = of(rows, setting=setting, arm="guided")
        counts.append((sum(bool(row["right_name"]) for row in mine), len(mine)))
    (strange, n), (own, n_own) = counts
    p = binomial(strange, n, chance)
    here = f"random {strange} of {n}, own names {own} of {n_own}, chance {100 * chance:.1f} %, p {p_value(p)}"
    verdict = _if(bool(n), p > 0.05 and binomial(own, n_own, chance) <= 0.05, is_open=n < LEAST)
    return Verdict("E5", "names without meaning fall to chance", "needed", here, verdict)


def _sizes(folder: Path) -> list[Verdict]:
    """The paper's text of each operation is not known, so its number is only held against what more and less text cost."""
    found = read("E6", folder)
    tokens = (
        [] if not found else [counts["Mistral 32k"] for label, counts in found["tokens"].items() if "tmdb" in label]
    )
    if not tokens:
        return []
    here = f"{min(tokens):,} to {max(tokens):,} (Mistral 32k), by the text per operation"
    verdict = OPEN if min(tokens) <= 1094 <= max(tokens) else FAILED
    return [Verdict("E6", "documentation of TMDB costs some 1,094 tokens of every prompt", "1,094", here, verdict)]


def growth(found: Mapping[str, Any]) -> tuple[float, float]:
    """By how much a step costs more at the last place measured than at the first: by matching, and by the index (E7)."""
    first, last = found["by length"][0], found["by length"][-1]
    return last["naive_us"] / first["naive_us"], last["index_us"] / first["index_us"]


def _matching(folder: Path) -> list[Verdict]:
    found = read("E7", folder)
    if not found:
        return []
    rows, (naive, index) = found["by length"], growth(found)
    here = f"token {rows[0]['place']} to {rows[-1]['place']}: naive x {naive:.1f}, index x {index:.2f}"
    verdict = HELD if naive > NAIVE_GROWS and index < INDEX_GROWS else FAILED
    return [
        Verdict("E7", "Outlines: an index makes a step's cost independent of the length", "figure 2", here, verdict)
    ]


def _trigger(folder: Path) -> list[Verdict]:
    found = read("E8", folder)
    if not found:
        return []
    seen, unseen = found["seen tools"], found["unseen tools"]
    here = f"F1 {seen['F1']:.2f} on seen tools ({seen['calls']} calls), {unseen['F1']:.2f} on unseen ones ({unseen['calls']})"
    verdict = HELD if unseen["F1"] >= 0.9 * seen["F1"] else FAILED
    return [
        Verdict(
            "E8", "one tuned row for the trigger serves unseen tools as it does seen ones", "table 8", here, verdict
        )
    ]


def _paths(rows: Sequence[Row]) -> list[Verdict]:
    alone = of(rows, setting="paths, names alone")
    if not alone:
        return []
    left = of(alone, arm="guided")
    documented = of(rows, setting="paths, documented", arm="unconstrained")
    here = f"{_percent(share(left, _is_right))} against {_percent(share(documented, _is_right))} %"
    known = {row["problem"]: row for row in documented}
    pairs = [(row, known[row["problem"]]) for row in left if row["problem"] in known]
    verdict = _compared([bool(a["right_name"]) for a, _ in pairs], [bool(b["right_name"]) for _, b in pairs])
    claim = "RestBench, names alone: more right paths than"
    other = _better(alone, "guided", "unconstrained", "right_name")
    return [
        Verdict("E9", f"{claim} unconstrained with documentation", "table 5", here, verdict),
        Verdict("E9", f"{claim} unconstrained without", "yes", *other),
    ]


def _is_right(row: Row) -> bool:
    return bool(row["right_name"])


def _better(rows: Sequence[Row], ours: str, other: str, key: str) -> tuple[str, str]:
    """What was found, and the verdict of McNemar's test at 5 %."""
    pairs = [(left, right) for left, right in paired(rows, ours, other) if key in left]
    left, right = [bool(pair[0][key]) for pair in pairs], [bool(pair[1][key]) for pair in pairs]
    shares = [_percent(estimate(list(map(float, values)))) for values in (left, right)]
    p = mcnemar(left, right) if pairs else 1.0
    verdict = FAILED if len(pairs) >= LEAST and not any(left) else _compared(left, right)
    return f"{shares[0]} against {shares[1]} % of {len(pairs)}, p {p_value(p)}", verdict


def _compared(left: Sequence[bool], right: Sequence[bool]) -> str:
    if not left:
        return NOT_RUN
    return OPEN if mcnemar(left, right) > 0.05 else HELD if sum(left) > sum(right) else FAILED


def _fewer(rows: Sequence[Row], other: str) -> str:
    pairs = paired(rows, other, "guided")
    return _compared([has_error(left) for left, _ in pairs], [has_error(right) for _, right in pairs])


def _if(was_run: bool, holds: bool, *, is_open: bool = False) -> str:
    return NOT_RUN if not was_run else OPEN if is_open else HELD if holds else FAILED


def _percent(found: Estimate) -> str:
    return f"{100 * found.value:.0f}" if found.n else "-"


def _points(found: Estimate) -> str:
    return f"{100 * found.value:+.0f} points ({100 * found.low:+.0f} to {100 * found.high:+.0f})" if found.n else "-"


def _ratio(found: Estimate) -> str:
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})" if found.n else "-"
