"""The tables of inventories, out of the records of `benchmarks.inventory`."""

from collections.abc import Mapping
from typing import Any

from benchmarks.tables import milliseconds, table

__all__ = ["tables"]

# Columns of the table for users, and those that only the record shows, with their titles.
_COSTS = {
    "spec ms": "spec", "compile ms": "compile", "first masks ms": "first masks", "add ms": "add one", "memory MB": "memory MB",
}  # fmt: skip
_REST = {
    "add compile ms": "its compile", "save ms": "save", "load ms": "load", "file MB": "file MB",
    "memory after walks MB": "after walks MB",
}  # fmt: skip


def tables(runs: Mapping[str, Any]) -> dict[str, str]:
    """What the templates of docs/benchmarks.md and benchmarks/record/measurements.md ask for.

    Parameters
    ----------
    runs : Mapping
        A record for each source of tools.
    """
    rows = [(f"{row['tools']:,} of {name}", row) for name, run in runs.items() for row in run["rows"]]
    rest = [
        [
            name,
            *(milliseconds(row[key]) for key in _REST),
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
        "tools": table(
            ("tools", *_COSTS.values()), [[name, *(milliseconds(row[key]) for key in _COSTS)] for name, row in rows]
        ),
        "inventory_rest": table(
            (
                "tools",
                *_REST.values(),
                *(f"{when}, in {where}" for when in ("ready", "first") for where in ("names", "arguments")),
            ),
            rest,
        ),
    }
