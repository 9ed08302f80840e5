"""The tables of inventories, out of the records of `benchmarks.inventory`."""

from collections.abc import Mapping
from typing import Any

from benchmarks.tables import milliseconds, table

__all__ = ["tables"]

_COSTS = (
    "spec ms", "compile ms", "first masks ms", "add ms", "add compile ms", "save ms", "load ms", "file MB", "memory MB",
    "memory after walks MB",
)  # fmt: skip
_HEADS = (
    "tools", "spec", "compile", "first masks", "add one", "its compile", "save", "load", "file MB", "memory MB", "after walks MB",
)  # fmt: skip


def tables(runs: Mapping[str, Any]) -> dict[str, str]:
    """What the template of docs/benchmarks.md asks for.

    Parameters
    ----------
    runs : Mapping
        A record for each source of tools.
    """
    rows = [(f"{row['tools']:,} of {name}", row) for name, run in runs.items() for row in run["rows"]]
    steps = [
        [
            name,
            *(
                f"{row[f'{when} {where}'][0]:,.1f} / {row[f'{when} {where}'][1]:,.0f}"
                for when in ("ready", "first")
                for where in ("name", "arguments")
            ),
        ]
        for name, row in rows
    ]
    about = [
        f"{sum(source['tools'] for source in run['sources'].values()):,} operations of {name}, recorded {run['date']}, load average "
        f"{run['load at start'][0]} on {run['cores']} cores"
        for name, run in runs.items()
    ]
    return {
        "inventory_commands": "\n".join(run["command"] for run in runs.values()),
        "inventory_about": "; ".join(about),
        "inventory_costs": table(_HEADS, [[name, *(milliseconds(row[key]) for key in _COSTS)] for name, row in rows]),
        "inventory_steps": table(
            ("tools", "ready, in names", "ready, in arguments", "first, in names", "first, in arguments"), steps
        ),
    }
