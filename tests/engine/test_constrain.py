"""Constrained output is always valid, and complete before the limit."""

import json
import random
import re

import pytest

from chatcli.core.cancel import Cancel
from chatcli.core.errors import ConstraintError
from chatcli.core.ports import Constraint
from chatcli.core.sampling import Sampling
from chatcli.engine.binding import Model
from chatcli.engine.cells import Cells
from chatcli.engine.constrain import Vocabulary, make_drawer
from chatcli.engine.prefill import prefill
from chatcli.engine.sampler import make_chain
from chatcli.engine.stream import Limits, Progress, stream
from chatcli.engine.text import Reply

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "kind": {"enum": ["cat", "dog"]},
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string", "maxLength": 8}},
            "required": ["street"],
            "additionalProperties": False,
        },
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 5}, "maxItems": 3},
    },
    "required": ["name", "age", "kind", "address"],
    "additionalProperties": False,
}


def _say(
    model: Model, cells: Cells, constraint: Constraint, seed: int, max_tokens: int = 400
) -> tuple[str, Progress]:
    drawer = make_drawer(
        make_chain(model, Sampling(seed=seed)), model, Vocabulary(model), constraint
    )
    ids = model.tokenize("say it", special=False)
    cells.make_room(len(ids) + 1)
    cells.take(ids)
    list(prefill(cells, ids, Cancel()))
    progress = Progress()
    limits = Limits(max_tokens=max_tokens, constrained=True)
    deltas = stream(cells, drawer, Reply(), limits, Cancel(), progress)
    text = "".join(delta.text for delta in deltas)
    drawer.close()
    return text, progress


@pytest.mark.parametrize("seed", range(5))
def test_even_a_random_model_says_valid_json(tiny: Model, cells: Cells, seed: int) -> None:
    """Random weights would never end a string; the constraint and the landing do."""
    text, progress = _say(tiny, cells, Constraint("schema", json.dumps(PERSON)), seed)
    assert progress.finish == "stop"
    value = json.loads(text)
    assert set(value) <= {"name", "age", "kind", "address", "tags"}
    assert {"name", "age", "kind", "address"} <= set(value)
    assert 0 <= value["age"] <= 130
    assert value["kind"] in {"cat", "dog"}
    assert len(value["name"]) <= 12


def test_unbounded_strings_and_arrays_are_brought_to_their_end(tiny: Model, cells: Cells) -> None:
    """Near the limit whatever closes the output is preferred."""
    schema = {"type": "array", "items": {"type": "string"}, "minItems": 2}
    for seed in range(4):
        text, progress = _say(tiny, cells, Constraint("schema", json.dumps(schema)), seed, 120)
        assert progress.finish == "stop"
        assert len(json.loads(text)) >= 2


def test_only_named_properties_are_invented(tiny: Model, cells: Cells) -> None:
    """Unless the schema asks for others; nested objects, arrays of objects, definitions."""
    inner = {"type": "object", "properties": {"y": {"type": "boolean"}}}
    schema = {
        "type": "object",
        "properties": {"x": inner, "z": {"type": "array", "items": inner, "maxItems": 2}},
        "required": ["x", "z"],
    }
    for seed in range(4):
        text, _ = _say(tiny, cells, Constraint("schema", json.dumps(schema)), seed)
        value = json.loads(text)
        assert set(value) == {"x", "z"}
        assert all(set(each) <= {"y"} for each in (value["x"], *value["z"]))
    free = {"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}}
    names = {
        len(json.loads(_say(tiny, cells, Constraint("schema", json.dumps(free)), s)[0]))
        for s in range(6)
    }
    assert max(names) > 0


def test_a_schema_of_parts_stays_as_it_is(tiny: Model, cells: Cells) -> None:
    """What one part of `allOf` names is not forbidden by another."""
    part = [
        {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]},
        {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"]},
    ]
    text, _ = _say(tiny, cells, Constraint("schema", json.dumps({"allOf": part})), 1)
    assert {"a", "b"} <= set(json.loads(text))


def test_a_number_does_not_go_on_for_ever(tiny: Model, cells: Cells) -> None:
    """Digits without end are landed as well."""
    schema = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    for seed in range(4):
        text, progress = _say(tiny, cells, Constraint("schema", json.dumps(schema)), seed, 300)
        assert progress.finish == "stop"
        assert progress.drawn < 80
        assert isinstance(json.loads(text)["x"], int | float)


def test_a_grammar_is_followed(tiny: Model, cells: Cells) -> None:
    """Every drawn text matches the GBNF grammar."""
    grammar = Constraint("grammar", 'root ::= ("yes" | "no") " " [0-9] [0-9] "!"')
    for seed in range(6):
        text, progress = _say(tiny, cells, grammar, seed)
        assert re.fullmatch(r"(yes|no) \d\d!", text)
        assert progress.finish == "stop"


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("schema", "{", "not JSON"),
        ("schema", "[1]", "must be a JSON object"),
        ("schema", '{"type": "strin"}', "Invalid type"),
        ("schema", '{"$ref": "http://example.com/x"}', "cannot be used"),
        ("grammar", 'root ::= "yes', "unexpected end of input"),
        ("grammar", "root ::= word", "Undefined rule identifier 'word'"),
        ("grammar", 'start ::= "x"', "no rule called root"),
        ("grammar", "", "no rule called root"),
    ],
)
def test_a_useless_constraint_says_why(
    tiny: Model, capfd: pytest.CaptureFixture[str], kind: str, text: str, message: str
) -> None:
    """One line with the reason; the library's own words do not reach stderr."""
    with pytest.raises(ConstraintError, match=re.escape(message)):
        make_drawer(
            make_chain(tiny, Sampling()),
            tiny,
            Vocabulary(tiny),
            Constraint("schema" if kind == "schema" else "grammar", text),
        )
    assert capfd.readouterr().err == ""


def test_random_schemas_give_valid_values(tiny: Model, cells: Cells) -> None:
    """Nested objects, arrays, enums, bounds and optional keys, drawn at random."""
    rng = random.Random(4)
    for seed in range(6):
        schema = _random_schema(rng, 3)
        text, progress = _say(tiny, cells, Constraint("schema", json.dumps(schema)), seed, 600)
        assert progress.finish == "stop", (schema, text)
        json.loads(text)


def _random_schema(rng: random.Random, depth: int) -> dict[str, object]:
    kinds = ["string", "integer", "number", "boolean", "enum"]
    kind = rng.choice([*kinds, "object", "array", "object"] if depth else kinds)
    match kind:
        case "string":
            return {"type": "string", "maxLength": rng.randint(0, 9)}
        case "integer" | "number":
            return {"type": kind, "minimum": -rng.randint(0, 9), "maximum": rng.randint(1, 999)}
        case "enum":
            return {"enum": ["a", 1, None, "long words"]}
        case "array":
            return {"type": "array", "items": _random_schema(rng, depth - 1), "maxItems": 3}
        case "object":
            names = [f"key{i}" for i in range(rng.randint(1, 4))]
            return {
                "type": "object",
                "properties": {name: _random_schema(rng, depth - 1) for name in names},
                "required": [name for name in names if rng.random() < 0.5],
                "additionalProperties": False,
            }
    return {"type": kind}
