"""Templates by name."""

from pathlib import Path

import pytest

from chatcli.core.errors import UsageError
from chatcli.engine.builtin import BUILTIN, builtin_template
from chatcli.engine.stability import stability
from chatcli.engine.template import ChatTemplate


@pytest.mark.parametrize("name", BUILTIN)
def test_each_renders_and_keeps_what_was_evaluated(name: str) -> None:
    """A model without a template gets one whose prefix never changes."""
    outcome = stability(ChatTemplate(builtin_template(name), bos="<s>", eos="</s>"))
    assert outcome.plain.is_stable


def test_chatml_is_written_as_published() -> None:
    """Roles, line feeds and the open assistant header."""
    template = ChatTemplate(builtin_template("chatml"), bos="", eos="")
    assert template.render([{"role": "user", "content": "Hi"}]) == (
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_file_is_read(tmp_path: Path) -> None:
    """Any Jinja file will do."""
    path = tmp_path / "my.jinja"
    path.write_text("{{ messages[0].content }}")
    assert builtin_template(str(path)) == "{{ messages[0].content }}"


@pytest.mark.parametrize("name", ["nonsense", "/nowhere/my.jinja"])
def test_an_unknown_name_names_the_known_ones(name: str) -> None:
    """The error says what there is."""
    with pytest.raises(UsageError, match="chatml, llama2"):
        builtin_template(name)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """A GGUF given by mistake does not end in a traceback."""
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF\xff\xfe")
    with pytest.raises(UsageError):
        builtin_template(str(path))


def test_what_has_no_end_is_no_template() -> None:
    """It is given up before it fills the memory."""
    with pytest.raises(UsageError, match="no chat template '/dev/zero'"):
        builtin_template("/dev/zero")
