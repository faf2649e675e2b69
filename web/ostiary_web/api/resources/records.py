"""Answers about single records, and about several that were handled as one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeVar

from quart import Response, request

from ostiary_core.model.fields import FieldFault, FieldReader, FieldRule
from ostiary_core.model.reply import BatchRefused, Refused, Reply, SecretIssued
from ostiary_core.model.why import Why
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.api.resources.fields import as_json
from ostiary_web.api.resources.resource import Resource
from ostiary_web.http.context import JSON_MEDIA_TYPE, RequestContext, RequestRefused
from ostiary_web.server.submissions import Submitted

T = TypeVar("T")
V = TypeVar("V")

MOST_AT_ONCE: Final = 1_000
"""Records that one request may delete: they are one turn, and others wait for it."""

_PRECEDENCE: Final[Mapping[Why, int]] = {why: place for place, why in enumerate(Why)}


async def create_record(
    context: RequestContext, resource: Resource[T, V], fields: dict[str, object]
) -> Submitted[Reply]:
    """Make a record, once where the caller asks for it twice in a moment; raises `RequestRefused`."""

    async def make() -> Reply:
        return await context.decide(await resource.register(context, fields))

    caller = context.caller.access_token.digest
    return await context.backing.submissions.submit(caller, resource.path, fields, make)


async def answer_record(context: RequestContext, resource: Resource[T, V], reply: Reply) -> Response:
    """The record that a question found."""
    item = _held(resource, reply)
    [shown] = await context.query(lambda store, now: resource.list_view.shown(store, [item]))
    return context.success(as_json(resource.fields, shown))


async def answer_change(
    context: RequestContext, resource: Resource[T, V], reply: Reply, status: int = 200
) -> Response:
    """The record as a change left it; with its secret where one was drawn.

    The change is kept by now. If the store fails at what else is shown of a record, that is left out: a
    failure would say that nothing was done, and a secret is shown only this once.
    """
    item = _held(resource, reply)
    try:
        [shown] = await context.query(lambda store, now: resource.list_view.shown(store, [item]))
    except TurnFailed:
        [shown] = resource.list_view.shown(None, [item])
    secret = {"secret": reply.secret.reveal()} if isinstance(reply, SecretIssued) else {}
    return context.success({**as_json(resource.fields, shown), **secret}, status=status)


def _held(resource: Resource[T, V], reply: Reply) -> T:
    """The record that a reply holds."""
    item = resource.known(reply)
    assert item is not None
    return item


def batch_refusal(reply: BatchRefused, paths: list[str]) -> RequestRefused:
    """Every refusal of a batch as one; the one that wins over the others names the status.

    `paths` says where each part of the batch stood in the request.
    """
    faults: list[FieldFault] = []
    for place, refusal in reply.refusals:
        faults += [replace(fault, path=f"{paths[place]}.{fault.path}") for fault in refusal.faults] or [
            FieldFault(paths[place], refusal.why)
        ]
    first = min((refusal.why for _, refusal in reply.refusals), key=_PRECEDENCE.__getitem__)
    return RequestRefused(Refused(first, tuple(faults)))


# --- what requests send; each raises `RequestRefused` for anything else


async def read_ids(context: RequestContext) -> tuple[str, ...]:
    """`{ids}` of a batch."""
    reader = FieldReader(await context.json_object(), frozenset({"ids"}))
    ids = reader.texts("ids", ())
    if len(ids) > MOST_AT_ONCE:
        reader.fault("ids", FieldRule.TOO_LONG)
    elif not ids:
        reader.fault("ids", FieldRule.REQUIRED)
    return context.refuse(Why.FIELDS_INVALID, reader.faults) if reader.faults else ids


async def read_boolean(context: RequestContext, name: str) -> bool:
    """`{name: true}` or `{name: false}`."""
    reader = FieldReader(await context.json_object(), frozenset({name}))
    value = reader.boolean(name, False)
    if not reader.has_field(name):
        reader.fault(name, FieldRule.REQUIRED)
    return context.refuse(Why.FIELDS_INVALID, reader.faults) if reader.faults else value


async def read_object_or_nothing(context: RequestContext) -> Mapping[str, object]:
    """The JSON object of a request that need not have one; no body says nothing."""
    if await request.body:
        return await context.json_object()
    refuse_body(context)
    return {}


def refuse_body(context: RequestContext) -> None:
    """Refuse a body, other than one of the only kind there is (READINGS 29), which says nothing here."""
    if request.mimetype and request.mimetype != JSON_MEDIA_TYPE:
        context.refuse(Why.MEDIA_TYPE_UNSUPPORTED)
