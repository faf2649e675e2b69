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
from quart import Blueprint, Response, current_app, request
from werkzeug.routing import BaseConverter

from ostiary_core.events import AllOrNothing
from ostiary_core.model.decision import BatchRefused, Refused
from ostiary_core.model.identifiers import RESERVED
from ostiary_core.model.why import Why
from ostiary_web.answer_data import AnswerData
from ostiary_web.exchange import json_object
from ostiary_web.resources.access import Call, opened_by
from ostiary_web.resources.declared import Declared
from ostiary_web.resources.exports import answer_export, answer_template
from ostiary_web.resources.imports import answer_import
from ostiary_web.resources.lists import answer_list, query_arguments
from ostiary_web.resources.queries import LARGEST_PAGE_SIZE, read_narrowing
from ostiary_web.resources.records import (
    answer_change,
    answer_done,
    answer_record,
    batch_refusal,
    sent_ids,
    sent_nothing,
    sent_truth,
)
from ostiary_web.resources.submissions import Submissions

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


def blueprint_of(declared: Declared[T, V]) -> Blueprint:
    """All routes of a resource; its own actions may be added to them."""
    routes = Blueprint(declared.name, __name__)
    _add_reading(routes, declared)
    _add_sheets(routes, declared)
    _add_writing(routes, declared)
    _add_switch(routes, declared)
    return routes


def _add_reading(routes: Blueprint, declared: Declared[T, V]) -> None:
    may = declared.permissions

    @opened_by(routes, "GET", declared.path, may.list)
    async def page(call: Call) -> Response:
        return await answer_list(call, declared.listed)

    @opened_by(routes, "GET", f"{declared.path}/options", may.list)
    async def options(call: Call) -> Response:
        asked = read_narrowing(declared.listed, query_arguments(), MOST_OPTIONS)
        if isinstance(asked, tuple):
            return call.here.refuse(Why.FIELDS_INVALID, asked)
        listing = asked
        found = await call.look(lambda store, now: store.page(listing, now))
        return call.here.success(
            [Option(value=declared.identify(item), label=declared.label(item)) for item in found.items]
        )

    @opened_by(routes, "GET", f"{declared.path}/<record:record_id>", may.list)
    async def show(call: Call, record_id: str) -> Response:
        return await answer_record(call, declared, await call.decide(declared.show(call.who, record_id)))


def _add_sheets(routes: Blueprint, declared: Declared[T, V]) -> None:
    may = declared.permissions

    @opened_by(routes, "GET", f"{declared.path}/export", may.list)
    async def export(call: Call) -> Response:
        return await answer_export(call, declared)

    @opened_by(routes, "GET", f"{declared.path}/import-template", may.create)
    async def import_template(call: Call) -> Response:
        return await answer_template(call, declared)

    @opened_by(routes, "POST", f"{declared.path}/import", may.create)
    async def import_sheet(call: Call) -> Response:
        return await answer_import(call, declared)


def _add_switch(routes: Blueprint, declared: Declared[T, V]) -> None:
    if declared.switch is None:
        return
    switch = declared.switch

    @opened_by(routes, "PUT", f"{declared.path}/<record:record_id>/enabled", declared.permissions.update)
    async def set_enabled(call: Call, record_id: str) -> Response:
        enabled = await sent_truth("enabled")
        if isinstance(enabled, Refused):
            return call.here.refused(enabled)
        # Disabling ends all that the record has open, and enabling revives none of it.
        event = (switch.enable if enabled else switch.disable)(call.who, record_id)
        return await answer_change(call, declared, await call.decide(event))


def _add_writing(routes: Blueprint, declared: Declared[T, V]) -> None:
    may = declared.permissions

    @opened_by(routes, "POST", declared.path, may.create)
    async def create(call: Call) -> Response:
        content = await json_object()
        if isinstance(content, Why):
            return call.here.refuse(content)
        submissions: Submissions = current_app.extensions["ostiary.submissions"]
        with submissions.single(call.who.access_token.digest, request.path, content) as submission:
            if submission is None:
                return call.here.refuse(Why.SUBMITTED_TWICE)
            reply = await call.decide(await declared.register(call, content))
            submission.succeeded = not isinstance(reply, Refused)
        return await answer_change(call, declared, reply, status=201)

    @opened_by(routes, "POST", f"{declared.path}/batch-delete", may.delete)
    async def batch_delete(call: Call) -> Response:
        ids = await sent_ids()
        if isinstance(ids, Refused):
            return call.here.refused(ids)
        # Whoever deletes themselves among others is signed in until the others are gone.
        in_order = sorted(range(len(ids)), key=lambda place: ids[place] == call.own_id)
        reply = await call.decide(
            AllOrNothing(events=tuple(declared.delete(call.who, ids[place]) for place in in_order))
        )
        if isinstance(reply, BatchRefused):
            return call.here.refused(batch_refusal(reply, [f"ids.{place}" for place in in_order]))
        return answer_done(call.here, reply, Deleted(deleted=len(ids)))

    @opened_by(routes, "PUT", f"{declared.path}/<record:record_id>", may.update)
    async def change(call: Call, record_id: str) -> Response:
        content = await json_object()
        if isinstance(content, Why):
            return call.here.refuse(content)
        reply = await call.decide(declared.change(call.who, record_id, content, None))
        return await answer_change(call, declared, reply)

    @opened_by(routes, "DELETE", f"{declared.path}/<record:record_id>", may.delete)
    async def delete(call: Call, record_id: str) -> Response:
        refusal = sent_nothing()
        if refusal is not None:
            return call.here.refused(refusal)
        return answer_done(call.here, await call.decide(declared.delete(call.who, record_id)))
