"""docs/benchmarks.md, benchmarks/record/measurements.md and the README's table out of the records: ``python -m benchmarks.report``.

No figure in them is typed by hand, except those of Lark grammars and of first masks, in the template of the record.
Fills report.md.template (two tables for users) and report_record.md.template (further measurements) with tables made from
benchmarks/record/*.json (regex, scaling, footprint, maskbench, maskbench_engines, inventory), and draws the figures beside the records. A
test holds that the documents are what this program makes of the records. With a folder as its argument it reads the records there and
writes there: ``python -m benchmarks.report .cache/benchmarks``.
"""

import argparse
import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from benchmarks import behind, inventory_report, maskbench_report, readme
from benchmarks.definitions import load
from benchmarks.losses import losses
from benchmarks.maskbench_report import BRIEF
from benchmarks.tables import Record, against, cell, milliseconds, parsed, table, value
from benchmarks.vocabularies import MAIN

__all__ = ["DOCUMENTS", "RECORDS", "documents", "main", "readme_table", "records"]

RECORDS = Path(__file__).parent / "record"
# Document -> its template.
DOCS = Path(__file__).parent.parent / "docs"
DOCUMENTS = {
    DOCS / "benchmarks.md": Path(__file__).parent / "report.md.template",
    RECORDS / "measurements.md": Path(__file__).parent / "report_record.md.template",
}
OURS = "guided"
PEERS = ("llguidance", "outlines-core", "xgrammar", "walk per state")
USUAL = tuple(name for name in load() if not name.startswith("string"))


def records(folder: Path = RECORDS) -> dict[str, Any]:
    """The records by name."""
    names = ("regex", "scaling", "footprint")
    found = {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in names}
    # Why not always of the folder: its files are no part of the checkout, and `python -m benchmarks` does without them.
    for name in ("maskbench", "maskbench_engines", "inventory", "behind"):
        path = folder / f"{name}.json"
        path = path if path.exists() else RECORDS / f"{name}.json"
        found[name] = json.loads(path.read_text(encoding="utf-8"))
    return found


def documents(found: Mapping[str, Any]) -> dict[Path, str]:
    """The text of each document."""
    regex, scaling, footprint, schemas = (found[name] for name in ("regex", "scaling", "footprint", "maskbench"))
    lost, reasons = losses(regex)
    values = dict(
        _about(regex),
        targets=_targets(regex, footprint),
        patterns=_patterns(regex),
        setups=_setups(regex),
        vocabularies=_vocabularies(regex),
        steps=_steps(regex),
        agreement=_agreement(regex),
        examples=_examples(regex),
        losses=lost,
        reasons=reasons,
        stages=_stages(scaling),
        pattern_size=_pattern_size(scaling),
        patience=f"{scaling['budget s']:g}",
        output_length=_output_length(scaling),
        **_cold_start(footprint),
        **maskbench_report.tables({**schemas, "engines": {OURS: schemas["engines"][OURS]}}),
        **maskbench_report.tables(found["maskbench_engines"], "engines", BRIEF),
        **inventory_report.tables(found["inventory"]),
    )
    templates = {path: template.read_text(encoding="utf-8") for path, template in DOCUMENTS.items()}
    values |= {
        "schemas": _schemas(values["engines_verdicts"], values["engines_times"]),
        "languages": readme.peers(regex, footprint),
        "behind": behind.shown(found["behind"]),
    }
    return {path: Template(text).substitute(values) for path, text in templates.items()}


def readme_table(found: Mapping[str, Any]) -> str:
    """The table of README.md."""
    engines = maskbench_report.tables(found["maskbench_engines"], "engines", BRIEF)
    schemas = _schemas(engines["engines_verdicts"], engines["engines_times"])
    return readme.summary(schemas, readme.peers(found["regex"], found["footprint"]))


