"""Drawing the next token: freely, or so that the output matches a schema or a grammar.

JSON schemas are compiled by llguidance, which covers far more of JSON Schema than the
converter of llama.cpp (numeric bounds, patterns, optional keys) and computes a token mask;
GBNF grammars are followed by llama.cpp itself.
"""

import json
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from chatcli.core.errors import ConstraintError
from chatcli.core.ports import Constraint
from chatcli.engine.binding import Model
from chatcli.engine.chain import Candidates, Grammar, SamplerChain
from chatcli.engine.context import Context

if TYPE_CHECKING:
    import numpy as np
    from llguidance import LLMatcher, LLTokenizer
    from numpy.typing import NDArray


DIGITS = 17
"""Digits in a row after which a number is brought to its end: a double holds no more."""


class Drawer(Protocol):
    """Draws ids one after the other."""

    landing: bool
    """Set when little room is left: from then on what closes the output is preferred."""

    def draw(self, context: Context) -> int:
        """Return the next id; whoever draws is told about it."""
        ...

    def close(self) -> None:
        """Free what is held."""
        ...


class FreeDrawer:
    """Draws whatever the sampler chain says."""

    def __init__(self, chain: SamplerChain) -> None:
        self._chain = chain
        self.landing = False

    def draw(self, context: Context) -> int:
        """Return the next id."""
        return self._chain.sample(context)

    def close(self) -> None:
        """Free the chain."""
        self._chain.close()


class GrammarDrawer:
    """Draws what a GBNF grammar allows.

    The chain's choice is tried first and usually allowed; only if it is not does the
    grammar look at the whole vocabulary (as `common_sampler_sample` in llama.cpp does).
    """

    def __init__(self, chain: SamplerChain, model: Model, text: str) -> None:
        import numpy as np

        self._chain = chain
        self._grammar = Grammar(model, text)
        self._ids = np.arange(model.n_vocab, dtype=np.int32)
        self._eog = model.eog_tokens
        self.landing = False

    def draw(self, context: Context) -> int:
        """Return the next id."""
        logits = context.logits(len(self._ids))
        token = self._end() if self.landing else None
        if token is None:
            token = self._chain.choose(Candidates(self._ids, logits))
            if not self._grammar.allows(token):
                candidates = Candidates(self._ids, logits)
                self._grammar.restrict(candidates)
                token = self._chain.choose(candidates)
        self._grammar.accept(token)
        self._chain.accept(token)
        return token

    def _end(self) -> int | None:
        return next((token for token in self._eog if self._grammar.allows(token)), None)

    def close(self) -> None:
        """Free the chain and the grammar."""
        self._chain.close()
        self._grammar.close()


