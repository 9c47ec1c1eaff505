"""Options become settings, and a dataclass becomes a command."""

import re
from dataclasses import dataclass, fields
from typing import Annotated

import pytest
import typer

from chatcli.cli.options import (
    ALIASES,
    KEYS,
    SWITCHES,
    Chosen,
    option_key,
    sampling_keys,
    takes,
    value_options,
)
from chatcli.core.errors import ConfigError, UsageError
from chatcli.settings import load_settings
from chatcli.settings.keys import all_keys


def test_every_option_that_overrides_a_setting_names_a_real_key() -> None:
    """The tables hold nothing but fields of Chosen and keys of Settings."""
    names = {field.name for field in fields(Chosen)}
    assert names >= KEYS.keys() | SWITCHES.keys()
    keys = [*KEYS.values(), *ALIASES.values(), *(key for key, _ in SWITCHES.values())]
    assert all_keys().keys() >= set(keys)


def test_what_was_not_said_is_no_flag() -> None:
    """Nothing is overridden by an option that was not given; an empty text is given."""
    assert Chosen().flags() == {}
    assert Chosen(system="", no_log=True).flags() == {"system": "", "sessions.log": False}


def test_options_become_typed_settings() -> None:
    """The loader reads the text of an option as it reads a settings file."""
    chosen = Chosen(temp="0.5", gpu_layers="-1", raw=True, option=["top_k=7", "num-ctx=2048"])
    settings = load_settings(flags=chosen.flags(), environ={}, cwd=None).settings
    assert (settings.sampling.temperature, settings.sampling.top_k) == (0.5, 7)
    assert (settings.engine.gpu_layers, settings.context.size) == (-1, 2048)
    assert settings.terminal.markdown is False


@pytest.mark.parametrize("name", sampling_keys())
def test_o_takes_every_sampling_parameter(name: str) -> None:
    """By its own name, with dashes too, and by its dotted key."""
    key = f"sampling.{name}"
    assert option_key(name) == option_key(name.replace("_", "-")) == option_key(key) == key


def test_a_spelled_option_wins_over_o() -> None:
    """`--temp` is the clearer word."""
    assert Chosen(temp="1", option=["temp=0"]).flags() == {"sampling.temperature": "1"}


@pytest.mark.parametrize(("wrong", "meant"), [("tmperature", "temperature"), ("top-kk", "top_k")])
def test_a_wrong_key_names_the_nearest(wrong: str, meant: str) -> None:
    """A slip of the finger is told what was meant."""
    with pytest.raises(UsageError, match=f"Did you mean {meant}"):
        option_key(wrong)
    with pytest.raises(UsageError, match="Known: temperature"):
        option_key("zzzzzz")


@pytest.mark.parametrize(
    "chosen",
    [
        Chosen(temp="hot"),
        Chosen(top_p="2"),
        Chosen(seed="-1"),
        Chosen(threads="0"),
        Chosen(color="blue"),
        Chosen(option=["top_k=many"]),
    ],
)
def test_a_wrong_value_is_refused_with_the_range(chosen: Chosen) -> None:
    """Types and ranges are those of the settings, and so is the message."""
    with pytest.raises(ConfigError, match=r"command line: .* wants"):
        load_settings(flags=chosen.flags(), environ={}, cwd=None)


@pytest.mark.parametrize("chosen", [Chosen(go_on=True, cid="x"), Chosen(fork=True)])
def test_contradictions_are_refused(chosen: Chosen) -> None:
    """-c with --cid, and --fork of nothing."""
    with pytest.raises(UsageError):
        chosen.check()


def test_the_table_of_options_with_values_is_complete() -> None:
    """A flag takes no word, an option one, -o two."""
    found = value_options(Chosen)
    assert (found["-m"], found["--cid"], found["-ngl"], found["-o"]) == (1, 1, 1, 2)
    assert "-u" not in found
    assert all(re.fullmatch(r"--?[a-z][a-z-]*", spelling) for spelling in found)


def test_a_dataclass_becomes_the_parameters_of_a_command() -> None:
    """The function runs with one value, and carries the help of what it runs."""

    @dataclass(frozen=True, kw_only=True)
    class One(Chosen):
        name: Annotated[str, typer.Argument()]

    seen: list[One] = []

    def body(one: One) -> int:
        """Do it."""
        seen.append(one)
        return 7

    command = takes(One, body)
    assert command(name="x", model="m") == 7
    assert seen == [One(name="x", model="m")]
    assert command.__doc__ == "Do it."