def _schemas(verdicts: str, times: str) -> str:
    """The table of JSON Schemas for users, out of the two of the record."""
    heads, *judged = parsed(verdicts)
    rows = {row[0]: row[1:] for row in judged}

    def added(*names: str) -> list[str]:
        return [
            f"{sum(int(one.replace(',', '')) for one in column):,}"
            for column in zip(*(rows[name] for name in names), strict=True)
        ]

    lines = [
        ["schemas right", *rows["right"]],
        ["refused", *rows["refused"]],
        ["wrong: valid rejected or invalid accepted", *added("valid rejected", "invalid accepted")],
        ["gave up: over time or memory, failed, crashed", *added("over time", "over memory", "failed", "crashed")],
    ]
    for name, *cells in parsed(times)[1:]:
        if name in ("first mask, ms", "mask cold, us", "mask warm, us"):
            # The order of `maskbench_report.tables`: `BRIEF`.
            lines.append([name, *(" / ".join(one.split(" / ")[1:3]) for one in cells)])
    return table(heads, lines)


def _about(record: Record) -> dict[str, str]:
    tokens = record["vocabularies"][MAIN]["vocabulary"]["tokens"]
    looks = [cell(record, MAIN, name, OURS)["lookup_us"] for name in load()]
    mask, onward = (statistics.median(row[key] - row["loop"] for row in looks) for key in ("mask", "next"))
    return {
        **{key: str(record[key]) for key in ("date", "commit", "processor", "cores", "python", "repeat")},
        "versions": ", ".join(f"{name} {version}" for name, version in record["versions"].items()),
        "load_start": str(record["load at start"][0]),
        "load_end": str(record["load at end"][0]),
        "main": f"{MAIN} ({tokens:,} tokens)",
        "main_name": MAIN,
        "n_usual": str(len(USUAL)),
        "look_mask": f"{mask:.2f}",
        "look_next": f"{onward:.2f}",
        "look_kernel": f"{statistics.median(row['kernel'] for row in looks):.4f}",
        "our_compiles": _range(record, OURS, "compile"),
        "lazy_compiles": _range(record, "llguidance", "compile"),
    }


def _targets(regex: Record, footprint: Record) -> str:
    whole = {name: value(regex, MAIN, name, OURS, "whole") or 0.0 for name in load()}
    slowest = max(USUAL, key=whole.__getitem__)
    ratios = {name: (value(regex, MAIN, name, "outlines-core", "whole") or 0.0) / whole[name] for name in load()}
    least, long = min(ratios, key=ratios.__getitem__), ratios["string 1000"]
    steps = [cell(regex, MAIN, name, OURS) for name in load()]
    ready, worst = (max(step["ready"]["both"][key] for step in steps) for key in ("p50", "p99"))
    looks = [step["lookup_us"] for step in steps]
    look = max(row["mask"] + row["next"] - 2 * row["loop"] for row in looks)
    kernel = max(row["kernel"] for row in looks)
    seconds = footprint["imports"]["guided"]["seconds"]
    usual = statistics.median(whole[name] for name in USUAL)
    middle = statistics.median(ratios.values())
    rows = [
        (
            "whole index, each usual pattern",
            "<= 3 ms",
            f"{usual:.2f} ms in the median, {whole[slowest]:.2f} ms at most ({slowest})",
            whole[slowest] <= 3,
        ),
        (
            "whole index against outlines-core, each pattern",
            ">= 20x",
            f"{ratios[least]:,.0f}x at least ({least}), {middle:,.0f}x in the median",
            ratios[least] >= 20,
        ),
        ("the same, string of 1 to 1,000 characters", ">= 1,000x", f"{long:,.0f}x", long >= 1000),
        (
            "step on a ready state through Python",
            "<= 3 us",
            f"p50 {ready:.2f} us at most, p99 {worst:.2f} us at most",
            ready <= 3,
        ),
        (
            "its two look-ups alone",
            "<= 0.5 us",
            f"compiled {kernel:.3f} us at most, from Python {look:.2f} us at most",
            kernel <= 0.5,
        ),
        ("`import guided`", "<= 0.05 s", f"{seconds:.3f} s", seconds <= 0.05),
    ]
    heads = ("what", "target", "measured", "met")
    return table(heads, [(what, target, found, "yes" if met else "**no**") for what, target, found, met in rows])


