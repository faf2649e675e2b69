"""Actions on the selected records of a list: asked once, done to all of them or to none."""

from collections.abc import Mapping, Sequence
from typing import Any

from quart import Response, request

from ostiary_core.events import AdministrationEvent, BatchRequested
from ostiary_core.http.envelope import field_text
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.reply import BatchRefused, Refused
from ostiary_core.model.why import Why
from ostiary_web.application.resources.queries import MOST_VALUES
from ostiary_web.application.resources.records import combine_refusals
from ostiary_web.application.resources.resource import Resource
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.actions import RecordAction, warn_of_oneself
from ostiary_web.pages.administration.asked_list import ListPage
from ostiary_web.pages.administration.list_return import (
    HOME,
    address_of_list,
)
from ostiary_web.pages.context import PageContext, render_question
from ostiary_web.pages.routes import PageRoutes


def list_selection_actions(
    page: PageContext, resource: Resource[Any, Any], actions: Sequence[RecordAction[Any]]
) -> list[tuple[str, str]]:
    """Return the addresses and texts of what the visitor may do to selected records."""
    return [
        (_address(resource, action), action.name)
        for action in actions
        if action.batch_text is not None and page.may(action.permission(resource))
    ]


def add_selection(
    routes: PageRoutes,
    resource: Resource[Any, Any],
    list_page: ListPage[Any, Any],
    action: RecordAction[Any],
) -> None:
    """Add the routes of an action on selected records."""
    address, gate = _address(resource, action), require_permission(action.permission(resource))
    kind = action.event
    assert isinstance(kind, type)
    assert issubclass(kind, AdministrationEvent)

    async def ask(page: PageContext) -> Response:
        ids = _read_ids()
        if not ids:
            return page.redirect(_list_or_home(page, resource, list_page))
        return await _ask(page, resource, list_page, action, ids)

    async def do(page: PageContext) -> Response:
        ids = _read_ids()
        events = tuple(resource.event(kind, page.request.caller, record_id) for record_id in ids)
        reply = await page.request.decide(BatchRequested(events=events))
        if isinstance(reply, BatchRefused):
            refused = combine_refusals(reply, [*map(str, range(len(ids)))]).reply
            return await _ask(page, resource, list_page, action, ids, refused)
        there = _list_or_home(page, resource, list_page)
        return page.redirect(there, page.text("page.done"))

    name = f"{action.path}_selected"
    routes.add_url_rule(address, f"ask_{name}", ask, methods=["GET"], gate=gate)
    routes.add_url_rule(address, f"do_{name}", do, methods=["POST"], gate=gate)


def _address(resource: Resource[Any, Any], action: RecordAction[Any]) -> str:
    # Not below the list's own address, where a record may be called "selected".
    return f"/admin/selected/{resource.name}/{action.path}"


def _read_ids() -> list[str]:
    """Return the selected records, each once; a list's page has not many more."""
    return list(dict.fromkeys(each for each in request.args.getlist("id") if each))[:MOST_VALUES]


def _list_or_home(page: PageContext, resource: Resource[Any, Any], list_page: ListPage[Any, Any]) -> str:
    return address_of_list(list_page.place) if page.may(resource.permissions.list) else HOME


async def _ask(
    page: PageContext,
    resource: Resource[Any, Any],
    list_page: ListPage[Any, Any],
    action: RecordAction[Any],
    ids: list[str],
    refused: Refused | None = None,
) -> Response:
    """Ask before it is done, and name the records as far as the visitor may see them."""
    names: dict[str, str] = {}
    for record_id in ids if page.may(resource.permissions.list) else ():
        known = await page.request.submit(resource.event(resource.show, page.request.caller, record_id))
        item = resource.item_in_reply(known.reply)
        if item is not None:
            key = getattr(item, resource.record_type.settable[0].attribute)
            names[record_id] = f"{resource.label(item)} ({key})"
    action_name = page.text(action.name)
    faults = () if refused is None else refused.faults
    return await render_question(
        page,
        place=list_page.place,
        refused=refused,
        faults=[f"{_name(ids, names, fault)}: {_reason(page, fault)}" for fault in faults],
        heading=page.text("page.selected_heading", action=action_name, count=len(ids)),
        confirm_text=page.text(action.batch_text or action.name),
        details=[names.get(id, id) for id in ids],
        warnings=[] if action.confirm_text is None else warn_of_oneself(page, ids),
        action_name=action_name,
        back=_list_or_home(page, resource, list_page),
    )


def _reason(page: PageContext, fault: FieldFault) -> str:
    """Return why a record was refused; of one that is out of reach, as its own page says it."""
    if fault.rule is Why.PERMISSION_MISSING:
        return page.text("page.out_of_reach")
    return field_text(fault, page.language)


def _name(ids: Sequence[str], names: Mapping[str, str], fault: FieldFault) -> str:
    """Return the name of the record that a fault of a batch is about, by its place."""
    record_id = ids[int(fault.path.partition(".")[0])]
    return names.get(record_id, record_id)
