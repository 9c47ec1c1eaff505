"""Both test models talk, reuse what they evaluated, and keep to a schema."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatcli.core.cancel import Cancel
from chatcli.core.event import Generated
from chatcli.core.message import user
from chatcli.core.ports import Constraint, Exchange, Prompt
from chatcli.core.sampling import Sampling
from chatcli.engine.facade import LlamaEngine
from chatcli.settings import Settings

GREEDY = Sampling(temperature=0.0)


@pytest.fixture(scope="module", params=["smollm2", "qwen_coder"])
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LlamaEngine]:
    """One of the two models, loaded."""
    path: Path = request.getfixturevalue(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        made = LlamaEngine(request.param, path, Settings(), lambda _level, _text: None)
    yield made
    made.close()


def _say(engine: LlamaEngine, prompt: Prompt) -> Generated:
    *_, last = engine.generate(prompt, Cancel())
    assert isinstance(last, Generated)
    return last


def test_a_chat_of_five_turns_evaluates_each_token_once(engine: LlamaEngine) -> None:
    """Each turn's prompt is the whole context before it and the new words, no more."""
    history: tuple[Exchange, ...] = ()
    before = 0
    for i in range(5):
        asked = (user(f"Write one short sentence about the number {i}."),)
        prompt = Prompt(asked=asked, history=history, sampling=GREEDY, max_tokens=24)
        done = _say(engine, prompt)
        assert done.record.keep == before
        assert done.usage.reused_memory >= before - 1  # more, if a test before said the same
        assert done.usage.prompt == before + len(done.record.prompt)
        before = done.usage.prompt + len(done.record.reply)
        history = (*history, Exchange(asked, done.reply, done.record))
        assert done.reply.text.strip()


def test_the_chat_is_remembered(engine: LlamaEngine) -> None:
    """What was said in the first turn is in the context of the second."""
    asked = (user("Remember this word: pineapple."),)
    first = _say(engine, Prompt(asked=asked, sampling=GREEDY, max_tokens=30))
    history = (Exchange(asked, first.reply, first.record),)
    again = (user("Which word did I ask you to remember? Answer with that word."),)
    done = _say(engine, Prompt(asked=again, history=history, sampling=GREEDY, max_tokens=30))
    assert "pineapple" in done.reply.text.lower()


def test_a_prefill_stops_at_once(engine: LlamaEngine) -> None:
    """A cancel from outside ends a prompt of thousands of tokens before its end."""
    cancel = Cancel()
    timer = threading.Timer(0.3, cancel.set)
    timer.start()
    prompt = Prompt(asked=(user("word and " * 1500),), sampling=GREEDY)
    *_, last = engine.generate(prompt, cancel)
    timer.join()
    assert isinstance(last, Generated)
    assert last.finish == "cancelled"
    assert last.usage.evaluated < engine.measure(prompt).prompt


def test_a_truncated_window_of_text_is_never_split_inside_a_character(engine: LlamaEngine) -> None:
    """Whatever the limit, a reply of emoji and CJK holds whole characters."""
    asked = (user("Repeat exactly: 漢字 👩‍👩‍👧 naïve 日本語"),)
    for n in range(1, 12):
        done = _say(engine, Prompt(asked=asked, sampling=GREEDY, max_tokens=n))
        assert "\ufffd" not in done.reply.text
        pieces = b"".join(engine.piece(token) for token in done.record.reply)
        assert pieces.decode() == done.reply.text


SCHEMAS: dict[str, dict[str, object]] = {
    "nested": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 20},
            "home": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "maxLength": 15},
                    "zip": {"type": "integer", "minimum": 10000, "maximum": 99999},
                },
                "required": ["city", "zip"],
            },
        },
        "required": ["name", "home"],
    },
    "array": {
        "type": "array",
        "items": {"type": "string", "maxLength": 12},
        "minItems": 2,
        "maxItems": 4,
    },
    "enum": {
        "type": "object",
        "properties": {
            "color": {"enum": ["red", "green", "blue"]},
            "size": {"enum": ["s", "m", "l"]},
        },
        "required": ["color", "size"],
    },
    "bounds": {
        "type": "object",
        "properties": {
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "count": {"type": "integer", "minimum": -5, "maximum": 5},
        },
        "required": ["share", "count"],
    },
    "optional": {
        "type": "object",
        "properties": {
            "a": {"type": "string", "maxLength": 8},
            "b": {"type": "boolean"},
            "c": {"type": "null"},
        },
        "required": ["b"],
    },
}


def _check(name: str, value: object) -> None:
    match name, value:
        case "nested", {"name": str(who), "home": {"city": str(city), "zip": int(code)}}:
            assert len(who) <= 20
            assert len(city) <= 15
            assert 10000 <= code <= 99999
        case "array", [*items]:
            assert 2 <= len(items) <= 4
            assert all(isinstance(item, str) and len(item) <= 12 for item in items)
        case "enum", {"color": str(color), "size": str(size)}:
            assert color in {"red", "green", "blue"}
            assert size in {"s", "m", "l"}
        case "bounds", {"share": (int() | float()) as share, "count": int(count)}:
            assert 0 <= share <= 1
            assert -5 <= count <= 5
        case "optional", {"b": bool()}:
            assert isinstance(value, dict)
            assert isinstance(value.get("a", ""), str)
            assert value.get("c") is None
        case _:
            pytest.fail(f"{name}: {value}")


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_always_gives_valid_json(engine: LlamaEngine, name: str) -> None:
    """Five of five runs at a high temperature, for each of five schemas on each model."""
    constraint = Constraint("schema", json.dumps(SCHEMAS[name]))
    for seed in range(5):
        prompt = Prompt(
            asked=(user("Invent an example as JSON."),),
            sampling=Sampling(seed=seed, temperature=1.0),
            constraint=constraint,
        )
        done = _say(engine, prompt)
        assert done.finish == "stop", done.reply.text
        _check(name, json.loads(done.reply.text))
