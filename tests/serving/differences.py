"""A table of what backends do differently: ``python -m tests.serving.differences guided=FILE xgrammar=FILE ...``.

Each file is what the suite wrote with ``--junit-xml=FILE`` and ``SERVING_BACKEND``. The table has a row for each test whose outcome is not
the same for all backends: what the test recorded, or whether it passed.
"""

import sys
from xml.etree import ElementTree

from benchmarks.tables import table

__all__ = ["main", "outcomes"]


def outcomes(path: str) -> dict[str, str]:
    """The outcome of each test of a file, by name."""
    found = {}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name", "").removeprefix("test_").replace("_", " ")
        recorded = [one.get("value", "") for one in case.iter("property") if one.get("name") == "outcome"]
        failures = [one for kind in ("failure", "error") for one in case.iter(kind)]
        if case.find("skipped") is not None:
            continue
        result = "; ".join(recorded) or ("failed" if failures else "passed")
        dead = any("the engine died" in (one.get("message") or "") for one in failures)
        found[name.replace("a bad request is refused with a reason", "refused: ")] = result + ", engine died" * dead
    return found


def main() -> int:
    files = dict(argument.partition("=")[::2] for argument in sys.argv[1:])
    if len(files) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    by_backend = {backend: outcomes(path) for backend, path in files.items()}
    names = list(dict.fromkeys(name for found in by_backend.values() for name in found))
    rows = []
    for name in names:
        cells = [found.get(name, "not run") for found in by_backend.values()]
        if len(set(cells)) > 1:
            rows.append([name, *cells])
    print(table(["test", *by_backend], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
