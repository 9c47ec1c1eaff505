"""Values of `core` to JSON objects and back; used by the database and by exported files.

Reading trusts nothing: each value is checked. It knows no SQL and no files.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import get_args

from chatcli.core.decision import Action, Route, Verdict, Where
from chatcli.core.message import (
    Document,
    Message,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
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
from chatcli.sessions.checked import Malformed, field, one_of, want

_FINISHES: tuple[FinishReason, ...] = get_args(FinishReason)
_KINDS: tuple[Kind, ...] = get_args(Kind)
_ROLES: tuple[Role, ...] = get_args(Role)
_WHERES: tuple[Where, ...] = get_args(Where)
_ACTIONS: tuple[Action, ...] = get_args(Action)


# -- messages --------------------------------------------------------------------------


def message_to(message: Message) -> dict[str, object]:
    """Return a message as a JSON object."""
    return {"role": message.role, "parts": [_part_to(part) for part in message.parts]}


def _part_to(part: Part) -> dict[str, object]:
    match part:
        case Text(text):
            return {"text": text}
        case Reasoning(text):
            return {"reasoning": text}
        case Document(name, text):
            return {"document": name, "text": text}
        case ToolCall(call_id, name, arguments):
            return {"call": call_id, "name": name, "arguments": dict(arguments)}
        case ToolResult(call_id, output, failed):
            return {"result": call_id, "output": output, "failed": failed}


def message_from(value: object, where: str) -> Message:
    """Read a message."""
    row = want(value, dict, where)
    parts = field(row, "parts", list, where)
    return Message(
        one_of(field(row, "role", str, where), _ROLES, f"{where}.role"),
        tuple(_part_from(part, f"{where}.parts[{i}]") for i, part in enumerate(parts)),
    )


def messages_from(value: object, where: str) -> tuple[Message, ...]:
    """Read a list of messages."""
    items = want(value, list, where)
    return tuple([message_from(item, f"{where}[{i}]") for i, item in enumerate(items)])


def _part_from(value: object, where: str) -> Part:
    row = want(value, dict, where)
    if "document" in row:
        return Document(field(row, "document", str, where), field(row, "text", str, where))
    if "text" in row:
        return Text(field(row, "text", str, where))
    if "reasoning" in row:
        return Reasoning(field(row, "reasoning", str, where))
    if "call" in row:
        arguments = field(row, "arguments", dict, where)
        name = field(row, "name", str, where)
        return ToolCall(field(row, "call", str, where), name, arguments)
    if "result" in row:
        output = field(row, "output", str, where)
        failed = field(row, "failed", bool, where)
        return ToolResult(field(row, "result", str, where), output, failed)
    raise Malformed(f"{where} is no known kind of part")


# -- what belongs to a turn ------------------------------------------------------------


def usage_to(usage: Usage) -> dict[str, object]:
    """Return the counts that are not zero."""
    return {name: value for name, value in asdict(usage).items() if value}


_USAGE: dict[str, type[int] | type[float]] = {
    f.name: float if f.name.endswith("_s") else int for f in fields(Usage)
}


def usage_from(value: object, where: str) -> Usage:
    """Read counts; names that this version does not know are left out."""
    row = want(value, dict, where)
    known = {k: want(v, _USAGE[k], f"{where}.{k}") for k, v in row.items() if k in _USAGE}
    return Usage(**known)  # type: ignore[arg-type]  # each value was checked against its field


def sampling_to(sampling: Sampling) -> dict[str, object]:
    """Return the parameters that are set."""
    return {k: v for k, v in asdict(sampling).items() if v not in (None, ())}


_WHOLE = {f.name for f in fields(Sampling) if str(f.type).startswith("int")}
_SAMPLING = {f.name for f in fields(Sampling)} - {"logit_bias"}


def sampling_from(value: object, where: str) -> Sampling:
    """Read sampler parameters; names that this version does not know are left out."""
    row = want(value, dict, where)
    known: dict[str, object] = {
        k: want(v, int if k in _WHOLE else float, f"{where}.{k}")
        for k, v in row.items()
        if k in _SAMPLING and v is not None
    }
    if "logit_bias" in row:
        known["logit_bias"] = tuple(
            (want(token, int, f"{where}.logit_bias"), want(bias, float, f"{where}.logit_bias"))
            for token, bias in _pairs(row["logit_bias"], f"{where}.logit_bias")
        )
    return Sampling(**known)  # type: ignore[arg-type]  # each value was checked against its field


def _pairs(value: object, where: str) -> list[tuple[object, object]]:
    pairs = []
    for item in want(value, list, where):
        if not isinstance(item, list) or len(item) != 2:
            raise Malformed(f"{where} is not a list of pairs")
        pairs.append((item[0], item[1]))
    return pairs


def route_to(route: Route) -> dict[str, object]:
    """Return a route as a JSON object."""
    row: dict[str, object] = {"model": route.model, "rule": route.rule}
    if route.score:
        row["score"] = route.score
    if route.features:
        row["features"] = [list(feature) for feature in route.features]
    return row


def route_from(value: object, where: str) -> Route:
    """Read a route."""
    row = want(value, dict, where)
    return Route(
        model=field(row, "model", str, where),
        rule=field(row, "rule", str, where),
        score=want(row.get("score", 0.0), float, f"{where}.score"),
        features=()
        if "features" not in row
        else tuple(
            (want(name, str, f"{where}.features"), want(score, float, f"{where}.features"))
            for name, score in _pairs(row["features"], f"{where}.features")
        ),
    )


def verdict_to(verdict: Verdict) -> dict[str, object]:
    """Return a verdict as a JSON object."""
    return asdict(verdict) | {"span": list(verdict.span) if verdict.span else None}


def verdict_from(value: object, where: str) -> Verdict:
    """Read a verdict."""
    row = want(value, dict, where)
    span: tuple[int, int] | None = None
    if row.get("span") is not None:
        ((start, end),) = _pairs([row["span"]], f"{where}.span")
        span = (want(start, int, f"{where}.span"), want(end, int, f"{where}.span"))
    return Verdict(
        where=one_of(field(row, "where", str, where), _WHERES, f"{where}.where"),
        action=one_of(field(row, "action", str, where), _ACTIONS, f"{where}.action"),
        rule=field(row, "rule", str, where),
        score=field(row, "score", float, where),
        span=span,
    )


def verdicts_from(value: object, where: str) -> tuple[Verdict, ...]:
    """Read a list of verdicts."""
    items = want(value, list, where)
    return tuple([verdict_from(item, f"{where}[{i}]") for i, item in enumerate(items)])


def cut_from(value: object, where: str) -> Cut:
    """Read a cut."""
    row = want(value, dict, where)
    before = row.get("before")
    return Cut(
        None if before is None else TurnId(want(before, str, f"{where}.before")),
        field(row, "summary", str, where),
    )


def record_to(record: TokenRecord) -> dict[str, object]:
    """Return a token record as a JSON object."""
    return asdict(record) | {"prompt": list(record.prompt), "reply": list(record.reply)}


def record_from(value: object, where: str) -> TokenRecord:
    """Read a token record; ids are whole numbers from 0 to 2**32 - 1."""
    row = want(value, dict, where)
    record = TokenRecord(
        keep=field(row, "keep", int, where),
        prompt=_ids(row, "prompt", where),
        reply=_ids(row, "reply", where),
        thought=want(row.get("thought", 0), int, f"{where}.thought"),
    )
    if record.keep < 0 or not 0 <= record.thought <= len(record.reply):
        raise Malformed(f"{where} has a length that cannot be")
    return record


def _ids(row: Mapping[str, object], name: str, where: str) -> tuple[int, ...]:
    ids = field(row, name, list, where)
    if any(type(token) is not int or not 0 <= token < 2**32 for token in ids):
        raise Malformed(f"{where}.{name} is not a list of token ids")
    return tuple(ids)


# -- whole turns and sessions ----------------------------------------------------------


def turn_to(turn: Turn) -> dict[str, object]:
    """Return a turn as a JSON object; nothing of it is left out."""
    return {
        "id": turn.id,
        "parent": turn.parent,
        "asked": [message_to(message) for message in turn.asked],
        "reply": message_to(turn.reply),
        "route": route_to(turn.route),
        "finish": turn.finish,
        "started_at": turn.started_at,
        "usage": usage_to(turn.usage),
        "tokens": {print_: record_to(record) for print_, record in turn.tokens.items()},
        "verdicts": [verdict_to(verdict) for verdict in turn.verdicts],
        "cut": None if turn.cut is None else asdict(turn.cut),
    }


def turn_from(value: object, where: str) -> Turn:
    """Read a turn."""
    row = want(value, dict, where)
    parent, cut = row.get("parent"), row.get("cut")
    return Turn(
        id=TurnId(field(row, "id", str, where)),
        parent=None if parent is None else TurnId(want(parent, str, f"{where}.parent")),
        asked=messages_from(field(row, "asked", list, where), f"{where}.asked"),
        reply=message_from(field(row, "reply", dict, where), f"{where}.reply"),
        route=route_from(field(row, "route", dict, where), f"{where}.route"),
        finish=finish_from(field(row, "finish", str, where), f"{where}.finish"),
        started_at=field(row, "started_at", float, where),
        usage=usage_from(row.get("usage", {}), f"{where}.usage"),
        tokens=_records(row, where),
        verdicts=verdicts_from(row.get("verdicts", []), f"{where}.verdicts"),
        cut=None if cut is None else cut_from(cut, f"{where}.cut"),
    )


def _records(row: Mapping[str, object], where: str) -> dict[Fingerprint, TokenRecord]:
    records = want(row.get("tokens", {}), dict, f"{where}.tokens")
    return {
        Fingerprint(print_): record_from(record, f"{where}.tokens.{print_}")
        for print_, record in records.items()
    }


def finish_from(value: str, where: str) -> FinishReason:
    """Read a finish reason."""
    return one_of(value, _FINISHES, where)


def kind_from(value: str, where: str) -> Kind:
    """Read a session's kind."""
    return one_of(value, _KINDS, where)


def session_to(session: Session) -> dict[str, object]:
    """Return a session, without its turns, as a JSON object."""
    row: dict[str, object] = {f.name: getattr(session, f.name) for f in fields(session)}
    return row | {"sampling": sampling_to(session.sampling)}


def session_from(value: object, where: str) -> Session:
    """Read a session."""
    row = want(value, dict, where)
    head = row.get("head")
    return Session(
        id=SessionId(field(row, "id", str, where)),
        kind=kind_from(field(row, "kind", str, where), f"{where}.kind"),
        model=field(row, "model", str, where),
        clock=field(row, "clock", float, where),
        system=want(row.get("system", ""), str, f"{where}.system"),
        sampling=sampling_from(row.get("sampling", {}), f"{where}.sampling"),
        title=want(row.get("title", ""), str, f"{where}.title"),
        head=None if head is None else TurnId(want(head, str, f"{where}.head")),
        updated_at=want(row.get("updated_at", 0.0), float, f"{where}.updated_at"),
    )
