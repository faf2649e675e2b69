"""Pages of any record: show, register, change, and actions that ask first.

A resource describes its pages: how its form is read, and which actions there are. The core judges what a form
may hold; faults stand at its fields.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Generic, TypeVar

import msgspec
from quart import Response

from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import Refused, Reply, SecretIssued
from ostiary_core.model.user import USER
from ostiary_core.model.why import Why
from ostiary_web.application.resources.records import create_record
from ostiary_web.application.resources.resource import Resource
from ostiary_web.http.context import RequestRefused
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.actions import (
    RecordAction,
    count_running_sessions,
    describe_endings,
    warn_of_oneself,
)
from ostiary_web.pages.administration.asked_list import ListPage
from ostiary_web.pages.administration.imports import add_import
from ostiary_web.pages.administration.list_page import export_list, filter_list, show_list
from ostiary_web.pages.administration.list_return import (
    HOME,
    address_of_list,
    with_list_query,
)
from ostiary_web.pages.administration.record_forms import (
    Values,
    describe_form,
    faults_by_field,
    fill_form,
    keep_order,
    list_facts,
    read_form,
    read_original,
)
from ostiary_web.pages.administration.selected_action import add_selected_action
from ostiary_web.pages.administration.selection import (
    SelectionAction,
    make_selectable,
    make_selection_action,
)
from ostiary_web.pages.context import PageContext, render, render_question
from ostiary_web.pages.kept import forget_kept, redirect_keeping, take_kept
from ostiary_web.pages.routes import PageRoutes

T = TypeVar("T")
V = TypeVar("V")

_SECRET: Final = "secret"
"""Field under which a new secret is kept for the page of its record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPages(Generic[T, V]):
    """The pages of one resource."""

    resource: Resource[T, V]
    list_page: ListPage[T, V]
    new: str
    """Key of the text on the button that leads to the form of a new record."""
    item_template: str
    new_lead: str | None = None
    """Key of the text above the form of a new record."""
    new_submit: str = "page.save"
    """Key of the text on the button of that form."""
    new_values: Mapping[str, Any] = field(default_factory=dict)
    """Values that it begins with."""
    actions: tuple[RecordAction[T], ...]
    selection: Sequence[SelectionAction[T]] = ()
    """Actions on selected records beside those of one."""
    extra_context: Callable[[PageContext, T | None], Awaitable[Values]]
    """Makes what else the templates show, `hints` and `options` of the form; no item for a new record."""
    not_offered: Callable[[PageContext, str], Collection[str]] = lambda page, item_id: ()
    """Fields that the form of this record leaves out for this visitor."""
    has_sessions: bool = True
    """Whether an action on a record may end sessions, whose list has a filter by its identifier."""
    in_title: frozenset[str]
    """Names of the fields that the page of a record does not list with the others."""


