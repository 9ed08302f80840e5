import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.errors import LimitError, SchemaError
from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import FALSE, TRUE, Formulas
from guided.schema.frontend.lowering import Lowering
from tests.oracles import SlowTruth
from tests.profiles import examples
from tests.schema import official
from tests.schema.lowered import DRAFT, holds, lowered
from tests.schema.oracle import Undefined, Validator, lifted
from tests.schema.oracle_ecma import search
from tests.schema.strategies import instances_near, schemas

# The suite asks for what the option format="annotate" leaves to the user.
OF_FORMAT = "optional/format-assertion.json"


@pytest.mark.parametrize(
    "case", [*official.cases("required"), *official.cases("optional")], ids=lambda case: getattr(case, "name", "")
)
def test_the_official_suite_agrees(case):
    if case.file == OF_FORMAT:
        pytest.skip("the option format decides, not the metaschema")
    lowering = lowered(case.schema, official.registry(), format="annotate")
    for test in case.tests:
        assert holds(lowering, test.data) == test.valid, test.description


def maskbench():
    folder = official.data_folder("maskbench-dev")
    if folder is None:
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"maskbench-dev is {official.MISSING}"))]
    return [pytest.param(path, id=path.stem) for path in sorted(folder.glob("*.json"))[::9]]


@pytest.mark.parametrize("path", maskbench())
def test_real_schemas_agree_with_their_instances(path):
    found = json.loads(path.read_bytes())
    if '"format"' in json.dumps(found["schema"]):
        pytest.skip("has formats")
    lowering = lowered(found["schema"])
    assert [holds(lowering, test["data"]) for test in found["tests"]] == [test["valid"] for test in found["tests"]]


def loop_or_lowered(schema):
    """The schema lowered; None if it refers to itself about the same value, the only reason to refuse it."""
    try:
        return lowered(schema)
    except SchemaError as error:
        if "refers to itself" not in error.reason:
            raise
        return None


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_random_schemas_agree_with_the_specification(data):
    schema = data.draw(schemas(unevaluated=True, unique=True))
    lowering = loop_or_lowered(schema)
    if lowering is None:
        return
    instance = data.draw(instances_near(schema))
    try:
        expected = Validator(schema).is_valid(lifted(instance))
    except Undefined:
        return
    assert holds(lowering, instance) == expected


# ------------------------------------------------------------------------------------------------ keys and laziness


def atoms(lowering, formula):
    return lowering.formulas.atoms(formula)


def object_table(lowering, formula):
    """The one table of properties of a formula of a value."""
    (of_object,) = (node[1] for node in atoms(lowering, formula) if node[0] == "object")
    (table,) = (node for node in atoms(lowering, of_object) if node[0] == "properties")
    return table


def root_of(lowering):
    node = lowering.formulas.nodes[lowering.root]
    return lowering.expand(node[1]) if node[0] == "schema" else lowering.root


def test_subschemas_that_differ_in_annotations_have_one_formula():
    inner = {"type": "object", "properties": {"x": {"type": "integer", "minimum": 0}}, "required": ["x"]}
    other = {
        "title": "x",
        "required": ["x"],
        "properties": {"x": {"minimum": 0, "type": "integer", "default": 3}},
        "type": ["object"],
    }
    lowering = lowered({"properties": {"a": inner, "b": other, "c": {"description": "anything"}}})
    names = dict(object_table(lowering, root_of(lowering))[1])
    assert names["a"] == names["b"] > TRUE
    assert names["c"] == TRUE


def test_references_to_one_schema_have_one_key():
    schema = {
        "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"$ref": "#/$defs/m", "description": "the same"}},
        "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}, "m": {"$ref": "#/$defs/n"}},
    }
    lowering = lowered(schema)
    (_, one), (_, other) = object_table(lowering, root_of(lowering))[1]
    assert one == other
    kind, key = lowering.formulas.nodes[one]
    assert kind == "schema"
    assert lowering.pointer(key) == "/$defs/n"


class CountedReads(dict):
    """An object of a schema that counts how often its members are listed."""

    reads = 0

    def items(self):
        self.reads += 1
        return super().items()


@pytest.mark.parametrize("n", [2, 200])
def test_a_schema_is_read_as_often_however_many_references_lead_to_it(n):
    target = CountedReads({"type": "object", "properties": {"a": {"type": "string"}}})
    places = {f"p{i}": {"$ref": "#/definitions/one"} for i in range(n)}
    lowered({"definitions": {"one": target}, "properties": places})
    assert 0 < target.reads <= 4


