"""Answers about single records, and about several that were handled as one."""

from collections.abc import Mapping
from typing import Final, TypeVar

from quart import Response, request

from ostiary_core.model.decision import BatchRefused, FieldFault, FieldRule, Refused, Reply, SecretIssued
from ostiary_core.model.fields import FieldReader
from ostiary_core.model.why import Why
from ostiary_net.turns.turns import TurnFailed
from ostiary_web.exchange import JSON_MEDIA_TYPE, Exchange, body, json_object
from ostiary_web.resources.access import Call
from ostiary_web.resources.declaration import as_json
from ostiary_web.resources.declared import Declared

__all__ = [
    "MOST_AT_ONCE",
    "answer_change",
    "answer_done",
    "answer_record",
    "batch_refusal",
    "sent_ids",
    "sent_nothing",
    "sent_object_or_nothing",
    "sent_truth",
]

T = TypeVar("T")
V = TypeVar("V")

MOST_AT_ONCE: Final = 1_000
"""Records that one request may delete: they are one turn, and others wait for it."""

_PRECEDENCE: Final[Mapping[Why, int]] = {why: place for place, why in enumerate(Why)}


async def answer_record(call: Call, declared: Declared[T, V], reply: Reply) -> Response:
    """The record that a question found."""
    item = _held(call, declared, reply)
    if isinstance(item, Response):
        return item
    found = item
    [shown] = await call.look(lambda store, now: declared.listed.shown(store, [found]))
    return call.here.success(as_json(declared.fields, shown))


async def answer_change(call: Call, declared: Declared[T, V], reply: Reply, status: int = 200) -> Response:
    """The record as a change left it; with its secret where one was drawn.

    The change is kept by now. If the store fails at what else is shown of a record, that is left out: a
    failure would say that nothing was done, and a secret is shown only this once.
    """
    item = _held(call, declared, reply)
    if isinstance(item, Response):
        return item
    changed = item
    try:
        [shown] = await call.look(lambda store, now: declared.listed.shown(store, [changed]))
    except TurnFailed:
        [shown] = declared.listed.shown(None, [changed])
    secret = {"secret": reply.secret.reveal()} if isinstance(reply, SecretIssued) else {}
    return call.here.success({**as_json(declared.fields, shown), **secret}, status=status)


def _held(call: Call, declared: Declared[T, V], reply: Reply) -> T | Response:
    """The record that a reply holds, or the answer that it holds none."""
    if isinstance(reply, Refused):
        return call.here.refused(reply)
    item = declared.known(reply)
    return call.here.refuse(Why.INTERNAL_ERROR) if item is None else item


def answer_done(here: Exchange, reply: Reply, data: object = None) -> Response:
    """`data`, unless the rules refused."""
    return here.refused(reply) if isinstance(reply, Refused) else here.success(data)


def batch_refusal(reply: BatchRefused, paths: list[str]) -> Refused:
    """Every refusal of a batch as one; the one that wins over the others names the status.

    `paths` says where each part of the batch stood in the request.
    """
    faults: list[FieldFault] = []
    for place, refusal in reply.refusals:
        faults += [FieldFault(f"{paths[place]}.{fault.path}", fault.rule) for fault in refusal.faults] or [
            FieldFault(paths[place], refusal.why)
        ]
    first = min((refusal.why for _, refusal in reply.refusals), key=_PRECEDENCE.__getitem__)
    return Refused(first, tuple(faults))


# --- what requests send


async def sent_ids() -> tuple[str, ...] | Refused:
    """`{ids}` of a batch."""
    content = await json_object()
    if isinstance(content, Why):
        return Refused(content)
    reader = FieldReader(content, frozenset({"ids"}))
    ids = reader.texts("ids", ())
    if len(ids) > MOST_AT_ONCE:
        reader.fault("ids", FieldRule.TOO_LONG)
    elif not ids:
        reader.fault("ids", FieldRule.REQUIRED)
    return Refused(Why.FIELDS_INVALID, reader.faults) if reader.faults else ids


async def sent_truth(name: str) -> bool | Refused:
    """`{name: true}` or `{name: false}`."""
    content = await json_object()
    if isinstance(content, Why):
        return Refused(content)
    reader = FieldReader(content, frozenset({name}))
    value = reader.boolean(name, False)
    if not reader.has_field(name):
        reader.fault(name, FieldRule.REQUIRED)
    return Refused(Why.FIELDS_INVALID, reader.faults) if reader.faults else value


async def sent_object_or_nothing() -> Mapping[str, object] | Refused:
    """The JSON object of a request that need not have one; no body says nothing."""
    if not await body():
        return sent_nothing() or {}
    content = await json_object()
    return Refused(content) if isinstance(content, Why) else content


def sent_nothing() -> Refused | None:
    """None for a request without a body, or with one of the only kind there is (READINGS 29)."""
    if request.mimetype and request.mimetype != JSON_MEDIA_TYPE:
        return Refused(Why.MEDIA_TYPE_UNSUPPORTED)
    return None
