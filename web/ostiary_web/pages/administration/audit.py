"""The audit trail, and a session's history as a timeline."""

from dataclasses import replace
from typing import Final

from quart import Response, request

from ostiary_core.history.explain import StepKind, explain, is_of_a_spent_token, step_of
from ostiary_core.http.envelope import text_of
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.identifiers import COMMAND_LINE
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import AUDIT, Listing, ListingStore
from ostiary_core.storage.session_history import SessionHistory
from ostiary_core.texts import Language
from ostiary_web.application.browsers import browser_name
from ostiary_web.application.history_record import find_usernames
from ostiary_web.application.history_texts import (
    ENDINGS,
    reason_text as reason_said,
    safe_retries_text,
    step_text,
    whole_agent_text,
)
from ostiary_web.application.resources.audit import AUDIT_EVENTS, NamedEntry, name_entries
from ostiary_web.application.resources.changes import format_changes
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.asked_list import ListPage
from ostiary_web.pages.administration.list_page import export_list, filter_list, show_list
from ostiary_web.pages.administration.list_return import address_of_list
from ostiary_web.pages.administration.people_search import IDENTIFIER, name_of, resolve_everybody
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.moments import moment_text
from ostiary_web.pages.routes import PageRoutes

audit_pages = PageRoutes("audit_pages", __name__)

_PLACE: Final = "/admin/audit"
_MOST_DONE: Final = 20
"""Most entries that the page of a session shows of what it did."""


LESS_TOLD_TO_CLIENTS: Final = frozenset(
    why for why, meaning in MEANINGS.items() if meaning.description is not None
)
"""Reasons that clients are told less about than administrators, and in English."""


def reason_text(why: str, language: Language) -> str:
    """Return a reason as an administrator reads it; the code itself if only a newer release knows it."""
    known = {each.value: each for each in Why}.get(why)
    if known is None:
        return why
    return language.text(f"why.{why}") if known in LESS_TOLD_TO_CLIENTS else text_of(known, language)


def _reason(named: NamedEntry, language: Language) -> str | None:
    """Write a reason that says who did it, as the history of a session does."""
    entry = named.entry
    if entry.why is Why.PERMISSION_MISSING and entry.actor_token is not None:
        return text_of(Why.TOKEN_PERMISSION_MISSING, language)
    if entry.why not in ENDINGS or is_of_a_spent_token(entry):
        return None
    names = {user_id: user.username for user_id, user in named.users.items()}
    said = reason_said(step_of(entry, StepKind.ENDED), language, names)
    return language.text("history.sentence", text=said)


def _target(named: NamedEntry, language: Language) -> str:
    """Write what an entry is about; nothing if it names no record."""
    entry, parts = named.entry, list[str]()
    if entry.role_id is not None:
        parts.append(language.text("page.about_role", role=entry.role_id))
    if entry.user_id is not None:
        parts.append(_name(named, entry.user_id, None, language))
    if entry.client_id is not None:
        parts.append(language.text("page.about_client", client=entry.client_id))
    return language.text("change.between").join(parts)


def _actor(named: NamedEntry, language: Language) -> str | None:
    """Write who did it, and by which token."""
    entry = named.entry
    if entry.actor_id == COMMAND_LINE:
        place = language.text("page.command_line")
        return place if entry.actor_name is None else f"{place} ({entry.actor_name})"
    if entry.actor_id is None:
        return None
    name = _name(named, entry.actor_id, entry.actor_name, language)
    if entry.actor_token is None:
        return name
    return language.text(
        "page.by_token", name=name, token=entry.actor_token, fingerprint=entry.actor_fingerprint
    )


def _name(named: NamedEntry, user_id: str, called: str | None, language: Language) -> str:
    """Return what a user was `called`, else is, and whether the account was deleted."""
    user = named.users.get(user_id)
    if user is None:
        return called or f"{user_id[:8]}…"
    return name_of(replace(user, username=called or user.username), language)


def _list_page(context: RequestContext) -> ListPage[AuditEntry, NamedEntry]:
    def actions(named: NamedEntry) -> list[tuple[str, str]]:
        entry = named.entry
        # A session of no user is shown to super administrators alone ("Session (grant)").
        if entry.session_id is None or (entry.user_id is None and not context.is_super_administrator):
            return []
        return [(f"{_PLACE}/sessions/{entry.session_id}", "page.history")]

    return ListPage(
        list_view=AUDIT_EVENTS,
        place=_PLACE,
        heading="page.audit",
        columns=("at", "kind", "why", "target", "actorId", "ip", "traceId"),
        has_seconds=True,
        words={"kind": lambda kind, language: language.word("fact", kind), "why": reason_text},
        sentences={"why": _reason, "target": _target, "actorId": _actor},
        beneath={"ip": "userAgent"},
        resolve={"actorId": resolve_everybody, "userId": resolve_everybody},
        user_filter="userId",
        below=(
            "changes",
            lambda named, language: format_changes(named.entry.kind, named.entry.changes, language),
        ),
        filters=(
            *("kind", "actorId", "ip", "userId", "clientId", "roleId"),
            *("sessionId", "actorSessionId", "traceId", "at"),
        ),
        is_exported=True,
        actions=actions,
    )


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
    """Show a session's history; redirect to its audit entries if its record was erased."""
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
    names = await find_usernames(explanation.actor_ids, context.query)
    did = Listing(resource=AUDIT, filters={"actor_session_id": session_id}, page_size=_MOST_DONE)
    done = await context.query(lambda store, now: name_entries(store, store.items_after(did, None, now)))
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
        done=[
            (
                page.moment(named.entry.at, seconds=True),
                page.language.word("fact", named.entry.kind),
                _target(named, page.language),
                format_changes(named.entry.kind, named.entry.changes, page.language),
            )
            for named in done
        ],
        has_done_more=len(done) == _MOST_DONE,
    )


def _short_agent_text(user_agent: str | None, language: Language) -> str:
    """Return a browser's name; the whole User-Agent follows the sentence."""
    name = None if user_agent is None else browser_name(user_agent, language)
    return name or whole_agent_text(user_agent, language)