def test_a_large_schema_is_lowered_as_it_is_asked_for():
    part = {"type": "object", "properties": {"x": {"type": "array", "items": {"minimum": 1, "maximum": 3}}}}
    schema = {"properties": {f"p{i}": {**part, "minProperties": i} for i in range(5000)}}
    lazy, whole = Lowering(schema, JsonOptions(), Formulas(), Limits()), lowered(schema)
    assert len(lazy.formulas.nodes) < len(whole.formulas.nodes) / 2
    assert holds(lazy, {"p4999": {}}) is False
    assert holds(lazy, {"p1": {"x": [1, 3]}}) is True
    assert holds(lazy, {"p1": {"x": [4]}}) is False


def test_the_same_schema_gives_the_same_formulas_and_keys():
    schema = {
        "anyOf": [{"$ref": "#/$defs/a"}, {"items": {"$ref": "#"}}],
        "$defs": {"a": {"properties": {"x": {"$ref": "#"}}}},
    }
    one, other = lowered(schema), lowered(json.loads(json.dumps(schema)))
    assert one.formulas.nodes == other.formulas.nodes
    assert (one.root, one.sequence) == (other.root, other.sequence)


def test_names_are_in_the_order_of_the_text_through_references():
    schema = {
        "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"c": {}}}],
        "properties": {"d": {}},
        "required": ["e"],
        "$defs": {"base": {"properties": {"b": {}, "a": {}}}},
    }
    lowering = lowered(schema)
    nodes = sorted(lowering.sequence, key=lowering.sequence.__getitem__)
    described = [lowering.formulas.nodes[node] for node in nodes]
    assert [[name for name, _ in node[1]] if node[0] == "properties" else node[1] for node in described] == [
        ["b", "a"],
        ["c"],
        ["d"],
        "e",
    ]


def test_names_that_hold_anything_still_have_a_place_in_the_order():
    lowering = lowered({"properties": {"a": {}, "b": True}})
    assert object_table(lowering, root_of(lowering))[1] == (("a", TRUE), ("b", TRUE))


# -------------------------------------------------------------------------------------------------- loops and depths


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"$ref": "#"}, ""),
        ({"allOf": [{"$ref": "#"}]}, "/allOf/0"),
        ({"properties": {"a": {"not": {"$ref": "#/properties/a"}}}}, "/properties/a/not"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "/$defs/a"),
        ({"unevaluatedItems": False, "anyOf": [{"$ref": "#"}]}, "/anyOf/0"),
    ],
)
def test_a_schema_that_only_repeats_itself_is_refused_with_its_place(schema, pointer):
    with pytest.raises(SchemaError, match="refers to itself") as caught:
        lowered(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, "$ref")


def test_recursion_through_parts_of_a_value_is_not_a_loop():
    schema = {"type": ["array", "null"], "items": {"anyOf": [{"$ref": "#"}, {"not": {"$ref": "#"}, "type": "integer"}]}}
    assert holds(schema, [[None, []], 3])
    assert not holds(schema, [["x"]])


@pytest.mark.parametrize(
    "wrap",
    [lambda s: {"allOf": [s]}, lambda s: {"not": s}, lambda s: {"if": s, "then": False}, lambda s: {"anyOf": [s, s]}],
)
def test_ten_thousand_levels_about_one_value_are_a_limit(wrap):
    schema = {"type": "string"}
    for _ in range(10_001):
        schema = wrap(schema)
    with pytest.raises(LimitError) as caught:
        lowered(schema)
    assert caught.value.what == "reference_depth"


def test_ten_thousand_levels_below_are_none():
    schema = {"type": "string"}
    for _ in range(10_001):
        schema = {"items": {"properties": {"a": schema}}}
    lowered(schema)


def test_a_chain_of_ten_thousand_references_is_followed():
    chain = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(10_000)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**chain, "d10000": {"type": "null"}}}
    assert holds(schema, None)
    assert not holds(schema, 1)


def test_references_that_double_at_every_level_are_lowered_once():
    definitions = {
        f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"maxLength": i, "$ref": f"#/$defs/d{i + 1}"}]}
        for i in range(200)
    }
    lowering = lowered({"$ref": "#/$defs/d0", "$defs": {**definitions, "d200": {"type": "string"}}})
    assert len(lowering.formulas.nodes) < 5_000


def test_schemas_and_values_in_many_places_are_lowered_once():
    schema, value, table = {"minLength": 1}, [1], {"maxItems": 1}
    for _ in range(200):
        schema, value, table = {"anyOf": [schema, schema]}, [value, value], {"properties": {"a": table, "b": table}}
    lowering = lowered(
        {
            "allOf": [schema, table],
            "enum": [value],
            "unevaluatedProperties": {"$ref": "#there"},
            "$defs": {"x": {"$anchor": "there"}},
        }
    )
    assert len(lowering.formulas.nodes) < 10_000


