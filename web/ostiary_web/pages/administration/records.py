"""Records as pages: shown, registered, changed, and the deeds that ask before they are done.

A record's pages are described, not written again: which declared resource they are of, how its form is
read, and what can be done with it. What a form may hold, the rules judge; their faults stand by its fields.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec
from quart import Blueprint, Response, request
from werkzeug.datastructures import MultiDict

from ostiary_core.http.envelope import field_text
from ostiary_core.model.decision import FieldFault, Refused, Reply, SecretIssued
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_web.pages.administration.admission import admitted, admitted_form
from ostiary_web.pages.administration.deeds import Deed
from ostiary_web.pages.administration.sheets import add_import
from ostiary_web.pages.administration.tables import Table, show_table
from ostiary_web.pages.posted import Posted
from ostiary_web.pages.problem import problem
from ostiary_web.pages.visit import Visit, page
from ostiary_web.resources.access import Call
from ostiary_web.resources.declared import Declared

__all__ = ["Form", "Pages", "pages_of"]

T = TypeVar("T")
V = TypeVar("V")

Form = MultiDict[str, str]
Values = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages(Generic[T, V]):
    """The pages of one resource."""

    declared: Declared[T, V]
    table: Table[T, V]
    new: str
    """The name of the text on the button that leads to the form of a new record."""
    item_template: str
    form_template: str
    fields_of: Callable[[Form, bool], Values]
    """The JSON object that a form stands for; the flag says whether the record is new."""
    values_of: Callable[[T], Values]
    """What a form of a standing record is filled with."""
    ticked: tuple[str, ...]
    """Which of these are ticked one by one, in whatever order they come."""
    deeds: tuple[Deed[T], ...]
    more: Callable[[Visit, Call, T | None], Awaitable[Values]]
    """What else the templates show; no item for a new record."""
    running: Callable[[Call, str], Awaitable[int]]
    """How many running sessions a deed would end."""
    is_fixed: Callable[[T], bool]
    """Whether the record cannot be changed by anybody."""


def pages_of(described: Pages[T, V]) -> Blueprint:
    """The routes of a resource's pages."""
    declared, place = described.declared, described.table.place
    blueprint = Blueprint(f"{declared.name}_pages", __name__)
    single = f"{place}/<item_id>"

    @blueprint.get(place)
    async def show_all() -> Response:
        found = await admitted(declared.permissions.list)
        if isinstance(found, Response):
            return found
        visit, call = found
        return await show_table(visit, call, described.table, tools=_tools(visit, described))

    @blueprint.get(f"{place}/new")
    async def show_new() -> Response:
        found = await admitted(declared.permissions.create)
        if isinstance(found, Response):
            return found
        return await _form(*found, described, None, {}, None)

    @blueprint.post(f"{place}/new")
    async def take_new() -> Response:
        came = await admitted_form(declared.permissions.create, f"{place}/new")
        if isinstance(came, Response):
            return came
        sent, call = came
        fields = described.fields_of(sent.form, True)
        reply = await call.decide(await declared.register(call, fields))
        if isinstance(reply, Refused):
            return await _form(sent.visit, call, described, None, fields, reply)
        return await _made(sent, call, described, reply)

    @blueprint.get(single)
    async def show(item_id: str) -> Response:
        found = await _found(described, declared.permissions.list, item_id)
        if isinstance(found, Response):
            return found
        visit, call, item = found
        return await _item(visit, call, described, item)

    @blueprint.get(f"{single}/edit")
    async def show_edit(item_id: str) -> Response:
        found = await _found(described, declared.permissions.update, item_id)
        if isinstance(found, Response):
            return found
        visit, call, item = found
        return await _form(visit, call, described, item, described.values_of(item), None)

    @blueprint.post(f"{single}/edit")
    async def take_edit(item_id: str) -> Response:
        came = await admitted_form(declared.permissions.update, f"{place}/{item_id}/edit")
        if isinstance(came, Response):
            return came
        sent, call = came
        shown = _shown_before(sent.form)
        fields = _ticked_as_before(described, described.fields_of(sent.form, False), shown or {})
        reply = await call.decide(declared.change(call.who, item_id, fields, shown))
        if not isinstance(reply, Refused):
            return sent.done(f"{place}/{item_id}?done=1")
        item = await _known(described, call, item_id)
        if item is None:
            return await problem(sent.visit, reply.why)
        if shown is None or reply.why is not Why.CHANGED_MEANWHILE:
            return await _form(sent.visit, call, described, item, fields, reply, shown)
        standing = described.values_of(item)
        touched = {name: value for name, value in fields.items() if shown.get(name) != value}
        return await _form(sent.visit, call, described, item, {**standing, **touched}, reply)

    add_import(blueprint, declared, place)
    for deed in described.deeds:
        _add_deed(blueprint, described, deed)
    return blueprint


def _add_deed(blueprint: Blueprint, described: Pages[T, V], deed: Deed[T]) -> None:
    place = described.table.place
    path = f"{place}/<item_id>/{deed.path}"

    async def ask(item_id: str) -> Response:
        found = await _found(described, deed.permission, item_id)
        if isinstance(found, Response):
            return found
        visit, call, item = found
        return await _question(visit, call, described, deed, item, None)

    async def do(item_id: str) -> Response:
        asked_on = f"{place}/{item_id}" if deed.will is None else f"{place}/{item_id}/{deed.path}"
        came = await admitted_form(deed.permission, asked_on)
        if isinstance(came, Response):
            return came
        sent, call = came
        event = await deed.event(sent, call, item_id)
        reply = event if isinstance(event, Refused) else await call.decide(event)
        if isinstance(reply, Refused):
            item = await _known(described, call, item_id)
            if item is None or deed.will is None:
                return await problem(sent.visit, reply.why)
            return await _question(sent.visit, call, described, deed, item, reply)
        if isinstance(reply, SecretIssued):
            return await _made(sent, call, described, reply)
        return sent.done(place if deed.leaves else f"{place}/{item_id}?done=1")

    if deed.will is not None:
        blueprint.add_url_rule(path, f"ask_{deed.name}", ask, methods=["GET"])
    blueprint.add_url_rule(path, f"do_{deed.name}", do, methods=["POST"])


