"""Independent parsers of the grammars' languages: do they take a text?

An exact oracle takes the grammar's texts and no others. A sound one takes the grammar's texts, and what else the grammar leaves out.
"""

import ast
import datetime
import json
import re
import shutil
import sqlite3
import subprocess
import warnings
from collections.abc import Callable

import graphql

__all__ = ["EXACT", "HAS_BASH", "HAS_SQLITE", "SOUND"]

HAS_BASH = shutil.which("bash") is not None
# Older ones lack RIGHT JOIN and IS DISTINCT FROM.
HAS_SQLITE = sqlite3.sqlite_version_info >= (3, 39)

_DATE_TIME = re.compile(
    r"([0-9]{4})(-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:)([0-9]{2})(?:\.[0-9]+)?(Z|[+-][0-9]{2}:[0-5][0-9])"
)
_SYNTAX = re.compile(r"syntax error|unrecognized token|incomplete input|should come (after|before)|requires? a")


def is_json(text: str) -> bool:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


def is_graphql(text: str) -> bool:
    try:
        graphql.parse(text, no_location=True)
    except graphql.GraphQLSyntaxError:
        return False
    return True


def is_date_time(text: str) -> bool:
    match = _DATE_TIME.fullmatch(text.upper())
    if match is None:
        return False
    year, middle, second, offset = match.groups()
    # Python 3.14 reads 24:00, which RFC 3339 has not.
    if "T24" in middle:
        return False
    # Why another year: those of a date are 1 to 9999 in Python, and an offset may lead out of them. The calendar repeats.
    number = 2000 + int(year) % 400
    try:
        found = datetime.datetime.fromisoformat(f"{number}{middle}{'59' if second == '60' else second}{offset}")
    except ValueError:
        return False
    if second != "60":
        return True
    last = found.astimezone(datetime.UTC)
    is_end = (last.hour, last.minute) == (23, 59) and (last.month, last.day) in ((6, 30), (12, 31))
    return is_end and offset[-2:] in ("00", "Z")


def is_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return False
    return True


def is_sql(text: str) -> bool:
    """Does SQLite read it? That a table is not there is no matter of syntax."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"EXPLAIN {text}")
    except sqlite3.OperationalError as error:
        return _SYNTAX.search(str(error)) is None
    except (sqlite3.ProgrammingError, sqlite3.Warning):
        # Parameters have no values, or there is more than one statement: SQLite has read the first.
        return True
    finally:
        connection.close()
    return True


def is_command(text: str) -> bool:
    done = subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False, env={"LC_ALL": "C.UTF-8"})
    return done.returncode == 0


EXACT: dict[str, Callable[[str], bool]] = {"datetime": is_date_time, "graphql": is_graphql, "json": is_json}
SOUND: dict[str, Callable[[str], bool]] = {"command": is_command, "python3": is_python, "sql": is_sql}