def make_record_pages(pages: RecordPages[T, V]) -> PageRoutes:
    """Return the routes of a resource's pages."""
    resource, place, may = pages.resource, pages.list_page.place, pages.resource.permissions
    selection = [
        make_selection_action(resource, each) for each in pages.actions if each.batch_text is not None
    ]
    selection += pages.selection
    routes = PageRoutes(f"{resource.name}_pages", __name__)
    single = f"{place}/<item_id>"

    @routes.get(place, gate=require_permission(may.list))
    async def show_records(page: PageContext) -> Response:
        offered = [(each.address, each.name) for each in selection if page.may(each.permission)]
        return await show_list(page, replace(pages.list_page, selection=offered), tools=_tools(page, pages))

    @routes.get(f"{place}/export", gate=require_permission(may.list))
    async def export(page: PageContext) -> Response:
        return await export_list(page, pages.list_page, may.list)

    if pages.list_page.user_filter is not None:

        @routes.post(place, gate=require_permission(may.list))
        async def filter_all(page: PageContext) -> Response:
            return await filter_list(page, pages.list_page)

    @routes.get(f"{place}/new", gate=require_permission(may.create))
    async def show_new(page: PageContext) -> Response:
        return await _form(page, pages, None, {**pages.new_values}, None)

    @routes.post(f"{place}/new", gate=require_permission(may.create))
    async def create(page: PageContext) -> Response:
        fields = read_form(resource.record_type, page.form, is_new=True)
        try:
            created = await create_record(page.request, resource, fields)
        except RequestRefused as refusal:
            return await _form(page, pages, None, fields, refusal.reply)
        return await _render_created(page, pages, created.reply, is_repeated=created.is_repeated)

    @routes.get(single, gate=require_permission(may.list))
    async def show(page: PageContext, item_id: str) -> Response:
        secret = take_kept(page, f"{place}/{item_id}").get(_SECRET)
        return await _item(page, pages, await _request_item(page, pages, item_id), secret)

    @routes.get(f"{single}/edit", gate=require_permission(may.update))
    async def show_edit(page: PageContext, item_id: str) -> Response:
        item = await _require_item(page, pages, item_id)
        return await _form(page, pages, item, fill_form(resource.record_type, item), None)

    @routes.post(f"{single}/edit", gate=require_permission(may.update))
    async def update(page: PageContext, item_id: str) -> Response:
        original = read_original(page.form)
        sent = read_form(resource.record_type, page.form, is_new=False)
        left_out = {*pages.not_offered(page, item_id)} - {*page.form}
        fields = keep_order(resource.record_type, sent, original or {})
        fields = {name: value for name, value in fields.items() if name not in left_out}
        try:
            await page.request.decide(resource.change(page.request, item_id, fields, original))
        except RequestRefused as refusal:
            item = await _find_item(page, pages, item_id)
            if item is None:
                raise
            if original is None or refusal.reply.why is not Why.CHANGED_MEANWHILE:
                return await _form(page, pages, item, fields, refusal.reply, original)
            stored = fill_form(resource.record_type, item)
            touched = {name: value for name, value in fields.items() if original.get(name) != value}
            return await _form(page, pages, item, {**stored, **touched}, refusal.reply)
        return page.redirect(page_of_record(page, pages, item_id), page.text("page.done"))

    add_import(routes, resource, place)
    for action in pages.actions:
        _add_action(routes, pages, action)
    whose = resource.record_type.identifier if pages.has_sessions else None
    selectable = make_selectable(resource, pages.list_page, whose)
    for each in selection:
        add_selected_action(routes, selectable, each, f"{each.address.rpartition('/')[2]}_selected")
    return routes


def _add_action(routes: PageRoutes, pages: RecordPages[T, V], action: RecordAction[T]) -> None:
    place = pages.list_page.place
    path = f"{place}/<item_id>/{action.path}"
    gate = require_permission(action.permission(pages.resource))

    async def ask(page: PageContext, item_id: str) -> Response:
        return await _ask(page, pages, action, await _require_item(page, pages, item_id), None)

    async def do(page: PageContext, item_id: str) -> Response:
        before, running = await _find_item(page, pages, item_id), await _count_running(page, pages, item_id)
        try:
            reply = await page.request.decide(await action.make_event(page, pages.resource, item_id))
        except RequestRefused as refusal:
            item = await _find_item(page, pages, item_id)
            if item is None or action.confirm_text is None:
                raise
            return await _ask(page, pages, action, item, refusal.reply)
        if isinstance(reply, SecretIssued):
            return await _render_created(page, pages, reply)
        if action.show_outcome is not None:
            return await action.show_outcome(page, reply)
        done = page.text(action.done_text, name=item_id if before is None else pages.resource.label(before))
        ended = running - await _count_running(page, pages, item_id)
        there = page_of_list if action.removes_record else partial(page_of_record, item_id=item_id)
        return page.redirect(there(page, pages), *describe_endings(page, done, ended))

    if action.confirm_text is not None:
        routes.add_url_rule(path, f"ask_{action.path}", ask, methods=["GET"], gate=gate)
    form_is_on = f"{place}/{{item_id}}" if action.confirm_text is None else None
    routes.add_url_rule(path, f"do_{action.path}", do, methods=["POST"], gate=gate, form_is_on=form_is_on)


