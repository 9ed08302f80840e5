"""`Composed`: a composition as text, for index files and other processes.

The tree is stored as JSON. Leaves with a stack are stored by their own `data`, and leaves of other layers (tools) as what they are lowered
to, so a loaded index has the texts of the composition, but not the Python objects that its values are read with.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from guided.automata.automaton import Automaton
from guided.engine.algebra import (
    Alternatives,
    Composable,
    Composition,
    Concatenation,
    Dispatch,
    FreeText,
    Maybe,
    Named,
    Part,
    Repeat,
    Stored,
)
from guided.engine.located import Located
from guided.engine.network import leaf_of
from guided.engine.specs import (
    FINITE_SPECS,
    STORED_SPECS,
    StackSpec,
    StoredSpec,
    finite_data,
    finite_spec,
    impossible_parts,
    needs_stack,
)
from guided.errors import GuidedError
from guided.files import pack, unpack
from guided.limits import Limits
from guided.schema.frontend.json_values import value_of

__all__ = ["Composed"]

_ARRAYS = {"table": np.int32, "classes": np.uint8, "accepting": np.bool_, "labels": np.int32}


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """A composition with a fingerprint of its own."""

    kind: ClassVar[str] = "composition"

    tree: Composition
    # SHA-256 in hex of the composition that was compiled first.
    fingerprint: str
    # Those with which leaves are lowered to store them.
    limits: Limits = field(default=Limits(), repr=False)

    def __repr__(self) -> str:
        return repr(self.tree)

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that may be special tokens of a vocabulary."""
        return self.tree.markers

    @property
    def levels(self) -> int:
        """Nesting of the tree."""
        return self.tree.levels

    @property
    def inner(self) -> tuple[type[StoredSpec], ...]:
        """Classes of the leaves with a stack."""
        return tuple({type(spec): None for spec, _ in _leaves(self.tree, self.limits)})

    def impossible_parts(self, limits: Limits) -> tuple[str, ...]:
        """Return notes on parts of schemas in the tree that no text ever has."""
        found = dict[str, None]()
        for spec, place in _leaves(self.tree, limits):
            notes = impossible_parts(spec, limits)
            found.update(dict.fromkeys(f"{place}: {note}" if place else note for note in notes))
        return tuple(found)

    @property
    def data(self) -> str:
        """The tree as JSON."""
        content = {"tree": _stored(self.tree, self.limits), "fingerprint": self.fingerprint, "markers": self.markers}
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_data(cls, data: str, limits: Limits | None = None) -> "Composed":
        """See `StoredSpec`."""
        try:
            content = value_of(data, limits)
            tree = _loaded(content["tree"], limits or Limits())
            if not isinstance(tree, Composition):
                raise ValueError("its tree is a leaf")
            return cls(tree, str(content["fingerprint"]))
        except (KeyError, TypeError, AttributeError, RecursionError, GuidedError) as error:
            raise ValueError(f"not a valid composition: {error}") from error


_KINDS: Mapping[str, type[Composition]] = {
    "concatenation": Concatenation, "alternatives": Alternatives, "dispatch": Dispatch, "optional": Maybe, "repeat": Repeat,
    "named": Named, "text": FreeText,
}  # fmt: skip


def _leaves(part: Part, limits: Limits) -> Iterator[tuple[StackSpec, str]]:
    """Yield the specs with a stack that leaves are lowered to, with their places."""
    if isinstance(part, Composition):
        for each in part.parts:
            yield from _leaves(each, limits)
    elif not isinstance(part, (str, *FINITE_SPECS)) and (leaf := leaf_of(part, limits)).lowered is not None:
        yield leaf.lowered, leaf.place


def _stored(part: Part, limits: Limits) -> Any:
    """Return a tree as JSON values: ``[kind, content...]``."""
    if isinstance(part, str):
        return part
    if isinstance(part, Composition):
        kind = next(kind for kind, node in _KINDS.items() if isinstance(part, node))
        return [
            kind,
            *(getattr(part, name) for name in part.own_names),
            *(_stored(each, limits) for each in part.parts),
        ]
    if isinstance(part, FINITE_SPECS):
        return finite_data(part)
    if isinstance(part, Located):
        return ["located", part.place, _stored(part.spec, limits)]
    leaf = leaf_of(part, limits)
    if leaf.lowered is not None:
        return ["spec", leaf.lowered.kind, leaf.lowered.data, getattr(part, "markers", ())]
    assert leaf.automaton is not None
    arrays = [[getattr(leaf.automaton, name).shape, pack(getattr(leaf.automaton, name).tobytes())] for name in _ARRAYS]
    return ["automaton", arrays, getattr(part, "markers", ()), leaf.max_tokens]


def _loaded(stored: Any, limits: Limits) -> Part:
    if isinstance(stored, str):
        return stored
    if (spec := finite_spec(stored)) is not None:
        return spec
    kind, *rest = stored
    return _LOADERS[kind](rest, limits)


def _automaton(rest: list[Any], limits: Limits) -> Stored:
    arrays, markers, max_tokens = rest
    budget = [limits.file_bytes]
    found: list[Any] = []
    for dtype, (shape, packed) in zip(_ARRAYS.values(), arrays, strict=True):
        data = unpack(packed, budget[0])
        budget[0] -= len(data)
        found.append(np.frombuffer(data, dtype).reshape([int(length) for length in shape]))
    # The arrays are checked.
    return Stored(
        Automaton.from_table(*found), tuple(map(str, markers)), None if max_tokens is None else int(max_tokens)
    )


def _spec(rest: list[Any], limits: Limits) -> Stored:
    kind, data, markers = rest
    spec = STORED_SPECS[kind].from_data(data, limits)
    if not needs_stack(spec):
        raise ValueError(f"a part of kind {kind!r}")
    return Stored(spec, tuple(map(str, markers)))


def _parts(rest: list[Any], limits: Limits) -> tuple[Part, ...]:
    return tuple(_loaded(each, limits) for each in rest)


_LOADERS: Mapping[str, Callable[[list[Any], Limits], Part | Composable]] = {
    "concatenation": lambda rest, limits: Concatenation(_parts(rest, limits)),
    "alternatives": lambda rest, limits: Alternatives(_parts(rest, limits)),
    "dispatch": lambda rest, limits: Dispatch(_parts(rest, limits)),
    "optional": lambda rest, limits: Maybe(_loaded(rest[0], limits)),
    "repeat": lambda rest, limits: Repeat(_loaded(rest[2], limits), rest[0], rest[1], *_parts(rest[3:], limits)),
    "named": lambda rest, limits: Named((_loaded(rest[1], limits),), rest[0]),
    "text": lambda rest, _limits: FreeText(*rest),
    "located": lambda rest, limits: Located(_loaded(rest[1], limits), str(rest[0])),
    "spec": _spec,
    "automaton": _automaton,
}
