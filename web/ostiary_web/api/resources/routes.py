"""The routes of the generic list and record convention, from a declaration.

GET    /x                  a page of the list          list
GET    /x/options          what to choose from         list
GET    /x/export           a sheet of the list         list
GET    /x/import-template  an empty sheet to fill in   create
POST   /x                  a new record                create
POST   /x/import           a sheet of records          create (and update, for rows that are there)
POST   /x/batch-delete     several records             delete
GET    /x/:id              one record                  list
PUT    /x/:id              some of its fields          update
DELETE /x/:id                                          delete
PUT    /x/:id/enabled      enabled, or disabled        update; where records have a switch
"""

from typing import Annotated, Final, TypeVar

from msgspec import Meta
from quart import Response, request
from werkzeug.routing import BaseConverter

from ostiary_core.events import AllOrNothing
from ostiary_core.model.identifiers import RESERVED
from ostiary_core.model.reply import BatchRefused
from ostiary_core.model.why import Why
from ostiary_web.api.answer_data import AnswerData
from ostiary_web.api.resources.exports import answer_export, answer_template
from ostiary_web.api.resources.imports import take_sheet
from ostiary_web.api.resources.lists import answer_list, query_arguments
from ostiary_web.api.resources.queries import LARGEST_PAGE_SIZE, read_narrowing
from ostiary_web.api.resources.records import (
    answer_change,
    answer_record,
    batch_refusal,
    refuse_body,
    sent_ids,
    sent_truth,
)
from ostiary_web.api.resources.resource import Declared
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import GatedRoutes, require_permission

__all__ = ["MOST_OPTIONS", "Deleted", "Option", "RecordId", "blueprint_of"]

T = TypeVar("T")
V = TypeVar("V")

MOST_OPTIONS: Final = LARGEST_PAGE_SIZE
"""How many options are offered at a time; `q` and the filters find the others."""


class Option(AnswerData):
    """A record to choose."""

    value: str
    label: str


class Deleted(AnswerData):
    """How many records are gone."""

    deleted: Annotated[int, Meta(ge=1)]


class RecordId(BaseConverter):
    """A part of a path that names a record: none of the words that are addresses of their own, so that what
    those cannot do is 405 there, and not an action on a record of that name."""

    regex = f"(?!(?:{'|'.join(sorted(RESERVED))})\\Z)[^/]+"
    part_isolating = True


def blueprint_of(declared: Declared[T, V]) -> GatedRoutes:
    """All routes of a resource; its own actions may be added to them."""
    routes = GatedRoutes(declared.name, __name__)
    _add_reading(routes, declared)
    _add_sheets(routes, declared)
    _add_writing(routes, declared)
    _add_switch(routes, declared)
    return routes


def _add_reading(routes: GatedRoutes, declared: Declared[T, V]) -> None:
    may_list = require_permission(declared.permissions.list)

    @routes.get(declared.path, gate=may_list)
    async def page(context: RequestContext) -> Response:
        return await answer_list(context, declared.listed)

    @routes.get(f"{declared.path}/options", gate=may_list)
    async def options(context: RequestContext) -> Response:
        listing = read_narrowing(declared.listed, query_arguments(), MOST_OPTIONS)
        if isinstance(listing, tuple):
            context.refuse(Why.FIELDS_INVALID, listing)
        found = await context.look(lambda store, now: store.page(listing, now))
        return context.success(
            [Option(value=declared.identify(item), label=declared.label(item)) for item in found.items]
        )

    @routes.get(f"{declared.path}/<record:record_id>", gate=may_list)
    async def show(context: RequestContext, record_id: str) -> Response:
        reply = await context.decide(declared.show(context.caller, record_id))
        return await answer_record(context, declared, reply)


def _add_sheets(routes: GatedRoutes, declared: Declared[T, V]) -> None:
    may = declared.permissions

    @routes.get(f"{declared.path}/export", gate=require_permission(may.list))
    async def export(context: RequestContext) -> Response:
        return await answer_export(context, declared)

    @routes.get(f"{declared.path}/import-template", gate=require_permission(may.create))
    async def import_template(context: RequestContext) -> Response:
        return await answer_template(context, declared)

    @routes.post(f"{declared.path}/import", gate=require_permission(may.create))
    async def import_sheet(context: RequestContext) -> Response:
        return context.success(await take_sheet(context, declared))


def _add_switch(routes: GatedRoutes, declared: Declared[T, V]) -> None:
    if declared.switch is None:
        return
    switch, gate = declared.switch, require_permission(declared.permissions.update)

    @routes.put(f"{declared.path}/<record:record_id>/enabled", gate=gate)
    async def set_enabled(context: RequestContext, record_id: str) -> Response:
        enabled = await sent_truth(context, "enabled")
        # Disabling ends all that the record has open, and enabling revives none of it.
        event = (switch.enable if enabled else switch.disable)(context.caller, record_id)
        return await answer_change(context, declared, await context.decide(event))


def _add_writing(routes: GatedRoutes, declared: Declared[T, V]) -> None:
    may = declared.permissions

    @routes.post(declared.path, gate=require_permission(may.create))
    async def create(context: RequestContext) -> Response:
        content = await context.json_object()
        submissions = context.backing.submissions
        with submissions.single(context.caller.access_token.digest, request.path, content) as submission:
            if submission is None:
                context.refuse(Why.SUBMITTED_TWICE)
            reply = await context.decide(await declared.register(context, content))
            submission.succeeded = True
        return await answer_change(context, declared, reply, status=201)

    @routes.post(f"{declared.path}/batch-delete", gate=require_permission(may.delete))
    async def batch_delete(context: RequestContext) -> Response:
        ids = await sent_ids(context)
        # Whoever deletes themselves among others is signed in until the others are gone.
        in_order = sorted(range(len(ids)), key=lambda place: ids[place] == context.user.user_id)
        reply = await context.decide(
            AllOrNothing(events=tuple(declared.delete(context.caller, ids[place]) for place in in_order))
        )
        if isinstance(reply, BatchRefused):
            raise batch_refusal(reply, [f"ids.{place}" for place in in_order])
        return context.success(Deleted(deleted=len(ids)))

    @routes.put(f"{declared.path}/<record:record_id>", gate=require_permission(may.update))
    async def change(context: RequestContext, record_id: str) -> Response:
        content = await context.json_object()
        reply = await context.decide(declared.change(context.caller, record_id, content, None))
        return await answer_change(context, declared, reply)

    @routes.delete(f"{declared.path}/<record:record_id>", gate=require_permission(may.delete))
    async def delete(context: RequestContext, record_id: str) -> Response:
        refuse_body(context)
        await context.decide(declared.delete(context.caller, record_id))
        return context.success(None)
