"""Records as pages: shown, registered, changed, and the actions that ask before they are done.

A record's pages are described, not written again: which declared resource they are of, how its form is
read, and what can be done with it. What a form may hold, the rules judge; their faults stand by its fields.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec
from quart import Response
from werkzeug.datastructures import MultiDict

from ostiary_core.http.envelope import field_text
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.reply import Refused, Reply, SecretIssued
from ostiary_core.model.why import Why
from ostiary_web.api.resources.records import create_record
from ostiary_web.api.resources.resource import Resource
from ostiary_web.http.context import RequestContext, RequestRefused
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.actions import RecordAction
from ostiary_web.pages.administration.imports import add_import
from ostiary_web.pages.administration.tables import Table, export_table, narrow_table, show_table
from ostiary_web.pages.administration.way_back import HOME, address_of_list, with_done_notice, with_way_back
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.routes import PageRoutes
from ostiary_web.texts import TextFamily

T = TypeVar("T")
V = TypeVar("V")

Form = MultiDict[str, str]
Values = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages(Generic[T, V]):
    """The pages of one resource."""

    resource: Resource[T, V]
    table: Table[T, V]
    new: str
    """The key of the text on the button that leads to the form of a new record."""
    item_template: str
    form_template: str
    fields_of: Callable[[Form, bool], Values]
    """The JSON object that a form stands for; the flag says whether the record is new."""
    values_of: Callable[[T], Values]
    """What a form of a standing record is filled with."""
    ticked: tuple[str, ...]
    """Which of these are ticked one by one, in whatever order they come."""
    actions: tuple[RecordAction[T], ...]
    more: Callable[[PageContext, T | None], Awaitable[Values]]
    """What else the templates show; no item for a new record."""
    running: Callable[[RequestContext, str], Awaitable[int]]
    """How many running sessions an action would end."""
    is_fixed: Callable[[T], bool]
    """Whether the record cannot be changed by anybody."""


def pages_of(described: Pages[T, V]) -> PageRoutes:
    """The routes of a resource's pages."""
    resource, place, may = described.resource, described.table.place, described.resource.permissions
    routes = PageRoutes(f"{resource.name}_pages", __name__)
    single = f"{place}/<item_id>"

    @routes.get(place, gate=require_permission(may.list))
    async def show_all(page: PageContext) -> Response:
        return await show_table(page, described.table, tools=_tools(page, described))

    @routes.get(f"{place}/export", gate=require_permission(may.list))
    async def export(page: PageContext) -> Response:
        return await export_table(page, described.table, may.list)

    if described.table.people is not None:

        @routes.post(place, gate=require_permission(may.list))
        async def narrow_all(page: PageContext) -> Response:
            return await narrow_table(page, described.table)

    @routes.get(f"{place}/new", gate=require_permission(may.create))
    async def show_new(page: PageContext) -> Response:
        return await _form(page, described, None, {}, None)

    @routes.post(f"{place}/new", gate=require_permission(may.create))
    async def take_new(page: PageContext) -> Response:
        fields = described.fields_of(page.form, True)
        try:
            created = await create_record(page.request, resource, fields)
        except RequestRefused as refusal:
            return await _form(page, described, None, fields, refusal.reply)
        return await _made(page, described, created.reply, is_repeated=created.is_repeated)

    @routes.get(single, gate=require_permission(may.list))
    async def show(page: PageContext, item_id: str) -> Response:
        return await _item(page, described, await _found(page, described, item_id))

    @routes.get(f"{single}/edit", gate=require_permission(may.update))
    async def show_edit(page: PageContext, item_id: str) -> Response:
        item = await _found(page, described, item_id)
        return await _form(page, described, item, described.values_of(item), None)

    @routes.post(f"{single}/edit", gate=require_permission(may.update))
    async def take_edit(page: PageContext, item_id: str) -> Response:
        shown = _shown_before(page.form)
        fields = _ticked_as_before(described, described.fields_of(page.form, False), shown or {})
        try:
            await page.request.decide(resource.change(page.request, item_id, fields, shown))
        except RequestRefused as refusal:
            item = await _known(page, described, item_id)
            if item is None:
                raise
            if shown is None or refusal.reply.why is not Why.CHANGED_MEANWHILE:
                return await _form(page, described, item, fields, refusal.reply, shown)
            standing = described.values_of(item)
            touched = {name: value for name, value in fields.items() if shown.get(name) != value}
            return await _form(page, described, item, {**standing, **touched}, refusal.reply)
        return page.redirect(_address_after(page, described, item_id))

    add_import(routes, resource, place)
    for action in described.actions:
        _add_action(routes, described, action)
    return routes