def _range(record: Record, engine: str, measure: str) -> str:
    """The least and the largest time of a measure over the patterns."""
    found = [time for name in load() if (time := value(record, MAIN, name, engine, measure)) is not None]
    return f"{milliseconds(min(found))} to {milliseconds(max(found))}"


def _patterns(record: Record) -> str:
    rows = []
    for name in load():
        whole, text = (value(record, MAIN, name, OURS, measure) for measure in ("whole", "text"))
        rows.append(
            [
                name,
                milliseconds(whole),
                *(against(value(record, MAIN, name, peer, "whole"), whole) for peer in ("outlines-core", "xgrammar")),
                milliseconds(text),
                against(value(record, MAIN, name, "llguidance", "text"), text),
            ]
        )
    heads = ("whole, guided", "whole, outlines-core", "whole, xgrammar", "text, guided", "text, llguidance")
    return table(("pattern", *heads), rows)


def _vocabularies(record: Record) -> str:
    rows = []
    for vocabulary, found in record["vocabularies"].items():
        about = found["vocabulary"]
        whole, text = (_sum(record, vocabulary, OURS, measure) for measure in ("whole", "text"))
        rows.append(
            [
                vocabulary,
                f"{about['tokens']:,}",
                milliseconds(whole),
                *(against(_sum(record, vocabulary, peer, "whole"), whole) for peer in PEERS[1:3]),
                milliseconds(text),
                against(_sum(record, vocabulary, "llguidance", "text"), text),
            ]
        )
    heads = (
        *(f"whole, {engine}" for engine in (OURS, *PEERS[1:3])),
        *(f"text, {engine}" for engine in (OURS, "llguidance")),
    )
    return table(("vocabulary", "tokens", *heads), rows)


def _sum(record: Record, vocabulary: str, engine: str, measure: str) -> float | None:
    values = [value(record, vocabulary, name, engine, measure) for name in USUAL]
    known = [found for found in values if found is not None]
    return sum(known) if len(known) == len(values) else None


def _setups(record: Record) -> str:
    """The least and the largest set-up of each engine over the vocabularies."""
    shown = []
    for engine in (OURS, *PEERS[:3]):
        times = [found["setup_ms"][engine] for found in record["vocabularies"].values() if engine in found["setup_ms"]]
        shown.append(f"{engine} {milliseconds(min(times))} to {milliseconds(max(times))}")
    return ", ".join(shown)


def _steps(record: Record) -> str:
    columns = (
        ("guided", OURS, "ready"),
        ("guided, mask copied out", OURS, "ready_copying"),
        *((peer, peer, "ready") for peer in PEERS[:3]),
    )
    found = {
        name: [cell(record, MAIN, name, engine).get(key, {}).get("both") for _, engine, key in columns]
        for name in load()
    }
    rows = [[name, *(f"{both['p50']:.2f}" if both else "text refused" for both in row)] for name, row in found.items()]
    largest = (max(both["p99"] for both in column if both) for column in zip(*found.values(), strict=True))
    rows.append(["largest p99", *(f"{time:,.2f}" for time in largest)])
    return table(("pattern", *(title for title, *_ in columns)), rows)


def _agreement(record: Record) -> str:
    rows = []
    keys = ("steps", "equal", "canonical", "missing", "extra", "eos", "refused")
    for engine in PEERS[:3]:
        cells = [
            (name, found["agreement"])
            for vocabulary in record["vocabularies"]
            for name in load()
            if (found := cell(record, vocabulary, name, engine))
        ]
        total = [f"{sum(found[key] for _, found in cells):,}" for key in keys]
        where = [name for name in load() if any(found["different"] for other, found in cells if other == name)]
        rows.append([engine, *total, ", ".join(where) or "-"])
    heads = ("steps", "equal", "canonical only", "missing", "extra", "end differs", "texts refused")
    return table(("engine", *heads, "different in"), rows)


def _examples(record: Record) -> str:
    found = {
        (engine, name): cell(record, MAIN, name, engine).get("agreement", {}).get("example", "")
        for engine in PEERS
        for name in load()
    }
    lines = [f"- {engine}, {name}: `{text.replace('`', chr(39))}`" for (engine, name), text in found.items() if text]
    return "\n".join(lines) or "None."


