"""Model, system prompt, sampling and the terminal."""

import pytest

from chatcli.core.sampling import Sampling
from chatcli.orchestrator.conversation import Style
from chatcli.testing import ScriptedEngine
from tests.terminal.conftest import Make, OneBroken


def test_model_lists_and_changes(table: Make) -> None:
    """A model that cannot be loaded changes nothing, and the chat goes on."""
    chat = table(engine=OneBroken())
    assert chat("/model").splitlines() == ["* scripted", "  other"]
    assert "now other; it was scripted" in chat.err("/model other")
    assert "broken cannot be loaded. Choose another" in chat.err("/model broken")
    assert chat.chat.session.model == "other"
    assert chat("hello") == "You said: hello\n"


def test_a_model_that_fails_behind_the_prompt_is_told_when_it_is_met(table: Make) -> None:
    """The error comes with the question, and /model mends it."""
    chat = table(engine=OneBroken())
    chat.chat.conversation.start(model="broken")
    chat.chat.loading.start("broken")
    assert "broken cannot be loaded" in chat.err("hello")
    assert "broken cannot be loaded" in chat.err("hello")
    chat("/model other")
    assert chat("hello") == "You said: hello\n"


def test_system_shows_sets_and_takes_away(table: Make) -> None:
    """Quotes around it are not part of it; a block may have several lines."""
    chat = table()
    assert "no system prompt" in chat("/system")
    chat('/system "Be brief"')
    assert chat("/system") == "Be brief\n"
    chat('/system """one\ntwo"""')
    assert chat.chat.session.system == "one\ntwo"
    chat('/system ""')
    assert chat.chat.session.system == ""
    chat("/set system As in ollama")
    assert chat.chat.session.system == "As in ollama"


def test_set_changes_sampling_over_flags_and_for_good(table: Make) -> None:
    """What is set here wins over the style, and is kept with the session."""
    engine = ScriptedEngine()
    chat = table(engine=engine, style=Style(sampling=Sampling(temperature=0.9, top_k=10)))
    chat("/set temperature 0.2")
    chat("/set parameter top_p 0.5")
    chat("hello")
    sampling = engine.prompts[-1].sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p) == (0.2, 10, 0.5)
    assert chat.store.get(chat.chat.session.id).sampling.temperature == 0.2
    assert "temperature 0.2" in chat("/set temperature")
    chat("/set temperature null")
    chat("again")
    assert engine.prompts[-1].sampling.temperature is None


def test_set_changes_replies_and_the_terminal(table: Make) -> None:
    """Limits, the policy, and how things look."""
    chat = table()
    chat("/set max_tokens 5")
    chat("/set overflow drop-oldest")
    assert chat.chat.conversation.style == Style(max_tokens=5, overflow="drop-oldest")
    chat("/set markdown off")
    chat("/set terminal.editing vi")
    assert not chat.chat.look.markdown
    assert chat.chat.settings.terminal.editing == "vi"
    assert "reply 3" in (chat("/set usage on"), chat.err("a b"))[1]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("/set temprature 1", "unknown key temprature. Did you mean temperature?"),
        ("/set temperature hot", "sampling.temperature wants a number of at least 0"),
        ("/set engine.threads 3", "cannot be changed during a chat"),
        ("/set usage maybe", "usage wants true or false"),
        ("/show nothing", "/show model, system or settings"),
    ],
)
def test_set_and_show_say_what_is_wrong(line: str, says: str, table: Make) -> None:
    """The nearest key, the range, or where else to set it."""
    assert says in table().err(line)


def test_set_and_show_list(table: Make) -> None:
    """Each can be asked for alone."""
    chat = table()
    assert "markdown            true" in chat("/set")
    assert chat("/show model") == "scripted\n"
    assert chat("/show system") == "(none)\n"
    assert chat("/show settings").startswith("temperature")
    everything = chat("/show")
    assert "scripted" in everything
    assert "(none)" in everything
