"""``guided inspect``: show the contents of an index file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guided.cli.boundary import ACCEPTED, UsageError
from guided.cli.output import as_text, print_json, print_table, shown_bytes
from guided.cli.specs import EosOption, JsonOption, VocabularyOption
from guided.cli.vocabularies import read_vocabulary
from guided.files import replace_file

if TYPE_CHECKING:
    from guided.automata.automaton import Automaton
    from guided.engine.files import IndexFile
    from guided.engine.index import Index

__all__ = ["inspect_index"]


def inspect_index(
    file: Annotated[Path, typer.Argument(metavar="INDEX", help="An index file.")],
    vocabulary: VocabularyOption = None,
    eos: EosOption = None,
    top: Annotated[int, typer.Option("--top", min=0, metavar="N", help="How many masks to show at each end.")] = 3,
    sample: Annotated[int, typer.Option("--sample", min=0, metavar="N", help="How many tokens of a mask to show.")] = 6,
    graph: Annotated[
        Path | None,
        typer.Option("--graph", metavar="FILE", help="Write the byte automaton as a graph: FILE ends in .dot or .svg."),
    ] = None,
    max_states: Annotated[
        int, typer.Option("--max-states", min=1, metavar="N", help="Largest number of states that --graph draws.")
    ] = 100,
    as_json: JsonOption = False,
) -> int:
    r"""Show the contents of an index file: sizes, states, and the masks with the most and the fewest tokens.

    Each mask is shown with the shortest text that leads to it and its number of tokens. With --vocabulary (the one that the
    index was compiled for), some of the tokens are shown too.

    For example:

      guided inspect indices/date.index --vocabulary tokenizer.json
      guided inspect indices/date.index --graph date.svg
    """
    from guided.calls.files import load_index, read_index_file

    found = read_index_file(file)
    if found.automaton is None:
        if graph is not None:
            raise UsageError(
                "--graph: this index has a stack, so its automaton has no finite graph (those of regexes and choices have)"
            )
        facts = _facts_of_stack(file, found)
        explored = f"{facts['explored']:,} states, {facts['masks']['distinct']:,} masks"
        if as_json:
            print_json(facts)
        else:
            print_table(_rows(facts, ("kind", facts["kind"]), ("explored", explored)))
        return ACCEPTED
    index = None if vocabulary is None else load_index(file, read_vocabulary(vocabulary, eos))
    facts = _facts(file, found, found.automaton)
    masks = _masks(found, found.automaton, top)
    samples = {} if index is None else {mask["mask"]: _tokens(index, mask["state"], sample) for mask in masks}
    if graph is not None:
        _write_graph(found.automaton, graph, max_states)
    if as_json:
        listed = [{**mask, "after": as_text(mask["after"])} for mask in masks]
        for mask in listed if samples else ():
            mask["sample"] = [{"id": token, "text": as_text(data)} for token, data in samples[mask["mask"]]]
        drawn = {} if graph is None else {"graph": str(graph)}
        print_json({**facts, "masks": {**facts["masks"], "shown": listed}, **drawn})
    else:
        _show(facts, masks, samples, graph)
    return ACCEPTED


def _identity(file: Path, found: "IndexFile") -> dict[str, Any]:
    from guided.index.storage import FORMAT_VERSION

    return {
        "file": str(file),
        "bytes": file.stat().st_size,
        "format": FORMAT_VERSION,
        "spec": found.spec_fingerprint,
        "vocabulary": found.vocabulary_fingerprint,
        "tokens": found.n_tokens,
        "unenforced": [{"pointer": pointer, "keyword": keyword} for pointer, keyword in found.unenforced],
        "notes": list(found.notes),
        "arrays": [
            {"name": name, "type": array.dtype.name, "shape": list(array.shape), "bytes": array.nbytes}
            for name, array in found.arrays.items()
        ],
    }


def _facts_of_stack(file: Path, found: "IndexFile") -> dict[str, Any]:
    assert found.origin is not None
    explored = found.arrays.get("mask_of")
    return {
        **_identity(file, found),
        "kind": found.origin.spec.kind,
        "explored": 0 if explored is None else len(explored),
        "masks": {"distinct": 0 if explored is None else len(found.arrays["masks"])},
    }


def _rows(facts: dict[str, Any], *own: tuple[str, str]) -> list[tuple[str, str]]:
    """The rows of all index files, with those of one kind."""
    return [
        ("file", f"{facts['file']}, {facts['bytes']:,} bytes, version {facts['format']} of the format"),
        ("spec", facts["spec"]),
        ("vocabulary", f"{facts['vocabulary']}, {facts['tokens']:,} tokens"),
        *own,
        *(("not enforced", f"{each['keyword']} at {each['pointer'] or 'the root'}") for each in facts["unenforced"]),
        *(("note", what) for what in facts["notes"]),
    ]


def _facts(file: Path, found: "IndexFile", automaton: "Automaton") -> dict[str, Any]:
    arrays = found.arrays
    shortest = automaton.witness() or b""
    return {
        **_identity(file, found),
        "states": automaton.n_states,
        "accepting": int(automaton.accepting.sum()),
        "byte_classes": automaton.table.shape[1],
        "shortest": as_text(shortest),
        "most_tokens": int(arrays["distance"].max()),
        "functions": len(arrays["function_size"]),
        "transitions": len(arrays["row_functions"]),
        "masks": {"distinct": len(arrays["mask_state"])},
    }


def _masks(found: "IndexFile", automaton: "Automaton", count: int) -> list[dict[str, Any]]:
    """The masks with the most tokens and those with the fewest, without duplicates; EOS is not counted."""
    import numpy as np

    arrays = found.arrays
    sizes = arrays["function_size"]
    until = np.concatenate([[0], np.cumsum(sizes[arrays["row_functions"]])])
    counts = np.diff(until[arrays["row_indptr"]])[arrays["mask_state"]]
    states = np.bincount(arrays["mask_of"], minlength=len(counts))
    order = np.lexsort((np.arange(len(counts)), -counts)).tolist()
    chosen = order if len(order) <= 2 * count else order[:count] + order[len(order) - count :]
    texts = _texts(automaton, [int(arrays["mask_state"][mask]) for mask in chosen])
    return [
        {
            "mask": mask,
            "state": (state := int(arrays["mask_state"][mask])),
            "tokens": int(counts[mask]),
            "may_end": bool(automaton.accepting[state]),
            "states": int(states[mask]),
            "after": texts[state],
        }
        for mask in chosen
    ]


def _texts(automaton: "Automaton", states: list[int]) -> dict[int, bytes]:
    """A shortest text to each of the given states. O(states of the automaton x 256)."""
    came: dict[int, tuple[int, int]] = {0: (0, 0)}
    wanted, queue = set(states) - {0}, [0]
    for state in queue:
        if not wanted:
            break
        for value, target in enumerate(automaton.targets(state)):
            if target >= 0 and target not in came:
                came[target] = state, value
                wanted.discard(target)
                queue.append(target)
    found = {}
    for state in states:
        text, place = bytearray(), state
        while place:
            place, value = came[place]
            text.append(value)
        found[state] = bytes(reversed(text))
    return found


def _tokens(index: "Index", state: int, count: int) -> list[tuple[int, bytes]]:
    """A sample of the tokens of a state's mask, spread over their ids."""
    spelled = [(token, data) for token in index.allowed(state).tolist() if (data := index.vocabulary[token])]
    if len(spelled) <= count:
        return spelled
    return [spelled[number * len(spelled) // count] for number in range(count)]


def _write_graph(automaton: "Automaton", path: Path, limit: int) -> None:
    from guided.automata.drawing import to_svg
    from guided.automata.graph import graph_of, least_nodes, to_dot

    writers = {".dot": to_dot, ".gv": to_dot, ".svg": to_svg}
    if path.suffix not in writers:
        raise UsageError(f"--graph {path}: the file name must end in .dot, .gv or .svg")
    # Why first: building the graph of a million states is slow, and it would not be drawn.
    graph = None if (count := least_nodes(automaton)) > limit else graph_of(automaton)
    if graph is None or (count := len(graph.nodes)) > limit:
        raise UsageError(
            f"--graph: the graph has at least {count:,} states, and the limit is {limit:,}; raise it with --max-states. "
            "Patterns with \\d, \\w or \\s are much smaller when compiled with -O ascii=true"
        )
    replace_file(path, writers[path.suffix](graph))


def _show(
    facts: dict[str, Any], masks: list[dict[str, Any]], samples: dict[int, list[tuple[int, bytes]]], graph: Path | None
) -> None:
    own = [
        ("states", f"{facts['states']:,}, in {facts['accepting']:,} of them a text may end"),
        ("byte classes", f"{facts['byte_classes']:,}"),
        ("functions", f"{facts['functions']:,}, with {facts['transitions']:,} transitions"),
        ("masks", f"{facts['masks']['distinct']:,}"),
        ("shortest text", repr(facts["shortest"])),
    ]
    print_table([*_rows(facts, *own), *([] if graph is None else [("graph", str(graph))])])
    arrays = [
        (array["name"], array["type"], " x ".join(f"{n:,}" for n in array["shape"]), f"{array['bytes']:,}")
        for array in facts["arrays"]
    ]
    print_table([("array", "type", "shape", "bytes"), *arrays])
    if not masks:
        return
    table = [["mask", "tokens", "end", "states", "after", "some of the tokens"]]
    for mask in masks:
        counts = str(mask["mask"]), f"{mask['tokens']:,}", "yes" if mask["may_end"] else "no", f"{mask['states']:,}"
        sample = ", ".join(shown_bytes(data) for _, data in samples.get(mask["mask"], ()))
        table.append([*counts, shown_bytes(mask["after"]), sample])
    print_table(table if samples else [row[:-1] for row in table])