# The patterns whose stages are shown: the record has all.
_STAGED = ("integer", "date", "url", "any 100", "object", "choice", "string 1000")


def _stages(record: Record) -> str:
    counts, times = ("states", "functions"), ("automaton", "index", "masks")
    rows = [
        [
            f"`{name}`" if "\\" in name else name,
            *(f"{row[key]:,}" for key in counts),
            *(milliseconds(row[f"{key}_ms"]) for key in times),
        ]
        for name, row in record["stages"].items()
        if name in _STAGED or "\\" in name
    ]
    return table(("pattern", *counts, *(f"{key} ms" for key in times)), rows)


def _pattern_size(record: Record) -> str:
    columns = {engine: {row["n"]: row for row in rows} for engine, rows in record["pattern size"].items()}
    peers = [engine for engine in columns if engine in PEERS[:3]]
    stepping = [engine for engine in columns if any("step_us" in row for row in columns[engine].values())]
    rows = []
    # Every other size: the figure has all.
    for n, ours in list(columns[OURS].items())[::2]:
        whole = [against(columns[peer].get(n, {}).get("whole_ms"), ours["whole_ms"]) for peer in peers]
        steps = [milliseconds(columns[engine].get(n, {}).get("step_us")) for engine in stepping]
        rows.append([f"{n:,}", milliseconds(ours["whole_ms"]), *whole, *steps])
    heads = (f"{OURS} ms", *(f"{peer} ms" for peer in peers), *(f"{engine} step us" for engine in stepping))
    return table(("n", *heads), rows)


def _output_length(record: Record) -> str:
    columns = record["output length"]
    heads = (f"tokens {row['from']:,} to {row['to']:,}" for row in columns[OURS][:: len(columns[OURS]) - 1])
    rows = [
        [engine, *(f"{row['p50']:.2f} / {row['p99']:.2f}" for row in found[:: len(found) - 1])]
        for engine, found in columns.items()
    ]
    return table(("engine", *heads), rows)


def _cold_start(record: Record) -> dict[str, str]:
    imports = {**record["imports"], OURS: record["imports"][f"{OURS}, all that compile needs"]}
    memory = [
        [
            name,
            f"{imports[name]['seconds']:.3f}",
            f"{imports[name]['MB']:.0f}",
            f"{row['setup_s']:.2f}",
            f"{row['setup_MB']:.0f}",
            f"{row['patterns_s']:.3f}",
            f"{row['patterns_MB']:.0f}",
        ]
        for name, row in record["engines"].items()
    ]
    starts = {
        "no compiled kernels": record["first compile, no cache"],
        "after `guided warmup`": record["first compile, after warmup"],
    }
    first = [[what, f"{row['first_s']:.2f}", f"{1e3 * row['second_s']:.1f}"] for what, row in starts.items()]
    warm = record["warmup"]
    return {
        "footprint_vocabulary": record["vocabulary"],
        "memory": table(
            ("engine", "import s", "import MB", "set-up s", "set-up MB", "patterns s", "patterns MB"), memory
        ),
        "first": table(("guided", "first s", "second ms"), first),
        "first_measured": record.get("first compile measured", record["date"]),
        "warm_kernels": str(warm["kernels"]),
        "warm_seconds": f"{warm['seconds']:.1f}",
        "warm_size": f"{warm['cache_MB']:.1f}",
    }


def main() -> None:
    from benchmarks import figure

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=RECORDS, help="where the records lie")
    folder = parser.parse_args().folder
    found = records(folder)
    figure.draw(found["scaling"], folder)
    is_kept = folder.resolve() == RECORDS
    for path, text in documents(found).items():
        target = path if is_kept else folder / path.name
        target.write_text(text, encoding="utf-8")
        print(target)
    if is_kept:
        text = readme.README.read_text(encoding="utf-8")
        rows = readme_table(found)
        readme.README.write_text(readme.with_peers(text, rows), encoding="utf-8")


if __name__ == "__main__":
    main()
