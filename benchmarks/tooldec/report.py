"""benchmarks/record/tooldec.md out of the rows: the template with tables, verdicts and figures in it. No figure in it is typed by hand.

``python -m benchmarks.tooldec --report`` prints the tables of the rows there are; with ``--record`` the rows go into
benchmarks/record/tooldec (those of another model than the default one into a folder beside it), and the document is made of all records.
A test holds that the document is what this makes of them.
"""

import json
import shutil
from pathlib import Path
from string import Template
from typing import Any

from benchmarks.tables import parsed, table
from benchmarks.tooldec.kamel import SIZES
from benchmarks.tooldec.once import read
from benchmarks.tooldec.plots import draw
from benchmarks.tooldec.results import arm_table, names_table, of, read_rows
from benchmarks.tooldec.rows import Row
from benchmarks.tooldec.searched import searched_tables
from benchmarks.tooldec.verdicts import LEAST, NOT_RUN, OPEN, UNTESTED, verdicts

__all__ = ["DOCUMENT", "RECORD", "SEARCHES", "document", "record_of", "tables", "write"]

ROOT = Path(__file__).parent.parent.parent
RECORD = ROOT / "benchmarks" / "record" / "tooldec"
SEARCHES = RECORD / "searches"
DOCUMENT = ROOT / "benchmarks" / "record" / "tooldec.md"
_TEMPLATE = Path(__file__).parent / "document.md.template"
_NOTHING = "Not run."
_WITHOUT_A_MODEL = ("E1", "E6", "E7")
# Tables of another model, with what stands above them.
_BESIDE = {
    "e2_one": "FuncQA, one call", "e2_several": "FuncQA, several calls", "e3": "FuncQA, four tools shown", "e4": "KAMEL",
    "e4_errors": "KAMEL, all inventories", "e5": "KAMEL, names without meaning",
    "e8": "The tuned row", "e9": "RestBench",
}  # fmt: skip


def tables(rows: Path) -> dict[str, str]:
    """The tables by name, "Not run." where there are no rows."""
    found = {name: read_rows(rows, name) for name in ("E2", "E3", "E4", "E5", "E9")}
    sizes = [f"{size} relations" for size in SIZES]
    paths = list(dict.fromkeys(row["setting"] for row in found["E9"]))
    made = {
        "machine": _machine(rows),
        "verdicts": _verdicts(rows),
        "untested": "\n".join(f"- {what}: {why}." for what, why in UNTESTED),
        "e1": _logs(rows),
        "e2_one": _arms(of(found["E2"], setting="one call")),
        "e2_several": _arms(of(found["E2"], setting="several calls")),
        "e3": names_table(found["E3"], ["one call, 4 tools shown"], ("seen", "unseen")),
        "e4": names_table(found["E4"], sizes, ("seen", "unseen")),
        "e4_errors": _arms(found["E4"]),
        "e5": names_table(found["E5"], ["own names", "random names"]),
        "e6_tokens": _tokens(rows),
        "e6_names": _names(rows),
        "e7": _steps(rows),
        "e8": _trigger(rows),
        "e9": names_table(found["E9"], paths),
        "e9_errors": _path_errors(found["E9"], paths),
    }
    asked = {key[:2].upper(): found.get(key[:2].upper()) for key in made if key[:1] == "e"}
    return {key: _NOTHING if asked.get(key[:2].upper()) == [] else text for key, text in made.items()}


def _arms(rows: list[Row]) -> str:
    return arm_table(rows) if rows else _NOTHING


def record_of(label: str) -> Path:
    """Where the rows of a model are recorded."""
    return RECORD if label == "default" else RECORD.with_name(f"{RECORD.name}-{label}")


def document() -> str:
    """The whole document."""
    others = sorted(path.parent for path in RECORD.parent.glob(f"{RECORD.name}-*/machine.json"))
    made = {
        **tables(RECORD),
        **searched_tables(RECORD, SEARCHES),
        "searched_machine": _machine(SEARCHES, RECORD),
        "others": "\n\n".join(map(_beside, others)) or _NOTHING,
    }
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(made)


def write(rows: Path, record: Path = RECORD) -> None:
    """Keep rows, figures and the document."""
    record.mkdir(parents=True, exist_ok=True)
    if rows.resolve() != record.resolve():
        for path in sorted([*rows.glob("E?.json*"), rows / "machine.json"]):
            shutil.copy(path, record / path.name)
    if record == RECORD:
        draw(RECORD, RECORD)
    DOCUMENT.write_text(document(), encoding="utf-8")


def _beside(folder: Path) -> str:
    """The claims that another model decides, beside what the default one says of them, with its tables of enough problems."""
    here = {(item.experiment, item.claim): item for item in verdicts(folder)}
    decided, undecided = [], 0
    for item in verdicts(RECORD):
        other = here.get((item.experiment, item.claim))
        if other is None or other.verdict == NOT_RUN or item.experiment in _WITHOUT_A_MODEL:
            continue
        if other.verdict == OPEN:
            undecided += 1
        else:
            verdict = f"**{other.verdict}** (default model: {item.verdict})"
            decided.append(f"- {item.experiment}, {item.claim}: {other.here}, {verdict}.")
    made = tables(folder)
    parts = [
        f"`{folder.name.removeprefix(RECORD.name + '-')}`:\n\n{_machine(folder, RECORD)}",
        "\n".join([*decided, f"- {undecided} claims are not decided."]),
    ]
    parts += [f"{title}:\n\n{made[name]}" for name, title in _BESIDE.items() if _is_enough(made[name])]
    return "\n\n".join(parts)


