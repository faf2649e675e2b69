"""Add the routes of the generic list and record convention for a declared resource.

GET    /x                  a page of the list          list
GET    /x/options          what to choose from         list
GET    /x/export           a sheet of the list         list
GET    /x/import-template  an empty sheet to fill in   create
POST   /x                  a new record                create
POST   /x/import           a sheet of records          create (and update, for rows that are there)
GET    /x/import/:id       how far an import is        create; if records have passwords
POST   /x/batch-delete     several records             delete
GET    /x/:id              one record                  list
PUT    /x/:id              some of its fields          update
DELETE /x/:id                                          delete
PUT    /x/:id/enabled      enabled, or disabled        update; if records have a switch

`add_event_route` adds one more route that decides one event.
"""

from collections.abc import Callable
from typing import Annotated, Final, TypeVar

from msgspec import Meta
from quart import Response
from werkzeug.routing import BaseConverter

from ostiary_core.events import BatchRequested, Event
from ostiary_core.model.record_type import RESERVED
from ostiary_core.model.reply import BatchRefused
from ostiary_core.model.why import Why
from ostiary_web.application.answer_data import AnswerData
from ostiary_web.application.resources.exports import answer_export, answer_template
from ostiary_web.application.resources.import_preview import ImportPreview, encode_preview, preview_sheet
from ostiary_web.application.resources.imports import (
    ImportRun,
    answer_import,
    import_sheet,
    read_run,
    read_upload,
)
from ostiary_web.application.resources.lists import answer_list, query_arguments
from ostiary_web.application.resources.queries import LARGEST_PAGE_SIZE, read_filters
from ostiary_web.application.resources.records import (
    answer_change,
    answer_creation,
    answer_record,
    combine_refusals,
    create_record,
    read_boolean,
    read_ids,
    refuse_body,
)
from ostiary_web.application.resources.resource import Resource
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import Gate, GatedRoutes, require_permission

T = TypeVar("T")
V = TypeVar("V")

MOST_OPTIONS: Final = LARGEST_PAGE_SIZE
"""Most options offered at a time; `q` and the filters find the others."""


class Option(AnswerData):
    """A record to choose."""

    value: str
    label: str


class Deleted(AnswerData):
    """The number of records deleted."""

    deleted: Annotated[int, Meta(ge=1)]


class RecordId(BaseConverter):
    """A path segment that names a record."""

    # Not our own words: `PUT /x/export` is a 405, and no change of a record called "export".
    regex = f"(?!(?:{'|'.join(sorted(RESERVED))})\\Z)[^/]+"
    part_isolating = True


def make_routes(resource: Resource[T, V]) -> GatedRoutes:
    """Return the routes of a resource, to which it may add its own actions."""
    routes = GatedRoutes(resource.name, __name__)
    _add_reading(routes, resource)
    _add_sheets(routes, resource)
    _add_writing(routes, resource)
    _add_switch(routes, resource)
    return routes


def _add_reading(routes: GatedRoutes, resource: Resource[T, V]) -> None:
    may_list = require_permission(resource.permissions.list)

    @routes.get(resource.path, gate=may_list)
    async def page(context: RequestContext) -> Response:
        return await answer_list(context, resource.list_view)

    @routes.get(f"{resource.path}/options", gate=may_list)
    async def options(context: RequestContext) -> list[Option]:
        listing = read_filters(resource.list_view, query_arguments(), MOST_OPTIONS)
        if isinstance(listing, tuple):
            context.refuse(Why.FIELDS_INVALID, listing)
        found = await context.query(lambda store, now: store.page(listing, now))
        return [Option(value=resource.identify(item), label=resource.label(item)) for item in found.items]

    @routes.get(f"{resource.path}/<record:record_id>", gate=may_list)
    async def show(context: RequestContext, record_id: str) -> Response:
        reply = await context.decide(resource.event(resource.show, context.caller, record_id))
        return await answer_record(context, resource, reply)


def _add_sheets(routes: GatedRoutes, resource: Resource[T, V]) -> None:
    may = resource.permissions

    @routes.get(f"{resource.path}/export", gate=require_permission(may.list))
    async def export(context: RequestContext) -> Response:
        return await answer_export(context, resource.list_view, may.list, query_arguments(), context.language)

    @routes.get(f"{resource.path}/import-template", gate=require_permission(may.create))
    async def import_template(context: RequestContext) -> Response:
        return await answer_template(context, resource, context.language)

    @routes.post(f"{resource.path}/import", gate=require_permission(may.create))
    async def take_import(context: RequestContext) -> Response | ImportPreview:
        upload = await read_upload(context, resource)
        if upload.is_preview:
            preview = await preview_sheet(context, resource, upload)
            return encode_preview(preview, resource, upload.rows)
        made = await import_sheet(context, resource, upload)
        return answer_import(context, resource, made)

    if resource.has_password is None:
        return

    @routes.get(f"{resource.path}/import/<run_id>", gate=require_permission(may.create))
    async def import_run(context: RequestContext, run_id: str) -> ImportRun:
        return await read_run(context, resource, run_id)


def _add_switch(routes: GatedRoutes, resource: Resource[T, V]) -> None:
    enable, disable = resource.enable, resource.disable
    if enable is None or disable is None:
        return
    gate = require_permission(resource.permissions.update)

    @routes.put(f"{resource.path}/<record:record_id>/enabled", gate=gate)
    async def set_enabled(context: RequestContext, record_id: str) -> Response:
        enabled = await read_boolean(context, "enabled")
        # Disabling ends all that the record has open, and enabling revives none of it.
        event = resource.event(enable if enabled else disable, context.caller, record_id)
        return await answer_change(context, resource, await context.decide(event))


def _add_writing(routes: GatedRoutes, resource: Resource[T, V]) -> None:
    may = resource.permissions

    @routes.post(resource.path, gate=require_permission(may.create))
    async def create(context: RequestContext) -> Response:
        content = await context.json_object()
        created = await create_record(context, resource, content)
        if created.is_repeated:
            context.refuse(Why.SUBMITTED_TWICE)
        return answer_creation(context, resource, created.reply)

    @routes.post(f"{resource.path}/batch-delete", gate=require_permission(may.delete))
    async def batch_delete(context: RequestContext) -> Deleted:
        ids = await read_ids(context)
        events = tuple(resource.event(resource.delete, context.caller, record_id) for record_id in ids)
        reply = await context.decide(BatchRequested(events=events))
        if isinstance(reply, BatchRefused):
            raise combine_refusals(reply, [f"ids.{place}" for place in range(len(ids))])
        return Deleted(deleted=len(ids))

    @routes.put(f"{resource.path}/<record:record_id>", gate=require_permission(may.update))
    async def change(context: RequestContext, record_id: str) -> Response:
        content = await context.json_object()
        reply = await context.decide(resource.change(context, record_id, content, None))
        return await answer_change(context, resource, reply)

    @routes.delete(f"{resource.path}/<record:record_id>", gate=require_permission(may.delete))
    async def delete(context: RequestContext, record_id: str) -> None:
        refuse_body(context)
        await context.decide(resource.event(resource.delete, context.caller, record_id))


def add_event_route(routes: GatedRoutes, method: str, path: str, kind: type[Event], gate: Gate) -> None:
    """Add a route without a body, whose event has the caller and the variable parts of its path."""
    make: Callable[..., Event] = kind

    async def decide(context: RequestContext, **parts: str) -> None:
        refuse_body(context)
        await context.decide(make(caller=context.caller, **parts))

    routes.add_url_rule(path, kind.__name__, decide, methods=[method], gate=gate)