def _add_action(routes: PageRoutes, described: Pages[T, V], action: RecordAction[T]) -> None:
    place = described.table.place
    path = f"{place}/<item_id>/{action.path}"
    gate = require_permission(action.permission)

    async def ask(page: PageContext, item_id: str) -> Response:
        return await _question(page, described, action, await _found(page, described, item_id), None)

    async def do(page: PageContext, item_id: str) -> Response:
        try:
            reply = await page.request.decide(await action.event(page, item_id))
        except RequestRefused as refusal:
            item = await _known(page, described, item_id)
            if item is None or action.will is None:
                raise
            return await _question(page, described, action, item, refusal.reply)
        if isinstance(reply, SecretIssued):
            return await _made(page, described, reply)
        is_there = not action.leaves
        return page.redirect(_address_after(page, described, item_id if is_there else None))

    if action.will is not None:
        routes.add_url_rule(path, f"ask_{action.path}", ask, methods=["GET"], gate=gate)
    form_is_on = f"{place}/{{item_id}}" + ("" if action.will is None else f"/{action.path}")
    routes.add_url_rule(path, f"do_{action.path}", do, methods=["POST"], gate=gate, form_is_on=form_is_on)


# --- where to, for whoever holds some of the permissions alone


def page_of_record(page: PageContext, described: Pages[Any, Any], item_id: str) -> str:
    """The page of a record that this visitor may open, with the way back to the list."""
    place, may = described.table.place, described.resource.permissions
    if page.may(may.list):
        return with_way_back(f"{place}/{item_id}")
    return f"{place}/{item_id}/edit" if page.may(may.update) else HOME


def page_of_list(page: PageContext, described: Pages[Any, Any]) -> str:
    """The list as it was left; the first page for a visitor who may not see it."""
    return address_of_list(described.table.place) if page.may(described.resource.permissions.list) else HOME


def _address_after(page: PageContext, described: Pages[Any, Any], item_id: str | None) -> str:
    """Where one comes to after something was done with a record, or after it is gone."""
    if item_id is not None:
        return with_done_notice(page_of_record(page, described, item_id))
    there = page_of_list(page, described)
    return with_done_notice(there) if there == HOME else there


# --- for what


async def _found(page: PageContext, described: Pages[T, V], item_id: str) -> T:
    item = await _known(page, described, item_id)
    return page.request.refuse(Why.NOT_FOUND) if item is None else item


async def _known(page: PageContext, described: Pages[T, V], item_id: str) -> T | None:
    decision = await page.request.submit(described.resource.show(page.request.caller, item_id))
    return described.resource.known(decision.reply)


