"""Answer requests about single records and about batches."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeVar

from quart import Response, request

from ostiary_core.model.fields import FieldFault, FieldReader, FieldRule
from ostiary_core.model.reply import BatchRefused, Refused, Reply, SecretIssued
from ostiary_core.model.why import Why
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.application.resources.fields import encode_item
from ostiary_web.application.resources.resource import Resource
from ostiary_web.http.context import JSON_MEDIA_TYPE, RequestContext, RequestRefused
from ostiary_web.server.submissions import Submitted

T = TypeVar("T")
V = TypeVar("V")

MOST_AT_ONCE: Final = 1_000
"""Most records of one batch: they are one turn, for which others wait."""

_PRECEDENCE: Final[Mapping[Why, int]] = {why: place for place, why in enumerate(Why)}


async def create_record(
    context: RequestContext, resource: Resource[T, V], fields: dict[str, object]
) -> Submitted[Reply]:
    """Make a record, once if the caller sends it twice within moments; raise `RequestRefused`."""

    async def make() -> Reply:
        return await context.decide(await resource.register(context, fields))

    caller = context.caller.access_token.digest
    return await context.services.submissions.submit(caller, resource.path, fields, make)


async def answer_record(context: RequestContext, resource: Resource[T, V], reply: Reply) -> Response:
    """Answer the record in a reply."""
    item = _item_in_reply(resource, reply)
    [shown] = await context.query(lambda store, now: resource.list_view.add_details(store, [item]))
    return context.success(encode_item(resource.fields, shown))


def answer_creation(context: RequestContext, resource: Resource[T, V], reply: Reply) -> Response:
    """Answer the record that was created, with its secret if there is one."""
    # The store is not asked: it has no details yet, and if it failed, the secret would be lost.
    [shown] = resource.list_view.add_details(None, [_item_in_reply(resource, reply)])
    secret = {"secret": reply.secret.reveal()} if isinstance(reply, SecretIssued) else {}
    return context.success({**encode_item(resource.fields, shown), **secret}, status=201)


async def answer_change(context: RequestContext, resource: Resource[T, V], reply: Reply) -> Response:
    """Answer the changed record."""
    item = _item_in_reply(resource, reply)
    try:
        [shown] = await context.query(lambda store, now: resource.list_view.add_details(store, [item]))
    except TurnFailed:
        # The change is stored by now: an error would say that nothing was done.
        [shown] = resource.list_view.add_details(None, [item])
    return context.success(encode_item(resource.fields, shown))


def _item_in_reply(resource: Resource[T, V], reply: Reply) -> T:
    """Return the record in a reply."""
    item = resource.item_in_reply(reply)
    assert item is not None
    return item


def combine_refusals(reply: BatchRefused, paths: list[str]) -> RequestRefused:
    """Return the refusals of a batch as one, with the status of the one that takes precedence.

    `paths` are the places of the batch's parts in the request.
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
    """Read `{ids}` of a batch."""
    reader = FieldReader(await context.json_object(), frozenset({"ids"}))
    ids = ids_in(reader)
    return context.refuse(Why.FIELDS_INVALID, reader.faults) if reader.faults else ids


def ids_in(reader: FieldReader) -> tuple[str, ...]:
    """Return the `ids` of a batch, at least one of them."""
    ids = reader.texts("ids", ())
    if len(ids) > MOST_AT_ONCE:
        reader.fault("ids", FieldRule.TOO_LONG)
    elif not ids:
        reader.fault("ids", FieldRule.REQUIRED)
    return ids


async def read_boolean(context: RequestContext, name: str) -> bool:
    """Read `{name: true}` or `{name: false}`."""
    reader = FieldReader(await context.json_object(), frozenset({name}))
    value = reader.boolean(name, False)
    if not reader.has_field(name):
        reader.fault(name, FieldRule.REQUIRED)
    return context.refuse(Why.FIELDS_INVALID, reader.faults) if reader.faults else value


async def read_optional_boolean(context: RequestContext, name: str) -> bool:
    """Read `{name}` of a request that may have no body; False where it says nothing."""
    reader = FieldReader(await read_object_or_nothing(context), frozenset({name}))
    value = reader.boolean(name, False)
    return context.refuse(Why.FIELDS_INVALID, reader.faults) if reader.faults else value


async def read_object_or_nothing(context: RequestContext) -> Mapping[str, object]:
    """Read the JSON object of a request, an empty one if it has no body."""
    if await request.body:
        return await context.json_object()
    refuse_body(context)
    return {}


def refuse_body(context: RequestContext) -> None:
    """Refuse a body that is not JSON (READINGS 29); one that is JSON is ignored."""
    if request.mimetype and request.mimetype != JSON_MEDIA_TYPE:
        context.refuse(Why.MEDIA_TYPE_UNSUPPORTED)