# --- where to go next, for a visitor with some of the permissions


def page_of_record(page: PageContext, pages: RecordPages[Any, Any], item_id: str) -> str:
    """Return the address of a record's page that this visitor may open, with the list to return to."""
    place, may = pages.list_page.place, pages.resource.permissions
    if page.may(may.list):
        return with_list_query(f"{place}/{item_id}")
    return f"{place}/{item_id}/edit" if page.may(may.update) else HOME


def page_of_list(page: PageContext, pages: RecordPages[Any, Any]) -> str:
    """Return the address of the list as it was left; the home page for a visitor who may not see it."""
    return address_of_list(pages.list_page.place) if page.may(pages.resource.permissions.list) else HOME


# --- records and forms


async def _require_item(page: PageContext, pages: RecordPages[T, V], item_id: str) -> T:
    return _item_in(page, pages, await _request_item(page, pages, item_id))


def _item_in(page: PageContext, pages: RecordPages[T, V], reply: Reply) -> T:
    item = pages.resource.item_in_reply(reply)
    return page.request.refuse(Why.NOT_FOUND) if item is None else item


async def _find_item(page: PageContext, pages: RecordPages[T, V], item_id: str) -> T | None:
    return pages.resource.item_in_reply(await _request_item(page, pages, item_id))


async def _request_item(page: PageContext, pages: RecordPages[Any, Any], item_id: str) -> Reply:
    resource = pages.resource
    return (await page.request.submit(resource.event(resource.show, page.request.caller, item_id))).reply


# --- pages


def _tools(page: PageContext, pages: RecordPages[T, V]) -> list[tuple[str, str]]:
    resource, place = pages.resource, pages.list_page.place
    tools = []
    if page.may(resource.permissions.create):
        tools += [(f"{place}/new", page.text(pages.new)), (f"{place}/import", page.text("page.import"))]
    return tools


async def _render_created(
    page: PageContext, pages: RecordPages[T, V], reply: Reply, *, is_repeated: bool = False
) -> Response:
    """Redirect to a new record, whose secret that page shows once.

    Show it at once if it came twice (READINGS 31), or has a secret and the visitor may not open its page.
    """
    item = pages.resource.item_in_reply(reply)
    assert item is not None
    secret = reply.secret.reveal() if isinstance(reply, SecretIssued) else None
    if is_repeated:
        page.request.log_refusal(Why.SUBMITTED_TWICE)
        forget_kept(page)
        return await _item(page, pages, reply, secret, Why.SUBMITTED_TWICE)
    if secret is not None and not page.may(pages.resource.permissions.list):
        return await _item(page, pages, reply, secret)
    there = page_of_record(page, pages, pages.resource.identify(item))
    if secret is not None:
        return redirect_keeping(page, there, {_SECRET: secret})
    done = page.text("page.registered_done", name=pages.resource.label(item))
    return page.redirect(f"{pages.list_page.place}/new" if there == HOME else there, done)


async def _item(
    page: PageContext,
    pages: RecordPages[T, V],
    reply: Reply,
    secret: str | None = None,
    refused: Why | None = None,
) -> Response:
    resource, item = pages.resource, _item_in(page, pages, reply)
    item_id = resource.identify(item)
    out_of_reach = resource.permissions_out_of_reach(reply)

    def may(permission: Permission) -> bool:
        return page.may(permission) and permission not in out_of_reach

    [shown] = await page.request.query(lambda store, now: resource.list_view.add_details(store, [item]))
    is_fixed = getattr(item, "built_in", False)
    extra = await pages.extra_context(page, item)
    return await render(
        page,
        pages.item_template,
        refused=refused,
        place=pages.list_page.place,
        item=item,
        secret=secret,
        running=await _count_running(page, pages, item_id),
        list_address=address_of_list(pages.list_page.place) if page.may(resource.permissions.list) else None,
        list_name=page.text(pages.list_page.heading),
        address_of_item=f"{pages.list_page.place}/{item_id}",
        list_query=with_list_query(""),
        may_edit=may(resource.permissions.update) and not is_fixed,
        is_out_of_reach=bool(out_of_reach),
        says_out_of_reach=not is_fixed and any(map(page.may, out_of_reach)),
        actions=[
            action
            for action in pages.actions
            if not is_fixed and may(action.permission(resource)) and action.is_available(item, page)
        ],
        extra=extra,
        facts=list_facts(
            page, resource.record_type, resource.list_view, shown, pages.in_title, extra.get("options", {})
        ),
    )


