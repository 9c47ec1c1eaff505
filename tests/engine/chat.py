"""A chat that grows turn by turn, for the tests of what is kept of it."""

from chatcli.core.message import Message, assistant, user
from chatcli.core.ports import Exchange, Prompt
from chatcli.engine.align import Plan, plan, recorded
from chatcli.engine.builtin import BUILTIN
from chatcli.engine.template import ChatTemplate
from chatcli.engine.text import Reply
from tests.engine import templates
from tests.engine.vocabulary import Vocabulary

STABLE = {
    **BUILTIN,
    "dated": templates.DATED,
    "strict": templates.STRICT,
    "stripping": templates.STRIPPING,
    "late thinking": templates.LATE_THINKING,
    "curious": templates.CURIOUS,
}


def vocabulary(*, spm: bool = False, bos: bool = True) -> Vocabulary:
    """Make a vocabulary with the control tokens of all the templates."""
    made = Vocabulary(templates.CONTROLS, "<s>", add_bos=bos, spm_space=spm)
    made.tokenize("some words to have ids for", special=False)
    return made


FIRST_WORD = 256 + len(templates.CONTROLS)


class Chat:
    """A conversation that grows turn by turn."""

    def __init__(self, source: str, words: Vocabulary, system: str = "Be kind.") -> None:
        self.template = ChatTemplate(source, bos="<s>", eos="</s>")
        self.words = words
        self.system = system
        self.history: tuple[Exchange, ...] = ()

    def prompt(self, *asked: Message, resume: Exchange | None = None) -> Prompt:
        """Ask."""
        return Prompt(asked=asked, history=self.history, system=self.system, resume=resume)

    def plan(self, *asked: Message, thinking: bool | None = None) -> Plan:
        """Plan the answer to a question."""
        return plan(self.template, self.words, self.prompt(*asked), thinking=thinking)

    def turn(self, question: str, answer: str, *, thinking: bool | None = None) -> Plan:
        """Ask, and let the model say `answer`."""
        made = self.plan(user(question), thinking=thinking)
        self.add(made, (user(question),), self.words.tokenize(answer, special=True))
        return made

    def add(self, made: Plan, asked: tuple[Message, ...], ids: list[int]) -> None:
        """Let the model say these ids."""
        reply = Reply(made.markers, starts_in_thought=made.starts_in_thought)
        for token_id in ids:
            reply.feed(token_id, self.words.piece(token_id))
        reply.flush()
        record = made.record(reply.ids[: reply.kept], reply.thought)
        said = assistant(reply.text, reply.reasoning)
        self.history += (Exchange(asked, said, record),)

    @property
    def context(self) -> tuple[int, ...]:
        """All ids that were evaluated, as the record has them."""
        return recorded(self.history)

    def text(self, made: Plan) -> str:
        """Decode the whole context."""
        return self.words.text(made.ids)