class Vocabulary:
    """A model's vocabulary as llguidance wants it: made once, at the first schema (~0.3 s)."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @cached_property
    def pieces(self) -> list[bytes]:
        """The bytes of every id; control tokens are marked with 0xff, as llguidance asks."""
        model = self._model
        return [
            (b"\xff" if model.is_control(token) else b"") + model.piece(token)
            for token in range(model.n_vocab)
        ]

    @cached_property
    def tokenizer(self) -> "LLTokenizer":
        """The llguidance tokenizer."""
        from llguidance import LLTokenizer

        return LLTokenizer.from_llamacpp(  # type: ignore[attr-defined, no-any-return]
            tokens=self.pieces,
            vocab_ptr=self._model.vocab,
            tokenize_fptr=self._model.tokenize_address,
            eos_token=self._model.eog_tokens,
            slices=None,
        )

    @cached_property
    def closers(self) -> "tuple[NDArray[np.intp], ...]":
        """The ids that end things in JSON, by how much they end: `}` or `]`, `"`, `,`."""
        import numpy as np

        return tuple(
            np.array([i for i, piece in enumerate(self.pieces) if piece[:1] in group], np.intp)
            for group in ((b"}", b"]"), (b'"',), (b",",))
        )


class SchemaDrawer:
    """Draws JSON that a schema accepts.

    Separators are fixed (", " and ": "): a small model would else fill the room with white
    space. When `landing`, whatever closes the innermost string, array or object is taken,
    so that the output is complete before the limit unless the schema itself demands more.
    """

    def __init__(self, chain: SamplerChain, vocabulary: Vocabulary, schema: str) -> None:
        self._chain = chain
        self._vocabulary = vocabulary
        self._n_vocab = len(vocabulary.pieces)
        self._matcher = _matcher(vocabulary.tokenizer, schema)
        self._lexer = _JsonLexer()
        self.landing = False

    def draw(self, context: Context) -> int:
        """Return the next id.

        Raises:
            ConstraintError: the schema is too complex for the matcher to go on.
        """
        import numpy as np

        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        allowed = np.unpackbits(bits, bitorder="little")[: self._n_vocab].astype(bool)
        logits = context.logits(self._n_vocab)
        if self.landing or self._lexer.digits >= DIGITS:
            self._prefer_closers(allowed, logits)
        logits[~allowed] = -np.inf
        token = self._chain.sample(context)
        if not self._matcher.consume_token(token):
            raise ConstraintError(f"the schema cannot be followed: {self._matcher.get_error()}")
        self._lexer.feed(self._vocabulary.pieces[token])
        return token

    def _prefer_closers(self, allowed: "NDArray[np.bool_]", logits: "NDArray[np.float32]") -> None:
        import numpy as np

        if self._matcher.is_accepting() or self._lexer.escaped:
            return
        brackets, quotes, commas = self._vocabulary.closers
        # Inside a string a bracket is only another character.
        for group in (quotes,) if self._lexer.in_string else (brackets, quotes, commas):
            possible = group[allowed[group]]
            if len(possible):
                best = possible[np.argmax(logits[possible])]
                allowed[:] = False
                allowed[best] = True
                return

    def close(self) -> None:
        """Free the chain."""
        self._chain.close()


class _JsonLexer:
    """Whether JSON text so far ends inside a string, or right behind a backslash in one."""

    def __init__(self) -> None:
        self.in_string = False
        self.escaped = False
        self.digits = 0  # in a row, outside a string

    def feed(self, piece: bytes) -> None:
        for byte in piece:
            self.digits = self.digits + 1 if byte in b"0123456789" and not self.in_string else 0
            if self.escaped:
                self.escaped = False
            elif self.in_string and byte == ord("\\"):
                self.escaped = True
            elif byte == ord('"'):
                self.in_string = not self.in_string


def _matcher(tokenizer: "LLTokenizer", schema: str) -> "LLMatcher":
    from llguidance import LLMatcher

    try:
        parsed = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise ConstraintError(f"the schema is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ConstraintError("the schema must be a JSON object")
    schema = json.dumps(_closed(parsed))
    overrides = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    try:
        grammar = LLMatcher.grammar_from_json_schema(schema, overrides=overrides)  # type: ignore[arg-type]
    except ValueError as error:
        raise ConstraintError(f"the schema cannot be used: {error}") from error
    matcher = LLMatcher(tokenizer, grammar, log_level=0)
    if matcher.is_error():
        raise ConstraintError(f"the schema cannot be used: {_first_line(matcher.get_error())}")
    return matcher


def _closed(schema: object) -> object:
    """Forbid properties that an object's schema does not name, unless it speaks of them.

    JSON Schema allows them by default, and a small model would invent them without end; the
    converter of llama.cpp forbids them too. Schemas that are put together from parts are
    left alone: forbidding in one part what another names would leave no valid value.
    """
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict) or schema.keys() & _COMPOSED:
        return schema
    closed = {key: value if key in _VALUES else _closed(value) for key, value in schema.items()}
    properties = closed.get("properties")
    if isinstance(properties, dict):
        closed["properties"] = {name: _closed(value) for name, value in properties.items()}
        if not schema.keys() & _OPEN:
            closed["additionalProperties"] = False
    return closed


_COMPOSED = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "$ref"})
_OPEN = frozenset({"additionalProperties", "patternProperties", "unevaluatedProperties"})
_VALUES = frozenset({"enum", "const", "default", "examples", "required", "properties"})


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "unknown reason"


def make_drawer(
    chain: SamplerChain, model: Model, vocabulary: Vocabulary, constraint: Constraint | None
) -> Drawer:
    """Return the drawer for `constraint`; it owns `chain`.

    Raises:
        ConstraintError: the schema or grammar cannot be used; `chain` is freed.
    """
    try:
        if constraint is None:
            return FreeDrawer(chain)
        if constraint.kind == "grammar":
            return GrammarDrawer(chain, model, constraint.text)
        return SchemaDrawer(chain, vocabulary, constraint.text)
    except ConstraintError:
        chain.close()
        raise