_HIDDEN: Final = frozenset({"password"})


async def _form(
    page: PageContext,
    pages: RecordPages[T, V],
    item: T | None,
    values: Values,
    reply: Refused | None,
    original: Values | None = None,
) -> Response:
    """Show the form filled with `values`; `original` is what it held at first, if not the record."""
    place = pages.list_page.place
    record_type = pages.resource.record_type
    stored = {} if item is None else fill_form(record_type, item)
    address = "" if item is None else f"{place}/{pages.resource.identify(item)}"
    by_field = faults_by_field(page, () if reply is None else reply.faults, stored)
    extra = await pages.extra_context(page, item)
    form = describe_form(
        page,
        record_type,
        is_new=item is None,
        left_out=() if item is None else pages.not_offered(page, pages.resource.identify(item)),
        hints=extra.get("hints", {}),
        options=extra.get("options", {}),
        stored=stored,
    )
    return await render(
        page,
        "administration/record_form.html",
        place=place,
        new=page.text(pages.new),
        new_lead=None if pages.new_lead is None else page.text(pages.new_lead),
        submit=page.text(pages.new_submit if item is None else "page.save"),
        form=form,
        # A new user's password is not carried over another page; what else gives power asks when it is sent.
        asks_proof=page.asks_proof and item is None and record_type is USER,
        refused=reply,
        item=item,
        values={name: value for name, value in values.items() if name not in _HIDDEN},
        wrong={each.name: by_field[each.name] for each in form if each.name in by_field},
        original=msgspec.json.encode(original or stored).decode(),
        action=f"{place}/new" if item is None else with_list_query(f"{address}/edit"),
        back=_cancel_address(page, pages, item),
    )


def _cancel_address(page: PageContext, pages: RecordPages[T, V], item: T | None) -> str:
    """Return the address that leaves a form: the record's page, but never the form itself."""
    if item is None or not page.may(pages.resource.permissions.list):
        return page_of_list(page, pages)
    return page_of_record(page, pages, pages.resource.identify(item))


async def _count_running(page: PageContext, pages: RecordPages[T, V], item_id: str) -> int:
    """Return how many running sessions an action would end, as far as the visitor may see them."""
    whose = {pages.resource.record_type.identifier: item_id}
    return await count_running_sessions(page.request, **whose) if pages.has_sessions else 0


async def _ask(
    page: PageContext, pages: RecordPages[T, V], action: RecordAction[T], item: T, reply: Refused | None
) -> Response:
    resource, place = pages.resource, pages.list_page.place
    item_id = resource.identify(item)
    count = await _count_running(page, pages, item_id)
    return await render_question(
        page,
        place=place,
        refused=reply,
        heading=page.text("page.of", action=page.text(action.name), name=resource.label(item)),
        confirm_text=page.text(action.confirm_text or action.name, count=count, name=resource.label(item)),
        action_name=page.text(action.name),
        back=page_of_record(page, pages, item_id),
        warnings=[*warn_of_oneself(page, [item_id]), *action.warn(page, item)],
        is_danger=action.takes_away,
        asks_password=action.asks_password,
        asks_overlap=action.asks_overlap,
        offers_text_message=action.offers_text_message(item, page),
        asks_proof=action.needs_proof and page.asks_proof,
    )