def _shown_before(form: Form) -> Values | None:
    """What the form was filled with when it was sent out; None where it does not say."""
    try:
        shown: Values = msgspec.json.decode(form.get(_SHOWN, ""), type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return shown


def _ticked_as_before(described: Pages[T, V], fields: Values, shown: Values) -> Values:
    """The fields with what is ticked in its own order, and not the page's, where it is what was before."""
    before = {name: shown[name] for name in described.ticked if isinstance(shown.get(name), list)}
    return fields | {
        name: values for name, values in before.items() if sorted(map(str, values)) == sorted(fields[name])
    }


# --- pages


def _tools(page: PageContext, described: Pages[T, V]) -> list[tuple[str, str]]:
    resource, place = described.resource, described.table.place
    tools = []
    if page.may(resource.permissions.create):
        tools += [(f"{place}/new", page.text(described.new)), (f"{place}/import", page.text("page.import"))]
    return tools


async def _made(
    page: PageContext, described: Pages[T, V], reply: Reply, *, is_repeated: bool = False
) -> Response:
    """The record that was just made; on the spot where there is a secret to show, as that is shown once, or
    where it was asked for twice (READINGS 31)."""
    item = described.resource.known(reply)
    assert item is not None
    secret = reply.secret.reveal() if isinstance(reply, SecretIssued) else None
    if is_repeated:
        page.request.log_refusal(Why.SUBMITTED_TWICE)
        return await _item(page, described, item, secret, Why.SUBMITTED_TWICE)
    if secret is not None:
        return await _item(page, described, item, secret)
    there = page_of_record(page, described, described.resource.identify(item))
    return page.redirect(with_done_notice(f"{described.table.place}/new" if there == HOME else there))


async def _item(
    page: PageContext,
    described: Pages[T, V],
    item: T,
    secret: str | None = None,
    refused: Why | None = None,
) -> Response:
    resource = described.resource
    item_id = resource.identify(item)
    [shown] = await page.request.look(lambda store, now: resource.list_view.shown(store, [item]))
    fixed = described.is_fixed(item)
    return await render(
        page,
        described.item_template,
        refused=refused,
        place=described.table.place,
        label=_labels(page, described),
        item=item,
        shown=shown,
        secret=secret,
        notice=page.done_notice,
        running=await described.running(page.request, item_id),
        list_address=address_of_list(described.table.place) if page.may(resource.permissions.list) else None,
        list_name=page.text(described.table.heading),
        address_of_item=f"{described.table.place}/{item_id}",
        way_back=with_way_back(""),
        may_edit=page.may(resource.permissions.update) and not fixed,
        actions=[
            action
            for action in described.actions
            if not fixed and page.may(action.permission) and action.fits(item)
        ],
        more=await described.more(page, item),
    )


def _labels(page: PageContext, described: Pages[T, V]) -> TextFamily:
    """What the fields of a record are called."""
    return TextFamily(page.language, f"column.{described.resource.name}")


_SHOWN: Final = "shown"
_HIDDEN: Final = frozenset({"password"})


async def _form(
    page: PageContext,
    described: Pages[T, V],
    item: T | None,
    values: Values,
    reply: Refused | None,
    shown: Values | None = None,
) -> Response:
    """The form filled with `values`; `shown` is what it was filled with at first, if not with what stands."""
    place = described.table.place
    standing = {} if item is None else described.values_of(item)
    address = "" if item is None else f"{place}/{described.resource.identify(item)}"
    by_field = _by_field(page, () if reply is None else reply.faults, standing)
    return await render(
        page,
        described.form_template,
        place=place,
        label=_labels(page, described),
        refused=reply,
        item=item,
        values={name: value for name, value in values.items() if name not in _HIDDEN},
        wrong=by_field,
        shown=msgspec.json.encode(shown or standing).decode(),
        action=f"{place}/new" if item is None else with_way_back(f"{address}/edit"),
        back=_back(page, described, item),
        notice=None if reply is not None else page.done_notice,
        more=await described.more(page, item),
    )


def _back(page: PageContext, described: Pages[T, V], item: T | None) -> str:
    """Where a form is left to: the record's own page, but never the form itself."""
    if item is None or not page.may(described.resource.permissions.list):
        return page_of_list(page, described)
    return page_of_record(page, described, described.resource.identify(item))


def _by_field(page: PageContext, faults: tuple[FieldFault, ...], standing: Values) -> Mapping[str, str]:
    """What is wrong, by the field of the form where it stands; and what stands there, if somebody else
    changed it."""
    found: dict[str, list[str]] = {}
    for fault in faults:
        field, _, place = fault.path.partition(".")
        text = field_text(fault, page.language)
        if fault.rule is Why.CHANGED_MEANWHILE:
            text = f"{text} {page.text('page.stands_now', value=_in_words(page, standing.get(field)))}"
        number = f"{int(place) + 1}: " if place.isdigit() else ""
        found.setdefault(field, []).append(f"{number}{text}")
    return {field: "; ".join(texts) for field, texts in found.items()}


def _in_words(page: PageContext, value: object) -> str:
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")
    return words or page.text("page.nothing")


async def _question(
    page: PageContext, described: Pages[T, V], action: RecordAction[T], item: T, reply: Refused | None
) -> Response:
    resource, place = described.resource, described.table.place
    item_id = resource.identify(item)
    count = await described.running(page.request, item_id)
    return await render(
        page,
        "administration/confirm.html",
        place=place,
        refused=reply,
        heading=page.text("page.of", action=page.text(action.name), name=resource.label(item)),
        will=page.text(action.will or action.name, count=count, name=resource.label(item)),
        action_name=page.text(action.name),
        back=page_of_record(page, described, item_id),
        action=with_way_back(f"{place}/{item_id}/{action.path}"),
        asks_password=action.asks_password,
        asks_overlap=action.asks_overlap,
    )
