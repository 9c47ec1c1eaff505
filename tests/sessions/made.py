"""Sessions and turns for tests, and hypothesis strategies that make any."""

import itertools
from dataclasses import replace

from hypothesis import strategies as st

from chatcli.core.decision import Route, Verdict
from chatcli.core.message import (
    Document,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    assistant,
    user,
)
from chatcli.core.sampling import Sampling
from chatcli.core.session import (
    Cut,
    Fingerprint,
    FinishReason,
    Kind,
    Session,
    SessionId,
    TokenRecord,
    Turn,
    TurnId,
)
from chatcli.core.usage import Usage

_numbers = itertools.count(1)
PRINT = Fingerprint("0123456789abcdef" * 2)


def session(name: str = "", *, kind: Kind = "chat", title: str = "", at: float = 0.0) -> Session:
    """Make a session; each later one is newer, unless `at` is given."""
    n = next(_numbers)
    return Session(
        id=SessionId(name or f"session{n}"),
        kind=kind,
        model="made",
        clock=1e9 + n,
        title=title,
        updated_at=at or 1e9 + n,
    )


def turn(
    asked: str = "a question",
    reply: str = "a reply",
    *,
    name: str = "",
    parent: TurnId | None = None,
    finish: FinishReason = "stop",
) -> Turn:
    """Make a turn."""
    n = next(_numbers)
    return Turn(
        id=TurnId(name or f"turn{n}"),
        parent=parent,
        asked=(user(asked),),
        reply=assistant(reply),
        route=Route(model="made", rule="chosen"),
        finish=finish,
        started_at=1e9 + n,
        usage=Usage(evaluated=3, completion=2, ttft_s=0.25),
        tokens={PRINT: TokenRecord(0, (1, 2, 3), (4, 2**32 - 1))},
    )


def opened(whole: Turn) -> Turn:
    """Return a turn as it is when it begins: without its reply."""
    return replace(
        whole, reply=Message("assistant", ()), finish="interrupted", usage=Usage(), tokens={}
    )


# -- any values --------------------------------------------------------------------------

_texts = st.text(st.characters(exclude_categories=()), max_size=20)
_counts = st.integers(0, 2**40)
_floats = st.floats(allow_nan=False, allow_infinity=False, width=32)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | _floats | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=5,
)
_parts = st.one_of(
    st.builds(Text, _texts),
    st.builds(Reasoning, _texts),
    st.builds(Document, _texts, _texts),
    st.builds(ToolCall, _texts, _texts, st.dictionaries(_texts, _json, max_size=3)),
    st.builds(ToolResult, _texts, _texts, st.booleans()),
)
_messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.lists(_parts, max_size=3).map(tuple),
)
_ids = st.lists(st.integers(0, 2**32 - 1), max_size=5).map(tuple)
_records = st.builds(
    lambda keep, prompt, reply: TokenRecord(keep, prompt, reply, len(reply) // 2),
    _counts,
    _ids,
    _ids,
)
_verdicts = st.builds(
    Verdict,
    where=st.sampled_from(["input", "output", "tool"]),
    action=st.sampled_from(["allow", "warn", "redact", "block"]),
    rule=_texts,
    score=_floats,
    span=st.none() | st.tuples(_counts, _counts),
)
_usages = st.builds(
    Usage,
    reused_memory=_counts,
    evaluated=_counts,
    completion=_counts,
    ttft_s=_floats,
    context=_counts,
)
samplings = st.builds(
    Sampling,
    temperature=st.none() | _floats,
    top_k=st.none() | st.integers(0, 100),
    seed=st.none() | st.integers(0, 2**32),
    logit_bias=st.lists(st.tuples(st.integers(0, 1000), _floats), max_size=2).map(tuple),
)
turns = st.builds(
    Turn,
    id=st.builds(lambda: TurnId(f"any{next(_numbers)}")),
    parent=st.none(),
    asked=st.lists(_messages, max_size=2).map(tuple),
    reply=_messages,
    route=st.builds(
        Route,
        model=_texts,
        rule=_texts,
        score=_floats,
        features=st.lists(st.tuples(_texts, _floats), max_size=2).map(tuple),
    ),
    finish=st.sampled_from(["stop", "length", "loop", "cancelled", "interrupted"]),
    started_at=_floats,
    usage=_usages,
    tokens=st.dictionaries(st.sampled_from([PRINT, Fingerprint("f" * 32)]), _records),
    verdicts=st.lists(_verdicts, max_size=2).map(tuple),
    cut=st.none() | st.builds(Cut, st.none() | st.just(TurnId("other")), _texts),
)
