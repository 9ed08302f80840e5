"""Objects that are one of many: which keys may come, what is allowed on the way, and that hundreds of alternatives pass no budget."""

import json
import re
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError, SchemaError
from guided.integrations.serving import FRONT_END_LIMITS
from guided.limits import Limits
from guided.schema.containers.general import ObjectState
from guided.schema.containers.opening import Containers
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.frontend.lowering import Lowering
from guided.schema.pushdown.machine import SchemaMachine
from tests.masks import bits
from tests.profiles import examples
from tests.schema.engine import BYTES, compiled
from tests.schema.keywords.test_names import read_or_refused
from tests.schema.oracle_published import is_valid
from tests.schema.strategies import schemas

NAMES = st.sampled_from(["a", "b", "c", "d", "e", "kind"])
VALUES = st.sampled_from([True, {"type": "integer"}, {"enum": ["x"]}, {"enum": ["y", "z"]}, {"const": "z"}, False])
ALTERNATIVES = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(NAMES, VALUES, max_size=4)},
    optional={
        "required": st.lists(NAMES, max_size=3, unique=True),
        "additionalProperties": st.sampled_from([False, {"type": "integer"}]),
        "patternProperties": st.dictionaries(st.sampled_from(["^[ab]", "d|e"]), VALUES, max_size=1),
        "maxProperties": st.integers(1, 3),
    },
)
# Alternatives among alternatives, beside what holds of all.
UNIONS = st.recursive(
    ALTERNATIVES,
    lambda below: st.builds(
        lambda word, parts, more: {word: parts, **more},
        st.sampled_from(["oneOf", "anyOf"]),
        st.lists(below, min_size=2, max_size=6),
        st.sampled_from([{}, {"required": ["kind"]}, {"properties": {"kind": {"enum": ["x", "y"]}}}, {"minProperties": 1}]),
    ),
    max_leaves=9,
)  # fmt: skip
# Several choices together, about names of which each may be in one of them, in several or in all.
FEW = st.sampled_from([("a", "b"), ("c", "d"), ("e", "f"), ("kind", "g"), ("h",), ("a", "c")])
CHOICES = FEW.flatmap(
    lambda names: st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(st.sampled_from(names), VALUES, max_size=2),
                "required": st.lists(st.sampled_from(names), max_size=2, unique=True),
            },
        ),
        min_size=2,
        max_size=3,
    )
).flatmap(
    lambda parts: st.sampled_from(
        [{"oneOf": parts}, {"anyOf": parts}, {"if": parts[0], "then": parts[-1]}, {"not": {"allOf": parts}}]
    )
)
DIVIDED = st.builds(
    lambda choices, names, more: {"type": "object", "properties": dict.fromkeys(names, True), "allOf": choices, **more},
    st.lists(CHOICES, min_size=4, max_size=7),
    st.permutations("abcdefgh"),
    st.sampled_from([
        {}, {}, {"required": ["a", "kind"]}, {"patternProperties": {"^[ac]": {"type": "integer"}}}, {"maxProperties": 3},
        {"additionalProperties": False}, {"propertyNames": {"maxLength": 1}}, {"required": ["z"], "additionalProperties": {"enum": ["x"]}},
    ]),
)  # fmt: skip
VALUE = st.dictionaries(NAMES, st.sampled_from([1, "x", "y", "z", None]), max_size=4)


def machine_of(schema: Any, order: str) -> SchemaMachine:
    """The automaton of a schema, which is asked for its answers."""
    formulas, options = Formulas(), JsonOptions(property_order=order)  # type: ignore[arg-type]
    return SchemaMachine(Lowering(schema, options, formulas, Limits()), formulas, options, Limits(), bytes([1]) * 256)


def fresh(state: ObjectState) -> ObjectState:
    """The same state among others of which nothing is known yet."""
    return state._replace(shared=Containers(state.shared.context).shared)


