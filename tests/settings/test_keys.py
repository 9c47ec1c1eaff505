"""The table of keys."""

import pytest

from chatcli.core.errors import ConfigError
from chatcli.settings.keys import (
    OTHER_VARIABLES,
    SHORT_VARIABLES,
    all_keys,
    find_key,
    key_hint,
    sections,
    variables,
)


def test_every_key_has_one_variable_of_its_own() -> None:
    """Derived names are distinct, and no short or other name takes one of them."""
    derived = [key.variable for key in all_keys().values()]
    assert len(set(derived)) == len(derived)
    assert not set(derived) & (SHORT_VARIABLES.keys() | OTHER_VARIABLES)
    assert variables()["CHATCLI_SAMPLING_TEMPERATURE"].name == "sampling.temperature"
    assert variables()["CHATCLI_OFFLINE"].name == "download.offline"


def test_bounds_and_permissions_name_real_keys() -> None:
    """The tables beside the dataclasses hold no key that does not exist."""
    from chatcli.settings import keys

    for name in [*keys._RANGES, *keys.PROJECT_KEYS, *SHORT_VARIABLES.values()]:
        assert name in all_keys()


@pytest.mark.parametrize(
    "name",
    [
        "engine.template",
        "engine.threads",
        "terminal.editor",
        "terminal.history",
        "sessions.log",
        "logs.max_bytes",
        "download.offline",
        "download.hub",
    ],
)
def test_what_reaches_beyond_style_is_not_a_projects(name: str) -> None:
    """A path, a host, a program or a permission cannot be set by a project file."""
    assert not all_keys()[name].in_project


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("temperature", "sampling.temperature"),
        ("sampling.temprature", "sampling.temperature"),
        ("reply.top_k", "sampling.top_k"),
        ("modle", "model"),
        ("termnal", "terminal"),
    ],
)
def test_an_unknown_key_names_the_nearest(slip: str, meant: str) -> None:
    """The hint finds the right word in the wrong section, and the misspelt one."""
    with pytest.raises(ConfigError, match="unknown key") as error:
        find_key(slip)
    assert error.value.hint == f"Did you mean {meant}?"


def test_a_section_is_not_a_key() -> None:
    """Naming a section lists what is in it."""
    assert "context" in sections()
    with pytest.raises(ConfigError, match="context is a section") as error:
        find_key("context")
    assert error.value.hint == "Its keys are size, overflow"


def test_a_hopeless_key_gets_the_list() -> None:
    """Nothing near: the hint says where all keys are listed."""
    assert "config show" in key_hint("xyzzyxyzzy")
