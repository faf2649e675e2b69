"""Actions on what is selected in a list: asked once, then done to each that they may be done to.

One that is refused keeps no other from being done; the page after it says how many were done, how many
refused, and why (docs/decisions/0080-a-selection-is-done-as-far-as-it-goes.md).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from markupsafe import Markup
from quart import Response

from ostiary_core.http.envelope import text_of
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_web.application.resources.batches import decide_each
from ostiary_web.http.context import ProofRequired
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.actions import count_running_sessions, describe_endings, warn_of_oneself
from ostiary_web.pages.administration.asked_list import AskedList
from ostiary_web.pages.administration.list_return import HOME
from ostiary_web.pages.administration.selection import (
    MOST_AT_ONCE,
    Selectable,
    SelectedItems,
    SelectionAction,
    find_selected,
)
from ostiary_web.pages.context import PageContext, render_question
from ostiary_web.pages.routes import PageRoutes

T = TypeVar("T")

_NAMED_IN_QUESTION: Final = 50
_NAMED_OF_ALL: Final = 10
"""Most names in the question about all that match, which nobody picked one by one."""
_NAMED_IN_NOTICE: Final = 3
_SESSIONS_AT_A_TIME: Final = 500
_ASKED: Final = "asked"
"""Form field with the number of items that the question was about."""
_REASONS: Final = {
    Why.PERMISSION_MISSING: "page.out_of_reach",
    Why.OWN_ACCOUNT_ALONE: "page.selected_not_yourself",
}
"""Keys of the texts of reasons that a page says in words of its own."""
_PRECEDENCE: Final[Mapping[Why, int]] = {why: place for place, why in enumerate(Why)}


def add_selected_action(
    routes: PageRoutes, selectable: Selectable[T], action: SelectionAction[T], name: str
) -> None:
    """Add the routes of an action on selected items."""
    gate = require_permission(action.permission)

    async def ask(page: PageContext) -> Response:
        asked = AskedList(page, selectable.list_page(page))
        found = await find_selected(page, selectable, asked)
        return (
            _refuse_none(page, selectable, asked)
            if found is None
            else await _ask(page, selectable, action, asked, found)
        )

    async def do(page: PageContext) -> Response:
        asked = AskedList(page, selectable.list_page(page))
        found = await find_selected(page, selectable, asked)
        if found is None:
            return _refuse_none(page, selectable, asked)
        if found.is_all and str(len(found.items)) != page.form.get(_ASKED):
            return await _ask(page, selectable, action, asked, found, [page.text("page.selected_changed")])
        choices = () if action.choices is None else await action.choices(page)
        if choices and not any(page.form.get(each.name) for each in choices):
            return page.redirect(_list_or_home(page, selectable, asked), page.text("page.chosen_none"))
        if page.asks_proof and action.gives_power(page):
            raise ProofRequired
        return await _do(page, selectable, action, asked, found)

    routes.add_url_rule(action.address, f"ask_{name}", ask, methods=["GET"], gate=gate)
    routes.add_url_rule(action.address, f"do_{name}", do, methods=["POST"], gate=gate)


async def _do(
    page: PageContext,
    selectable: Selectable[T],
    action: SelectionAction[T],
    asked: AskedList[T, Any],
    found: SelectedItems[T],
) -> Response:
    own = selectable.key_of_visitor(page)
    # Oneself at last, or the others would be refused to whom is signed out by it.
    in_order = sorted(found.items, key=lambda key: key == own)
    left_out = {own} if action.is_for_others else {None}
    made = {key: action.make_event(page, key, found.items[key]) for key in in_order if key not in left_out}
    events = {key: event for key, event in made.items() if event is not None}
    running = await _count_sessions(page, selectable, events)
    decisions = await decide_each(page.request, [*events.values()])
    refused: dict[Why, list[str]] = {}
    if len(made) < len(found.items):
        refused[Why.OWN_ACCOUNT_ALONE] = [page.request.user.name]
    done = left = 0
    ignored = action.ignored if len(found.items) > 1 else ()
    for key, decision in zip(events, decisions, strict=True):
        if decision is None:
            left += 1
        elif not isinstance(decision.reply, Refused):
            done += 1
        elif decision.reply.why not in ignored:
            described = _describe(page, selectable, key, found.items[key])
            name = described.striptags() if isinstance(described, Markup) else described
            refused.setdefault(decision.reply.why, []).append(name)
    if refused.keys() - {Why.OWN_ACCOUNT_ALONE} and not done and not left:
        return await _ask(page, selectable, action, asked, found, refused=refused)
    ended = running - await _count_sessions(page, selectable, events)
    lines = [
        *describe_endings(page, page.text(action.done, count=done), ended),
        *_describe_same(page, len(made) - len(events)),
        *describe_refusals(page, refused, _NAMED_IN_NOTICE),
        *([page.text("page.selected_left", count=left)] if left else ()),
    ]
    return page.redirect(_list_or_home(page, selectable, asked), *lines)


def _describe(page: PageContext, selectable: Selectable[T], key: str, item: T | None) -> str | Markup:
    return key if item is None else selectable.describe(page, item)


def _describe_same(page: PageContext, count: int) -> Sequence[str]:
    return [page.text("page.selected_same", count=count)] if count else ()


def describe_refusals(page: PageContext, refused: Mapping[Why, Sequence[str]], most: int) -> list[str]:
    """Return how many were refused for each reason, and the first of their names."""
    lines = []
    for why in sorted(refused, key=_PRECEDENCE.__getitem__):
        names = refused[why]
        between = page.text("change.between")
        more = len(names) - most
        named = between.join(names[:most]) + (
            f" {page.text('page.and_more', count=more)}" if more > 0 else ""
        )
        reason = page.text(_REASONS[why]) if why in _REASONS else text_of(why, page.language)
        lines.append(page.text("page.selected_refused", count=len(names), names=named, reason=reason))
    return lines


async def _count_sessions(page: PageContext, selectable: Selectable[T], of: Iterable[str]) -> int:
    whose, keys = selectable.sessions_of, [*of]
    if whose is None:
        return 0
    parts = (
        tuple(keys[first : first + _SESSIONS_AT_A_TIME]) for first in range(0, len(keys), _SESSIONS_AT_A_TIME)
    )
    return sum([await count_running_sessions(page.request, **{whose: part}) for part in parts])


def _refuse_none(page: PageContext, selectable: Selectable[T], asked: AskedList[T, Any]) -> Response:
    return page.redirect(_list_or_home(page, selectable, asked), page.text("page.selected_none"))


def _list_or_home(page: PageContext, selectable: Selectable[T], asked: AskedList[T, Any]) -> str:
    return asked.address() if page.may(selectable.permission) else HOME


async def _ask(
    page: PageContext,
    selectable: Selectable[T],
    action: SelectionAction[T],
    asked: AskedList[T, Any],
    found: SelectedItems[T],
    warnings: Sequence[str] = (),
    *,
    refused: Mapping[Why, Sequence[str]] | None = None,
) -> Response:
    """Ask before it is done, and name the items as far as the visitor may see them."""
    most = _NAMED_OF_ALL if found.is_all else _NAMED_IN_QUESTION
    first = [*found.items.items()][:most]
    names = [_describe(page, selectable, key, item) for key, item in first]
    if found.is_all:
        filters = [said for said, _ in asked.chips(await asked.filters())]
        names = [" · ".join(filters) or page.text("page.selected_unfiltered"), *names]
    more = len(found.items) - most
    if more > 0:
        names.append(page.text("page.and_more", count=more))
    count = len(found.items)
    heading = "page.selected_all_heading" if found.is_all else "page.selected_heading"
    if found.total > count:
        warnings = [*warnings, page.text("page.selected_first", count=found.total, most=MOST_AT_ONCE)]
    if asked.is_selection_cut and not found.is_all:
        warnings = [*warnings, page.text("page.selected_too_many", count=count)]
    if action.warns_of_oneself:
        warnings = [*warnings, *warn_of_oneself(page, found.items)]
    why = min(refused, key=_PRECEDENCE.__getitem__) if refused else None
    return await render_question(
        page,
        place=asked.list_page.place,
        refused=why,
        faults=describe_refusals(page, refused or {}, _NAMED_IN_QUESTION),
        heading=page.text(heading, action=page.text(action.name), count=count),
        confirm_text=page.text(action.question, count=count),
        details=names,
        warnings=warnings,
        action_name=page.text(action.name),
        hidden={_ASKED: str(len(found.items))},
        choices=() if action.choices is None else await action.choices(page),
        is_danger=action.choices is None,
        back=_list_or_home(page, selectable, asked),
    )