def alone_after(state: ObjectState, label: int) -> Any:
    """What follows a key, by its own derivative."""
    after = state.derivative(label)
    found = None if after is None else state.shared.pending.query((after.keys, after.seen), after.formulas)
    return None if after is None or found is None else (found[0], after.seen, found[1])


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(UNIONS | DIVIDED | schemas(6, about="object", references=False), st.sampled_from(["schema", "any"]), st.data())
def test_allowed_keys_are_those_allowed_one_by_one(schema: Any, order: str, data: st.DataObject) -> None:
    """What is known of labels together is what each label's own derivative says, from state to state; conjunctive states agree."""
    try:
        machine = machine_of(schema, order)
        context, shared, satisfiability = machine.context, machine.containers.shared, machine.containers.satisfiability
        wanted = (context.typed(context.lowering.root, "object"),)
        state = ObjectState(shared, context.table_of(wanted), 0, wanted)
        for _ in range(4):
            assert state.is_live() == any(True for _ in fresh(state).live_terms())
            if not state.is_live():
                return
            n = len(state.keys.labels)
            cold = fresh(state)
            alone = [alone_after(cold, label) for label in range(n)]
            labels = state.labels()
            assert labels == sum(1 << label for label, one in enumerate(alone) if one is not None)
            asked = data.draw(st.integers(0, (1 << n) - 1))
            assert fresh(state).may_come(asked) == bool(labels & asked)
            found = [state.after(label) for label in range(n)]
            assert [one and (one[0], one[1].seen, one[1].formulas) for one in found] == alone
            chosen = satisfiability.conjunctive_state(state.keys, state.seen, state.formulas) or state
            assert chosen.labels() == labels
            assert chosen.at_close() == state.at_close()
            successors = [one for one in found if one is not None]
            if not successors:
                return
            query, after = successors[data.draw(st.integers(0, len(successors) - 1))]
            told = data.draw(st.sampled_from(machine.containers.satisfiability.valuations(query) or (0,)))
            reported = after.with_valuation(query[1:], told)
            if reported is None:
                return
            state = reported
    except (SchemaError, LimitError):
        reject()


def conditions(n: int) -> dict[str, Any]:
    """A chain of conditions on one name, each with a condition on another."""
    chain: dict[str, Any] = {"properties": {"last": False}}
    for i in range(n):
        more = {"required": [f"n{i}"]}, {"properties": {f"n{i}": {"type": "string"}}}
        inner = {"if": {"properties": {"type": {"const": f"t{i}"}}}, "then": more[0], "else": more[1]}
        chain = {"if": {"properties": {"kind": {"const": f"k{i}"}}}, "then": inner, "else": chain}
    kinds, types = ([f"{one}{i}" for i in range(n)] for one in "kt")
    return {
        "type": "object",
        "properties": {"kind": {"enum": kinds}, "type": {"enum": types}},
        "required": ["kind"],
        **chain,
    }


def n_calls(function: Callable[[], object]) -> int:
    """Number of Python functions that are called."""
    n = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal n
        n += event == "call"

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return n


def test_whether_keys_may_come_takes_less_than_what_follows_each() -> None:
    machine = machine_of(conditions(12), "any")
    context, shared = machine.context, machine.containers.shared
    wanted = (context.typed(context.lowering.root, "object"),)
    state = ObjectState(shared, context.table_of(wanted), 0, wanted)
    labels, cold = range(len(state.keys.labels)), fresh(state)
    assert n_calls(fresh(state).labels) < 0.75 * n_calls(lambda: [alone_after(cold, label) for label in labels])


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(UNIONS | DIVIDED, st.lists(VALUE, min_size=1, max_size=12))
def test_unions_accept_the_valid_values(schema: Any, values: list[Any]) -> None:
    try:
        index = compiled(schema, property_order="any")
    except (SchemaError, LimitError):
        assert not any(is_valid(schema, value) for value in values)
        return
    for value in values:
        assert index.accepts(json.dumps(value).encode()) == is_valid(schema, value)


