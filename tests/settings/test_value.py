"""Values: read by the key's type, and written so that they are read the same."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chatcli.core.errors import ConfigError
from chatcli.settings.keys import Value, all_keys
from chatcli.settings.value import from_object, from_text, source, wanted

KEYS = all_keys()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("model", "3b", "3b"),
        ("model", "null", None),
        ("system", "null", "null"),
        ("system", " two  spaces ", " two  spaces "),
        ("engine.flash_attention", "on", "on"),
        ("reply.stop_loops", "off", False),
        ("reply.stop_loops", "YES", True),
        ("download.offline", "1", True),
        ("engine.gpu_layers", "-1", -1),
        ("logs.max_bytes", "5_000_000", 5_000_000),
        ("sampling.temperature", "0", 0.0),
        ("sampling.temperature", ".5", 0.5),
        ("sampling.temperature", "1e-2", 0.01),
        ("sampling.seed", "~", None),
        ("sampling.logit_bias", "15=-100, 3=2.5", ((15, -100.0), (3, 2.5))),
        ("sampling.logit_bias", "{15: -100}", ((15, -100.0),)),
        ("sampling.logit_bias", "", ()),
    ],
)
def test_text_means_what_the_key_wants(name: str, text: str, value: Value) -> None:
    """The key decides the type of a text."""
    read = from_text(KEYS[name], text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("reply.stop_loops", "maybe"),
        ("reply.stop_loops", ""),
        ("engine.threads", "four"),
        ("engine.threads", "4.0"),
        ("engine.threads", "0"),
        ("engine.threads", "1:30"),
        ("engine.threads", "9" * 10_000),
        ("context.size", "63"),
        ("sampling.temperature", "-0.1"),
        ("sampling.temperature", "nan"),
        ("sampling.temperature", "1e999"),
        ("sampling.temperature", "."),
        ("sampling.temperature", "\u0663"),
        ("sampling.top_p", "1.01"),
        ("sampling.seed", str(2**32 - 1)),
        ("sampling.logit_bias", "15"),
        ("sampling.logit_bias", "-1=3"),
        ("sampling.logit_bias", "1=3,1=4"),
        ("sampling.logit_bias", "1=inf"),
        ("terminal.color", "allways"),
        ("model", "nul\0"),
        ("model", "\udcff"),
    ],
)
def test_what_the_key_does_not_take_is_refused(name: str, text: str) -> None:
    """The message names the key and what it wants."""
    with pytest.raises(ConfigError) as error:
        from_text(KEYS[name], text, "here")
    assert error.value.message.startswith(f"here: {name} wants {wanted(KEYS[name])}, not ")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250


def test_a_wrong_choice_names_the_nearest() -> None:
    """One letter too many still leads to the choice."""
    with pytest.raises(ConfigError) as error:
        from_text(KEYS["terminal.color"], "allways")
    assert error.value.hint == "Did you mean always?"


@pytest.mark.parametrize(
    ("name", "given_value"),
    [
        ("engine.threads", True),
        ("engine.threads", 2.0),
        ("engine.threads", 10**400),
        ("reply.stop_loops", 1),
        ("sampling.temperature", math.nan),
        ("sampling.temperature", math.inf),
        ("model", 3),
        ("system", None),
        ("sampling.logit_bias", [1]),
    ],
)
def test_python_values_are_checked_too(name: str, given_value: object) -> None:
    """A flag of the wrong type is refused, True for a number included."""
    with pytest.raises(ConfigError):
        from_object(KEYS[name], given_value)


def test_python_values_pass_and_text_is_read() -> None:
    """Right types pass; whole numbers do for a float; text is read as text."""
    assert from_object(KEYS["sampling.temperature"], 1) == 1.0
    assert from_object(KEYS["engine.threads"], 4) == 4
    assert from_object(KEYS["engine.threads"], "4") == 4
    assert from_object(KEYS["model"], None) is None
    assert from_object(KEYS["sampling.logit_bias"], ((1, 2),)) == ((1, 2.0),)


@given(st.text(st.characters(exclude_categories=["Cs"]).filter(lambda char: char != "\0")))
def test_any_text_is_written_so_that_yaml_reads_it_back(text: str) -> None:
    """The source is one line, and is the same text in a block and inside braces."""
    written = source(text)
    assert "\n" not in written
    for document in (f"a: {written}\n", f"{{a: {written}, b: 1}}\n"):
        assert yaml.safe_load(document)["a"] == text


@given(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_written_so_that_their_key_reads_them_back(value: Value) -> None:
    """What `source` writes, `from_text` reads as the same value where the key allows it."""
    name = {bool: "reply.stop_loops", int: "engine.gpu_layers", float: "sampling.temperature"}
    key = KEYS[name.get(type(value), "engine.gpu_layers")]
    try:
        checked = from_object(key, value)
    except ConfigError:
        return
    assert from_text(key, source(checked)) == value