def _is_enough(shown: str) -> bool:
    """Does a table rest on as many problems as a verdict needs?"""
    if shown == _NOTHING:
        return False
    heads, *lines = parsed(shown)
    return "problems" not in heads or max(int(line[heads.index("problems")]) for line in lines) >= LEAST


def _machine(rows: Path, base: Path | None = None) -> str:
    """Machine, versions, commit, date and load of a record; with another one, only what differs from its machine and versions."""
    path = rows / "machine.json"
    if not path.exists():
        return _NOTHING
    found = json.loads(path.read_text(encoding="utf-8"))
    known = json.loads((base / "machine.json").read_text(encoding="utf-8")) if base is not None else {"versions": {}}
    machine, other = (
        [f"{each.get(key)}" for key in ("processor", "cores", "memory GB", "system", "python")]
        for each in (found, known)
    )
    changed = [
        f"{name} {number}" for name, number in found["versions"].items() if known["versions"].get(name) != number
    ]
    parts = {
        "Machine": "the same" if machine == other else "{}, {} cores, {} GB, {}, Python {}".format(*machine),
        "Versions": ", ".join(changed),
        "Commit": f"{found['commit']}, {found['date']}",
        "Load at the start": ", ".join(map(str, found["load at start"])),
    }
    return "\n".join(f"- {name}: {part}." for name, part in parts.items() if part)


def _verdicts(rows: Path) -> str:
    """A line per claim; claims that differ only in what guided decoding is compared with share one if they have the same verdict."""
    grouped: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for item in verdicts(rows):
        claim, than, other = item.claim.rpartition(" than ")
        key = (item.experiment, claim + than if than else item.claim, item.paper, item.verdict)
        grouped.setdefault(key, []).append((other if than else "", item.here))
    lines = [
        [
            experiment,
            claim + ", ".join(other for other, _ in found),
            paper,
            found[0][1] if len({here for _, here in found}) == 1 else "; ".join(here for _, here in found),
            f"**{verdict}**",
        ]
        for (experiment, claim, paper, verdict), found in grouped.items()
    ]
    return table(["", "claim", "paper", "here", "verdict"], lines)


def _logs(rows: Path) -> str:
    found = read("E1", rows)
    if found is None:
        return _NOTHING
    heads = [
        "run",
        "tasks",
        "calls",
        "good",
        "name",
        "argument",
        "syntax",
        "cut",
        "tasks with a tool error",
        "or a cut call",
        "disagreements",
    ]
    lines = []
    for run, counts in found.items():
        by_call: dict[str, int] = counts["by call"]
        classes = [str(by_call.get(kind, 0)) for kind in ("good", "name", "argument", "syntax", "cut")]
        tasks = [str(counts["tasks with a tool error"]), str(counts["tasks with a tool error or a cut call"])]
        lines.append(
            [run, str(counts["tasks"]), str(counts["calls"]), *classes, *tasks, str(len(counts["disagreements"]))]
        )
    return table(heads, lines)


def _tokens(rows: Path) -> str:
    found = read("E6", rows)
    if found is None:
        return _NOTHING
    lines = [[label, f"{counts['Mistral 32k']:,}", f"{counts['model']:,}"] for label, counts in found["tokens"].items()]
    return table(["documentation", "Mistral 32k", "the model's own"], lines)


def _names(rows: Path) -> str:
    found = read("E6", rows)
    if found is None:
        return _NOTHING
    heads = list(next(iter(found["names"].values())))
    return table(
        ["names", *heads], [[label, *(f"{row[head]:g}" for head in heads)] for label, row in found["names"].items()]
    )


def _steps(rows: Path) -> str:
    found = read("E7", rows)
    if found is None:
        return _NOTHING
    shown = {(row["vocabulary"], row["place"]) for row in found["by length"]}
    others = [row for row in found["by vocabulary"] if (row["vocabulary"], row["place"]) not in shown]
    lines = [
        [row["vocabulary"], f"{row['place']:,}", f"{row['naive_us']:,.0f}", f"{row['index_us']:.2f}"]
        for row in found["by length"] + others
    ]
    return table(["vocabulary", "tokens of text", "every token matched, us", "index, us"], lines)


def _trigger(rows: Path) -> str:
    found = read("E8", rows)
    if found is None:
        return _NOTHING
    heads = ["texts of", "places", "calls", "behind =", "fired", "right", "precision", "recall", "F1"]
    lines: list[list[str]] = []
    for label in ("trained on", "seen tools", "unseen tools"):
        counts: dict[str, Any] = found[label]
        lines.append([label, *(f"{counts[key]:,}" for key in heads[1:6]), *(f"{counts[key]:.2f}" for key in heads[6:])])
    return table(heads, lines)


def _path_errors(rows: list[dict[str, Any]], settings: list[str]) -> str:
    """The number of tool errors of each arm in each setting, in the order of the settings."""
    found = []
    for arm in dict.fromkeys(row["arm"] for row in rows):
        counts = [sum(bool(row["error"]) for row in of(rows, setting=setting, arm=arm)) for setting in settings]
        found.append(f"{arm} {', '.join(map(str, counts)) if any(counts) else 'none'}")
    return "; ".join(found)