def test_a_hundred_thousand_values_are_one_set():
    schema = {"enum": [f"value {i}" for i in range(100_000)]}
    lowering = lowered(schema)
    assert len(lowering.formulas.nodes) < 20
    assert holds(lowering, "value 99999")
    assert not holds(lowering, "value 100000")


def test_a_constant_may_nest_ten_thousand_deep():
    value = 1
    for _ in range(10_000):
        value = [value]
    lowering = lowered({"const": value})
    assert len(lowering.formulas.nodes) > 10_000


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"type": 5}, "", "type"),
        ({"type": "text"}, "", "type"),
        ({"type": []}, "", "type"),
        ({"properties": {"a/b": {"minLength": "x"}}}, "/properties/a~1b", "minLength"),
        ({"items": {"maxItems": -1}}, "/items", "maxItems"),
        ({"minLength": 1.5}, "", "minLength"),
        ({"minLength": True}, "", "minLength"),
        ({"properties": []}, "", "properties"),
        ({"properties": {"a": 5}}, "/properties/a", "properties"),
        ({"patternProperties": 1}, "", "patternProperties"),
        ({"additionalProperties": "no"}, "/additionalProperties", "additionalProperties"),
        ({"required": "a"}, "", "required"),
        ({"required": [1]}, "", "required"),
        ({"allOf": []}, "", "allOf"),
        ({"anyOf": {}}, "", "anyOf"),
        ({"oneOf": [None]}, "/oneOf/0", "oneOf"),
        ({"not": [1]}, "/not", "not"),
        ({"if": 1}, "/if", "if"),
        ({"enum": "a"}, "", "enum"),
        ({"minimum": "1"}, "", "minimum"),
        ({"maximum": True}, "", "maximum"),
        ({"minimum": float("nan")}, "", "minimum"),
        ({"multipleOf": 0}, "", "multipleOf"),
        ({"multipleOf": -1}, "", "multipleOf"),
        ({"pattern": 3}, "", "pattern"),
        ({"format": 3}, "", "format"),
        ({"uniqueItems": 1}, "", "uniqueItems"),
        ({"items": [{}]}, "", "items"),
        ({"prefixItems": {}}, "", "prefixItems"),
        ({"contains": 1}, "/contains", "contains"),
        ({"contains": {}, "minContains": "x"}, "", "minContains"),
        ({"dependentRequired": {"a": "b"}}, "", "dependentRequired"),
        ({"dependentSchemas": {"a": ["b"]}}, "/dependentSchemas/a", "dependentSchemas"),
        ({"propertyNames": 1}, "/propertyNames", "propertyNames"),
        ({"unevaluatedItems": 1}, "/unevaluatedItems", "unevaluatedItems"),
        ({"$ref": 1}, "", "$ref"),
        ({"$dynamicRef": 1}, "", "$dynamicRef"),
        ({"const": {1, 2}}, "", "const"),
        (None, "", "schema"),
        ([], "", "schema"),
    ],
)
def test_malformed_keywords_are_refused_with_their_place(schema, pointer, keyword):
    with pytest.raises(SchemaError) as caught:
        lowered(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)


def test_a_malformed_keyword_counts_even_where_its_type_is_excluded():
    with pytest.raises(SchemaError):
        lowered({"type": "string", "minimum": "x"})


def test_malformed_keywords_are_refused_though_unsupported_ones_are_recorded():
    with pytest.raises(SchemaError):
        lowered({"type": 5}, unsupported="record")


def test_numbers_of_a_schema_have_a_bound():
    with pytest.raises(LimitError) as caught:
        lowered({"minimum": json.loads("1e20000", parse_float=Decimal)})
    assert caught.value.what == "digits"


# Every subset of seven branches that may hold evaluates other names.
MANY = {"anyOf": [{"properties": {f"p{i}": {}}, "minProperties": i} for i in range(7)], "unevaluatedProperties": False}


def test_unenforceable_keywords_are_refused_with_their_place():
    with pytest.raises(SchemaError) as caught:
        lowered({"properties": {"a": MANY}})
    assert (caught.value.pointer, caught.value.keyword) == ("/properties/a", "unevaluatedProperties")


def test_unenforceable_keywords_are_recorded_on_demand_and_others_enforced():
    lowering = lowered({"properties": {"a": MANY}}, unsupported="record")
    assert list(lowering.unenforced) == [("/properties/a", "unevaluatedProperties")]
    assert holds(lowering, {"a": {"other": 1}})
    assert not holds({"properties": {"a": {**MANY, "type": "array"}}}, {"a": {}}, unsupported="record")


