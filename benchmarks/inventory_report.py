"""The tables of inventories, out of the record of `benchmarks.inventory`."""

from collections.abc import Mapping
from typing import Any

from benchmarks.tables import milliseconds, table

__all__ = ["tables"]


def tables(record: Mapping[str, Any]) -> dict[str, str]:
    """What the template of docs/benchmarks.md asks for."""
    rows = record["rows"]
    sources = [f"{found['tools']:,} operations of {name}" for name, found in record["sources"].items()]
    at_once = ("spec ms", "compile ms", "first masks ms", "add ms", "add compile ms", "save ms", "load ms")
    heads = (
        "tools",
        "spec",
        "compile",
        "first masks",
        "add one",
        "its compile",
        "save",
        "load",
        "file MB",
        "memory MB",
        "after walks MB",
    )
    costs = [
        [
            f"{row['tools']:,}",
            *(milliseconds(row[key]) for key in at_once),
            *(milliseconds(row[key]) for key in ("file MB", "memory MB", "memory after walks MB")),
        ]
        for row in rows
    ]
    steps = [
        [
            f"{row['tools']:,}",
            *(
                f"{row[f'{when} {where}'][0]:,.1f} / {row[f'{when} {where}'][1]:,.0f}"
                for when in ("ready", "first")
                for where in ("name", "arguments")
            ),
        ]
        for row in rows
    ]
    return {
        "inventory_command": f"{record['command']}",
        "inventory_about": f"{' and '.join(sources)}, over {record['vocabulary']}, recorded {record['date']}, "
        f"load average {record['load at start'][0]} on {record['cores']} cores",
        "inventory_costs": table(heads, costs),
        "inventory_steps": table(
            ("tools", "ready, in names", "ready, in arguments", "first, in names", "first, in arguments"), steps
        ),
    }
