"""Schemas lowered for tests, and the verdicts of their formulas by the slow evaluator."""

from collections.abc import Mapping
from typing import Any

from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.frontend.lowering import Lowering
from tests.oracles import SlowTruth
from tests.schema.oracle_ecma import search

__all__ = ["DRAFT", "holds", "lowered"]

DRAFT = {
    3: "http://json-schema.org/draft-03/schema#",
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}


def lowered(
    schema: Any, registry: Mapping[str, Any] | None = None, limits: Limits | None = None, **options: Any
) -> Lowering:
    """The schema, lowered to its end."""
    lowering = Lowering(schema, JsonOptions(**options), Formulas(), limits or Limits(), registry)
    lowering.check()
    return lowering


def holds(schema: Any, value: Any, registry: Mapping[str, Any] | None = None, **options: Any) -> bool:
    """Does the schema's formula hold of the value?"""
    lowering = schema if isinstance(schema, Lowering) else lowered(schema, registry, **options)
    return SlowTruth(lowering, matches=search).of_value(lowering.root, value)
