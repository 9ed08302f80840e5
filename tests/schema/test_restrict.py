import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.errors import SchemaError
from guided.limits import Limits
from guided.schema.formula.atoms import TYPES, JsonOptions
from guided.schema.formula.formulas import FALSE, TRUE, Formulas
from guided.schema.frontend.lowering import Lowering
from guided.schema.values.restrict import restrict
from tests.oracles import SlowTruth, json_type
from tests.profiles import examples
from tests.schema.lowered import lowered
from tests.schema.oracle_ecma import search
from tests.schema.strategies import instances_near, schemas

OWN = {
    "number": {"integer", "minimum", "maximum", "multipleOf", "equals"},
    "string": {"length", "pattern", "format", "strings"},
    "object": {"required", "properties", "propertyNames", "minProperties", "maxProperties"},
    "array": {"items", "minItems", "maxItems", "contains", "uniqueItems"},
}


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_a_restriction_holds_of_a_value_as_the_formula_does_and_has_its_types_atoms_alone(data):
    schema = data.draw(schemas(unevaluated=True))
    try:
        lowering = lowered(schema)
        memos = {name: {} for name in TYPES}
        found = {name: restrict(lowering.formulas, lowering, lowering.root, name, memos[name]) for name in TYPES}
    except SchemaError:
        return
    for name, formula in found.items():
        assert {node[0] for node in lowering.formulas.atoms(formula)} <= OWN.get(name, set())
    instance = data.draw(instances_near(schema))
    truth, formula = SlowTruth(lowering, matches=search), found[json_type(instance)]
    of_part = bool(formula) if formula <= TRUE else truth.of_part(formula, instance)
    assert of_part == truth.of_value(lowering.root, instance)


def restricted(schema, name, limits=None):
    lowering = Lowering(schema, JsonOptions(), Formulas(), limits or Limits())
    return lowering.formulas.nodes[restrict(lowering.formulas, lowering, lowering.root, name, {})]


def test_other_types_vanish():
    schema = {"type": ["string", "integer"], "minLength": 2, "minimum": 1, "required": ["a"]}
    assert restricted(schema, "string") == ("length", 2, -1)
    assert restricted(schema, "object") == ("F",)
    assert restricted({"required": ["a"]}, "array") == ("T",)
    assert restricted({"not": {"required": ["a"]}}, "array") == ("F",)


@pytest.mark.parametrize("depth", [10, 33, 64, 100, 3000])
@pytest.mark.parametrize("connective", ["allOf", "not"])
def test_schemas_nested_beyond_one_lowering_are_expanded(connective, depth):
    schema = {"type": "string", "minLength": 2}
    for _ in range(depth):
        schema = {"allOf": [schema]} if connective == "allOf" else {"not": schema}
    expected = ("length", 2, -1)
    if connective == "allOf" or depth % 2 == 0:
        assert restricted(schema, "string") == expected
        assert restricted(schema, "null") == ("F",)
    else:
        assert restricted(schema, "null") == ("T",)


def test_a_loop_longer_than_one_lowering_is_distinguished_from_depth():
    schema = {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{(i + 1) % 100}"}]} for i in range(100)},
    }
    with pytest.raises(SchemaError, match="refers to itself"):
        restricted(schema, "string")


def test_a_loop_below_an_absorbed_part_terminates():
    schema = {
        "properties": {"a": {"$ref": "#/$defs/d0"}},
        "$defs": {"d0": {"anyOf": [True, {"$ref": "#/$defs/d1"}]}, "d1": {"type": "null"}},
    }
    assert restricted(schema, "object")[0] == "properties"


def test_truths_are_their_own_restriction():
    lowering = lowered(True)
    assert restrict(lowering.formulas, lowering, TRUE, "null", {}) == TRUE
    assert restrict(lowering.formulas, lowering, FALSE, "null", {}) == FALSE