# --------------------------------------------------------------------------------------------------- particular values


@pytest.mark.parametrize("mode", ["assert", "annotate", "strict"])
def test_formats_are_enforced_or_not_by_the_option(mode):
    known = lowered({"format": "date"}, format=mode)
    assert (root_of(known) == TRUE) == (mode == "annotate")
    if mode == "strict":
        with pytest.raises(SchemaError) as caught:
            lowered({"format": "colour"}, format=mode)
        assert caught.value.keyword == "format"
    else:
        assert root_of(lowered({"format": "colour"}, format=mode)) == TRUE


@pytest.mark.parametrize("number", [0.1, 1, 1e21, -2.5e-7])
def test_numbers_are_the_decimals_that_they_are_written_as(number):
    lowering = lowered({"minimum": number})
    (of_number,) = (node[1] for node in atoms(lowering, root_of(lowering)))
    assert lowering.formulas.nodes[of_number] == ("minimum", Fraction(repr(number)), False)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [(1, 1.0, True), (1, True, False), (0, False, False), ([1], [1.0], True), ({"a": 0}, {"a": False}, False), (None, "null", False),
     ("a", "A", False), ([], {}, False), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True)],
)  # fmt: skip
def test_constants_are_equal_as_json_has_it(one, other, equal):
    assert holds({"const": one}, other) == equal
    assert holds({"enum": ["x", one]}, other) == equal


@pytest.mark.parametrize(
    "schema",
    [{"minLength": 3, "maxLength": 2}, {"minItems": 2, "maxItems": 1}, {"minProperties": 2, "maxProperties": 1}],
)
def test_contradictory_counts_exclude_the_type_at_once(schema):
    lowering = lowered(schema)
    (node,) = atoms(lowering, root_of(lowering))
    assert node[0] == "type"


def test_a_contradiction_of_types_is_false():
    assert root_of(lowered({"type": "string", "minLength": 3, "maxLength": 2})) == FALSE


def test_unique_items_are_an_atom_of_their_own():
    lowering = lowered({"uniqueItems": True, "items": {"type": "boolean"}})
    (of_array,) = (node[1] for node in atoms(lowering, root_of(lowering)))
    assert ("uniqueItems",) in atoms(lowering, of_array)
    assert root_of(lowered({"uniqueItems": True, "maxItems": 1})) == root_of(lowered({"maxItems": 1}))


def test_the_evaluator_can_tell_right_from_wrong():
    lowering = lowered({"properties": {"a": {"pattern": "^x"}}, "required": ["a"]})
    truth = SlowTruth(lowering, matches=search)
    assert truth.of_value(lowering.root, {"a": "xy"})
    assert not truth.of_value(lowering.root, {"a": "yx"})
    assert not truth.of_value(lowering.root, {})


def test_recorded_keywords_are_recorded_at_every_place():
    part = {"format": "idn-hostname"}
    lowering = lowered({"properties": {"a": part, "b": dict(part)}, "items": dict(part)}, unsupported="record")
    assert list(lowering.unenforced) == [(place, "format") for place in ("/properties/a", "/properties/b", "/items")]


def test_names_of_members_are_strings_however_the_schema_came_to_be():
    for schema in ({"properties": {1: {}}}, {"const": {1: 2}}, {"required": [1]}, {"dependentSchemas": {None: {}}}):
        with pytest.raises(SchemaError):
            lowered(schema)


@pytest.mark.parametrize(
    ("year", "owner", "companion", "values"),
    [
        (2020, {"contains": True}, "minContains", (1, 2)),
        (2019, {"contains": True}, "maxContains", (1, 2)),
        (7, {"if": True}, "then", (True, False)),
        (2020, {"if": False}, "else", (True, False)),
        (4, {"minimum": 1}, "exclusiveMinimum", (True, False)),
        (3, {"maximum": 1}, "exclusiveMaximum", (True, False)),
    ],
)
def test_schemas_that_differ_in_a_companion_only_are_not_taken_for_each_other(year, owner, companion, values):
    """One schema has all of them as members, beside the owner without its companion."""
    parts = [{**owner, companion: value} for value in values] + [owner]
    together = {"$schema": DRAFT[year], "properties": {str(i): part for i, part in enumerate(parts)}}
    lowering = lowered(together)
    for value in [1, 0, 2, [], [1], [1, 2], [1, 2, 3]]:
        alone = [holds({"$schema": DRAFT[year], **part}, value) for part in parts]
        assert [holds(lowering, {str(i): value}) for i in range(len(parts))] == alone