# --- who asks, and for what


async def _found(
    described: Pages[T, V], permission: Permission, item_id: str
) -> tuple[Visit, Call, T] | Response:
    found = await admitted(permission)
    if isinstance(found, Response):
        return found
    visit, call = found
    item = await _known(described, call, item_id)
    return await problem(visit, Why.NOT_FOUND) if item is None else (visit, call, item)


async def _known(described: Pages[T, V], call: Call, item_id: str) -> T | None:
    return described.declared.known(await call.decide(described.declared.show(call.who, item_id)))


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


def _tools(visit: Visit, described: Pages[T, V]) -> list[tuple[str, str]]:
    declared, place = described.declared, described.table.place
    tools = []
    if visit.may(declared.permissions.create):
        tools += [(f"{place}/new", visit.text(described.new)), (f"{place}/import", visit.text("import"))]
    tools.append((f"{declared.path}/export", visit.text("export")))
    return tools


async def _made(sent: Posted, call: Call, described: Pages[T, V], reply: Reply) -> Response:
    """The record that was just made; on the spot where there is a secret to show, as that is shown once."""
    item = described.declared.known(reply)
    if item is None:
        return await problem(sent.visit, Why.INTERNAL_ERROR)
    if isinstance(reply, SecretIssued):
        return await _item(sent.visit, call, described, item, secret=reply.secret.reveal())
    return sent.done(f"{described.table.place}/{described.declared.identify(item)}?done=1")


async def _item(
    visit: Visit, call: Call, described: Pages[T, V], item: T, secret: str | None = None
) -> Response:
    declared = described.declared
    item_id = declared.identify(item)
    [shown] = await call.look(lambda store, now: declared.listed.shown(store, [item]))
    fixed = described.is_fixed(item)
    return await page(
        visit,
        described.item_template,
        place=described.table.place,
        item=item,
        shown=shown,
        secret=secret,
        notice=visit.text("done") if request.args.get("done") else None,
        running=await described.running(call, item_id),
        address_of_item=f"{described.table.place}/{item_id}",
        may_edit=visit.may(declared.permissions.update) and not fixed,
        deeds=[
            deed for deed in described.deeds if not fixed and visit.may(deed.permission) and deed.fits(item)
        ],
        more=await described.more(visit, call, item),
    )


_SHOWN: Final = "shown"
_HIDDEN: Final = frozenset({"password"})


async def _form(
    visit: Visit,
    call: Call,
    described: Pages[T, V],
    item: T | None,
    values: Values,
    reply: Refused | None,
    shown: Values | None = None,
) -> Response:
    """The form filled with `values`; `shown` is what it was filled with at first, if not with what stands."""
    place = described.table.place
    standing = {} if item is None else described.values_of(item)
    by_field = _by_field(visit, () if reply is None else reply.faults, standing)
    return await page(
        visit,
        described.form_template,
        place=place,
        refused=reply,
        item=item,
        values={name: value for name, value in values.items() if name not in _HIDDEN},
        wrong=by_field,
        shown=msgspec.json.encode(shown or standing).decode(),
        action=f"{place}/new" if item is None else f"{place}/{described.declared.identify(item)}/edit",
        back=place if item is None else f"{place}/{described.declared.identify(item)}",
        more=await described.more(visit, call, item),
    )


def _by_field(visit: Visit, faults: tuple[FieldFault, ...], standing: Values) -> Mapping[str, str]:
    """What is wrong, by the field of the form where it stands; and what stands there, if somebody else
    changed it."""
    found: dict[str, list[str]] = {}
    for fault in faults:
        field, _, place = fault.path.partition(".")
        text = field_text(fault, visit.language)
        if fault.rule is Why.CHANGED_MEANWHILE:
            text = f"{text} {visit.text('stands_now', value=_in_words(visit, standing.get(field)))}"
        number = f"{int(place) + 1}: " if place.isdigit() else ""
        found.setdefault(field, []).append(f"{number}{text}")
    return {field: "; ".join(texts) for field, texts in found.items()}


def _in_words(visit: Visit, value: object) -> str:
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")
    return words or visit.text("nothing")


async def _question(
    visit: Visit, call: Call, described: Pages[T, V], deed: Deed[T], item: T, reply: Refused | None
) -> Response:
    declared, place = described.declared, described.table.place
    item_id = declared.identify(item)
    count = await described.running(call, item_id)
    return await page(
        visit,
        "administration/confirm.html",
        place=place,
        refused=reply,
        heading=f"{visit.text(deed.name)}: {declared.label(item)}",
        will=visit.text(deed.will or deed.name, count=count, name=declared.label(item)),
        deed=visit.text(deed.name),
        back=f"{place}/{item_id}",
        action=f"{place}/{item_id}/{deed.path}",
        asks_password=deed.asks_password,
        asks_overlap=deed.asks_overlap,
    )