def many(n: int, word: str, *, has_kind: bool) -> dict[str, Any]:
    """As many objects, told apart by a constant, or by names of their own in a value that comes before it."""
    kind = {"type": "string", "enum": ["%d"]}
    return {
        word: [
            {
                "type": "object",
                "properties": {
                    "note": {"type": "string"},
                    "of": {"type": "object", "properties": {f"p{i}": {"type": "string"}, "all": {}}, "additionalProperties": False},
                    **({"kind": {**kind, "enum": [f"k{i}"]}} if has_kind else {f"kind{i}": {}}),
                },
                "required": ["of", "kind" if has_kind else f"kind{i}"],
                "additionalProperties": False,
            }
            for i in range(n)
        ]
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("word", ["oneOf", "anyOf"])
@pytest.mark.parametrize("has_kind", [True, False])
def test_hundreds_of_alternatives_pass_no_budget(word: str, has_kind: bool) -> None:
    """More than 512, as in CloudFormation's schema, whose discriminator comes after what it tells apart."""
    index = compiled(many(600, word, has_kind=has_kind), property_order="schema", whitespace="compact")
    guide = index.guide()
    name = b'"kind":"k77"' if has_kind else b'"kind77":0'
    for byte in b'{"note":"","of":{"p77":""},' + name + b"}":
        assert byte in bits(guide.mask())
        guide.advance(byte)
    assert guide.is_accepting
    assert not index.accepts(b'{"of":{"p76":""},' + name + b"}")


@pytest.mark.parametrize("escapes", ["canonical", "dumps", "any"])
def test_names_that_no_text_has_are_past_like_others(escapes: str) -> None:
    """In the order of the schema a name of half a surrogate pair is past once a later one has been, and no other name with it."""
    names = {"\ud800": {}, "b": {}, "\u00e9": {}}
    for schema in (
        {"properties": names, "minProperties": 1},
        {"anyOf": [{"properties": names, "required": ["b"]}] * 2},
    ):
        index = compiled({"type": "object", **schema}, escapes=escapes)
        assert index.accepts(b'{"b":1,"c":2}')


TABLES: dict[str, Callable[[int], dict[str, Any]]] = {
    "names": lambda i: {"properties": {f"n{i}": {"type": "integer"}}},
    "patterns": lambda i: {"patternProperties": {f"^n{i}": {"type": "integer"}}},
    "required": lambda i: {"required": [f"n{i}"]},
    "names that must come": lambda i: {"properties": {f"n{i}": {"type": "integer"}}, "required": [f"n{i}"]},
}
REFUTED: dict[str, Callable[[list[Any]], dict[str, Any]]] = {
    "oneOf": lambda tables: {"type": "object", "oneOf": tables},
    "not": lambda tables: {"type": "object", "not": {"allOf": tables}},
    "not each": lambda tables: {"type": "object", "allOf": [{"not": table} for table in tables]},
    "contains": lambda tables: {"type": "array", "contains": {"allOf": tables}},
}


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("n", [12, *(pytest.param(n, marks=pytest.mark.slow) for n in (28, 60, 90)), 400])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("how", REFUTED)
def test_refuted_tables_are_walked_or_refused(how: str, table: str, n: int, order: str) -> None:
    schema = REFUTED[how]([TABLES[table](i) for i in range(n)])
    before = b"[{" if how == "contains" else b"{"
    pieces = before, b'"n1', b'":', b'"s"', b',"', b'n2":', b"7", b',"other":', b"1"
    for limits in (FRONT_END_LIMITS, Limits()):
        reason = read_or_refused(schema, pieces, limits, property_order=order)
        assert not reason or (n > 12 and ("/" in reason or "pattern" in reason))


def kind(i: int) -> dict[str, Any]:
    return {"properties": {"kind": {"const": f"k{i}"}}, "required": ["kind"]}


def each(part: Callable[[int], Any]) -> Callable[[int], dict[str, Any]]:
    return lambda n: {"type": "object", "allOf": [part(i) for i in range(n)]}


# Objects with many conditions, and how texts begin in which they meet.
CROWDED: dict[str, tuple[Callable[[int], dict[str, Any]], bytes]] = {
    "if of one name": (
        each(lambda i: {"if": kind(i), "then": {"required": [f"n{i}"], **TABLES["names"](i)}}), b'{"kind":"k3","n3":1,"n4":1'
    ),
    "if of several names": (each(lambda i: {"if": {"required": [f"n{i}"]}, "then": {"required": [f"m{i}"]}}), b'{"n1":1,"m1":7,"n5":1'),
    "if and else": (
        each(
            lambda i: {
                "if": {"properties": {f"n{i}": {"const": 1}}, "required": [f"n{i}"]},
                "then": {"required": [f"m{i}"]}, "else": {"properties": {f"m{i}": False}},
            }
        ),
        b'{"n1":1,"m1":7,"n5":2',
    ),
    "one of two names": (each(lambda i: {"anyOf": [{"required": [f"n{i}"]}, {"required": [f"m{i}"]}]}), b'{"n0":1,"n1":7,"m2":2'),
    "items of many objects": (
        lambda n: {
            "type": "object",
            "anyOf": [
                {"properties": {"v": {"type": "array", "items": {"enum": ["all", f"v{i}"]}}, **kind(i)["properties"]}}
                for i in range(n)
            ],
        },
        b'{"v":["all","v1"],"kind":',
    ),
}  # fmt: skip


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", CROWDED)
def test_many_conditions_are_served(name: str, order: str) -> None:
    """In the limits of a server. The items are those of a schema of Ansible."""
    make, text = CROWDED[name]
    pieces = re.findall(rb'"\w*|[^"\w]+|\w+', text)
    assert not read_or_refused(make(60), pieces, FRONT_END_LIMITS, property_order=order)


@pytest.mark.parametrize("how", ["anyOf", "oneOf"])
@pytest.mark.parametrize("order", ["schema", "any"])
def test_hundreds_of_tagged_objects_are_served(order: str, how: str) -> None:
    """Valuations of the tag were tried one by one, which took n^2 steps."""
    tables = [
        {
            "properties": {**kind(i)["properties"], "x": {"type": "integer"}},
            "required": ["kind"],
            "additionalProperties": False,
        }
        for i in range(500)
    ]
    pieces = [b"{", b'"kind"', b":", b'"k4', b'99"', b',"x"', b":3}"]
    assert not read_or_refused({"type": "object", how: tables}, pieces, FRONT_END_LIMITS, property_order=order)


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("n", [10, 16])
def test_values_some_of_which_imply_others_are_refuted(n: int, order: str) -> None:
    """As in Angular's schema: tables whose constant may lack, with tables of options; what one value allows another allows, too."""

    def options(i: int) -> dict[str, Any]:
        names = [f"p{j}" for j in range(3 * i % n + 1)] + [f"q{i % 4}{j}" for j in range(6)]
        return {
            "type": "object",
            "properties": {name: {"type": "boolean"} for name in names},
            "additionalProperties": False,
        }

    tables = [
        {"properties": {**kind(i)["properties"], "of": options(i)}, "additionalProperties": False} for i in range(n)
    ]
    spec = JsonSchema({"type": "object", "oneOf": tables}, whitespace="compact", property_order=order)  # type: ignore[arg-type]
    guide = compile_spec(spec, BYTES, FRONT_END_LIMITS).guide()
    for byte in b'{"of":{"p1":true':
        assert byte in bits(guide.mask())
        guide.advance(byte)


def arrays(word: str, part: Callable[[int], Any], **more: Any) -> Callable[[int], dict[str, Any]]:
    return lambda n: {"type": "array", word: [part(i) for i in range(n)], **more}


# Conditions on one object or array, each of which is cheap alone.
MANY: dict[str, Callable[[int], dict[str, Any]]] = {
    "names that need the next": lambda n: {"type": "object", "dependentRequired": {f"n{i}": [f"n{i + 1}"] for i in range(n)}},
    "names that need all": lambda n: {"type": "object", "dependentRequired": {f"n{i}": [f"n{j}" for j in range(n)] for i in range(n)}},
    "names that need one before": lambda n: {
        "type": "object", "dependentRequired": {f"n{i}": [f"n{(i - 1) // 2}"] for i in range(1, n + 1)},
    },
    "names that need the next, and a table": lambda n: {
        "type": "object", "dependentSchemas": {f"n{i}": {"required": [f"n{i + 1}"], **TABLES["names"](i)} for i in range(n)},
    },
    "two names each": each(lambda i: {"anyOf": [{"required": [f"n{i}"]}, {"required": [f"m{i}"]}]}),
    "two names each, chained": each(lambda i: {"anyOf": [{"required": [f"n{i}"]}, {"required": [f"n{i + 1}"]}]}),
    "one of n patterns": lambda n: {
        "type": "object",
        "oneOf": [{"patternProperties": {f"^n{i}": {"type": "string"}}, "required": [f"k{i}"]} for i in range(n)],
    },
    "one of n tables that few values refute": lambda n: {
        "type": "object", "properties": {f"n{i}": {} for i in range(7)}, "additionalProperties": False,
        "oneOf": [{"properties": {f"n{i}": {"not": {"const": j}} for i in range(7)}} for j in range(min(n, 9))],
    },
    "counted patterns": lambda n: {
        "type": "object", "minProperties": 3 * n, "additionalProperties": False,
        "patternProperties": {f"^{chr(97 + i % 26)}{i}": {"type": "integer"} for i in range(n)},
    },
    "half of n names, in any order": lambda n: {
        "type": "object", "minProperties": n // 2, "properties": {f"n{i}": {} for i in range(n)}, "additionalProperties": False,
    },
    "all of n names but one": lambda n: {
        "type": "object", "minProperties": n - 1, "dependentRequired": {"n0": ["n1"]},
        "propertyNames": {"enum": [f"n{i}" for i in range(n)]},
    },
    "items of many kinds": arrays("allOf", lambda i: {"contains": {"const": i}}),
    "items of many objects": arrays("allOf", lambda i: {"contains": kind(i)}),
    "strings of many lengths": arrays("allOf", lambda i: {"contains": {"minLength": i, "type": "string"}}),
    "items of one kind of many": arrays("oneOf", lambda i: {"contains": {"const": i}}),
    "items of no kind": arrays("allOf", lambda i: {"not": {"contains": {"const": i}}}),
    "an item needs the next": arrays("allOf", lambda i: {"if": {"contains": {"const": i}}, "then": {"contains": {"const": i + 1}}}),
    "one of n patterns of items": arrays("oneOf", lambda i: {"items": {"type": "string", "pattern": f"^n{i}"}}, minItems=1),
    "n to 2n integers": lambda n: {
        "type": "array", "contains": {"type": "integer"}, "minContains": n, "maxContains": 2 * n, "maxItems": 3 * n,
    },
    "an item behind n": lambda n: {
        "type": "array", "prefixItems": [{"type": "integer"}] * n, "contains": {"type": "string"}, "items": {"type": "string"},
    },
    "many items": lambda n: {"type": "array", "items": {"type": "integer"}, "minItems": 40 * n},
    "n places": lambda n: {"type": "array", "prefixItems": [{"const": i % 7} for i in range(20 * n)], "minItems": 3 * n},
    "a list of n objects": lambda n: {"const": [{f"n{i}": [i] * 3} for i in range(n)]},
    "lists that differ": lambda n: {
        "type": "array", "items": {"enum": [[i, i + 1] for i in range(min(n, 60))]}, "uniqueItems": True, "minItems": min(n, 16),
    },
    "n numbers that differ": lambda n: {
        "type": "array", "items": {"type": "integer", "minimum": 0, "maximum": n}, "uniqueItems": True, "minItems": n,
    },
    "n items that differ": lambda n: {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": n},
}  # fmt: skip


@pytest.mark.parametrize("limits", [Limits(), FRONT_END_LIMITS], ids=["default", "front end"])
@pytest.mark.parametrize("n", [3, pytest.param(20, marks=pytest.mark.slow), 60, 150])
@pytest.mark.parametrize("name", MANY)
def test_what_compiles_is_walked(name: str, n: int, limits: Limits) -> None:
    """No call exceeds a limit in the middle of a text: a schema of too many conditions is refused, with a place."""
    schema = MANY[name](n)
    text = b'{"n1":"b","n2":1,' if schema.get("type") == "object" else b'["n1",1,{"kind":"k1"'
    if reason := read_or_refused(schema, (), limits, property_order="any"):
        assert n > 3, reason
        return
    # Texts are read in an engine, whose calls have the default steps.
    limits = replace(limits, call_steps=Limits().call_steps)
    assert not read_or_refused(schema, re.findall(rb'"\w*|[^"\w]+|\w+', text), limits, property_order="any")


def requiring(members: dict[str, Any]) -> dict[str, Any]:
    """An object with all of these members."""
    return {"type": "object", "properties": members, "required": [*members]}


REQUIRING: dict[str, Callable[[int], dict[str, Any]]] = {
    "objects": lambda n: requiring({f"n{i}": requiring({f"a{i}": {"type": "integer"}}) for i in range(n)}),
    "objects of objects": lambda n: requiring({
        f"n{i}": requiring({f"a{i}{j}": requiring({f"b{i}{j}": {"type": "string"}}) for j in range(30)}) for i in range(n // 30)
    }),
    "a chain": lambda n: {
        "$defs": {f"{i}": requiring({f"n{i}": {"$ref": f"#/$defs/{i + 1}"} if i < n else {}}) for i in range(n + 1)}, "$ref": "#/$defs/0",
    },
}  # fmt: skip


@pytest.mark.parametrize(("n", "is_refused"), [(900, False), (2_000, True)])
@pytest.mark.parametrize("name", REQUIRING)
def test_objects_that_require_members_at_any_depth_are_completed_or_refused(
    name: str, n: int, is_refused: bool
) -> None:
    assert bool(read_or_refused(REQUIRING[name](n), (b'{"n0":',), Limits())) == is_refused


@pytest.mark.parametrize("form", ["json", "hermes", "qwen-coder", "tooldec", "mistral", "pythonic", "gemma"])
@pytest.mark.parametrize("name", MANY)
def test_a_tool_is_refused_as_the_schema_of_its_argument_is(name: str, form: str) -> None:
    """Whether or not a text comes to the argument."""
    schema = MANY[name](60)
    tools = [("act", schema), ("b", {"type": "integer"})]
    if not (reason := read_or_refused(schema, (), FRONT_END_LIMITS)):
        compile_tools(tools, form)
        return
    with pytest.raises(LimitError) as caught:
        compile_tools(tools, form)
    assert reason.startswith(caught.value.what)
    assert caught.value.pointer.startswith("/act/x")


def test_one_of_many_tools_is_refused_as_one_of_few() -> None:
    for n in (1, 101):
        with pytest.raises(LimitError) as caught:
            compile_tools(
                [*((f"t{i}", {"maximum": i}) for i in range(n)), ("act", MANY["counted patterns"](60))], "json"
            )
        assert caught.value.pointer.startswith("/act/x"), n


def test_the_schemas_of_tools_are_counted_together() -> None:
    limits = replace(FRONT_END_LIMITS, steps=10_000)
    for n, is_refused in ((2, False), (80, True)):
        tools = [(f"t{i}", {"type": "array", "minItems": i, "items": {"maximum": i}}) for i in range(n)]
        with pytest.raises(LimitError, match="schemas of arguments") if is_refused else nullcontext():
            compile_tools(tools, "json", limits)


def compile_tools(tools: list[tuple[str, Any]], form: str, limits: Limits = FRONT_END_LIMITS) -> Index:
    """An index of calls of tools, each with a required argument ``x`` of a schema."""
    given = [{"name": name, "parameters": {"properties": {"x": one}, "required": ["x"]}} for name, one in tools]
    return compile_spec(Tools(given, form), BYTES, limits)
