"""The audit trail, and a session's history as a timeline."""

from collections.abc import Sequence
from typing import Final

from quart import Response, request

from ostiary_core.history.explain import explain
from ostiary_core.http.envelope import text_of
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import AUDIT, Listing, ListingStore
from ostiary_core.storage.session_history import SessionHistory
from ostiary_core.texts import Language
from ostiary_web.api.browsers import browser_name
from ostiary_web.api.history_record import find_usernames
from ostiary_web.api.history_texts import safe_retries_text, step_text, whole_agent_text
from ostiary_web.api.resources.audit import AUDIT_EVENTS
from ostiary_web.api.resources.changes import format_changes
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.asked_list import ListPage
from ostiary_web.pages.administration.list_page import export_list, filter_list, show_list
from ostiary_web.pages.administration.list_return import address_of_list
from ostiary_web.pages.administration.people_search import IDENTIFIER, resolve_people
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.moments import moment_text
from ostiary_web.pages.routes import PageRoutes

audit_pages = PageRoutes("audit_pages", __name__)

_PLACE: Final = "/admin/audit"


LESS_TOLD_TO_CLIENTS: Final = frozenset(
    why for why, meaning in MEANINGS.items() if meaning.description is not None
)
"""Reasons that clients are told less about than administrators, and in English."""


def reason_text(why: str, language: Language) -> str:
    """Return a reason as an administrator reads it; the code itself where only a newer release knows it."""
    known = {each.value: each for each in Why}.get(why)
    if known is None:
        return why
    return language.text(f"why.{why}") if known in LESS_TOLD_TO_CLIENTS else text_of(known, language)


def _list_page(context: RequestContext) -> ListPage[AuditEntry, AuditEntry]:
    def actions(entry: AuditEntry) -> list[tuple[str, str]]:
        # A session of no user is shown to super administrators alone ("Session (grant)").
        if entry.session_id is None or (entry.user_id is None and not context.is_super_administrator):
            return []
        return [(f"{_PLACE}/sessions/{entry.session_id}", "page.history")]

    return ListPage(
        list_view=AUDIT_EVENTS,
        place=_PLACE,
        heading="page.audit",
        columns=("at", "kind", "why", "clientId", "userId", "actorId", "ip", "traceId"),
        words={"kind": lambda kind, language: language.word("fact", kind), "why": reason_text},
        names=_names,
        beneath={"ip": "userAgent"},
        resolve={"actorId": resolve_people, "userId": resolve_people},
        user_filter="userId",
        below=("changes", lambda entry, language: format_changes(entry.kind, entry.changes, language)),
        filters=(
            *("kind", "actorId", "ip", "userId", "clientId", "roleId"),
            *("sessionId", "traceId", "at"),
        ),
        is_exported=True,
        actions=actions,
    )


async def _names(context: RequestContext, entries: Sequence[AuditEntry]) -> dict[str, str]:
    """Return the user names of the entries' users and actors."""
    ids = {id for entry in entries for id in (entry.user_id, entry.actor_id) if id is not None}
    return await find_usernames(ids, context.submit)


@audit_pages.get(_PLACE, gate=require_permission(Permission.AUDIT_READ))
async def show_audit(page: PageContext) -> Response:
    """Show the audit trail, the latest entry first."""
    notice = page.text("page.history_erased") if request.args.get("erased") else None
    return await show_list(page, _list_page(page.request), notice=notice)


@audit_pages.get(f"{_PLACE}/export", gate=require_permission(Permission.AUDIT_READ))
async def export_audit(page: PageContext) -> Response:
    """Export the list as a sheet."""
    return await export_list(page, _list_page(page.request), Permission.AUDIT_READ)


@audit_pages.post(_PLACE, gate=require_permission(Permission.AUDIT_READ))
async def filter_audit(page: PageContext) -> Response:
    """Redirect to the list with the form's filters."""
    return await filter_list(page, _list_page(page.request))


@audit_pages.get(f"{_PLACE}/sessions/<session_id>", gate=require_permission(Permission.AUDIT_READ))
async def show_session_history(page: PageContext, session_id: str) -> Response:
    """Show a session's history; redirect to its audit entries where its record was erased."""
    context = page.request
    if not IDENTIFIER.fullmatch(session_id):
        context.refuse(Why.NOT_FOUND)
    entries = Listing(resource=AUDIT, filters={"session_id": session_id}, page_size=1)

    def read(store: ListingStore, now: Instant) -> tuple[SessionHistory | None, bool, Instant]:
        history = store.session_history(session_id)
        return history, history is None and store.page(entries, now).total > 0, now

    history, is_erased, now = await context.query(read)
    if is_erased:
        return page.redirect(f"{_PLACE}?sessionId={session_id}&erased=1")
    if history is None or (history.session.user_id is None and not context.is_super_administrator):
        context.refuse(Why.NOT_FOUND)
    explanation = explain(history, now)
    names = await find_usernames(explanation.actor_ids, context.submit)
    return await render(
        page,
        "administration/session_history.html",
        place=_PLACE,
        list_address=address_of_list(_PLACE),
        explanation=explanation,
        steps=[
            (
                step,
                step_text(
                    step,
                    explanation,
                    page.language,
                    names,
                    agent_text=_short_agent_text,
                    say_time=lambda at: moment_text(at, page.zone),
                ),
                "—" if step.at is None else page.moment(step.at, seconds=True),
                [
                    agent
                    for agent in (step.earlier_user_agent, step.user_agent)
                    if agent is not None and browser_name(agent, page.language) is not None
                ],
                format_changes(step.fact, step.changes, page.language) if step.fact else [],
            )
            for step in explanation.steps
        ],
        near_misses=safe_retries_text(explanation, page.language),
    )


def _short_agent_text(user_agent: str | None, language: Language) -> str:
    """Return a browser's name; the whole User-Agent follows the sentence."""
    name = None if user_agent is None else browser_name(user_agent, language)
    return name or whole_agent_text(user_agent, language)
