"""The audit trail, and a session's history as a timeline."""

from collections.abc import Sequence
from typing import Final

from quart import Response, request

from ostiary_core.history.explain import Step, explain
from ostiary_core.history.history_texts import near_misses_text, step_text
from ostiary_core.http.envelope import text_of
from ostiary_core.http.language import Language
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.fact import FactKind
from ostiary_core.model.identifiers import canonical_username
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import SessionKind
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import AUDIT, USERS, Listing, ListingStore
from ostiary_core.storage.session_history import SessionHistory
from ostiary_web.api.history_record import names_of
from ostiary_web.api.resources.audit import AUDIT_EVENTS
from ostiary_web.api.resources.queries import MOST_VALUES
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.tables import IDENTIFIER, Table, show_table
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.routes import PageRoutes
from ostiary_web.pages.texts.facts import ENDING_TEXTS, FACT_TEXTS

audit_pages = PageRoutes("audit_pages", __name__)

_PLACE: Final = "/admin/audit"


def _kind_in_words(kind: str, language: Language) -> str:
    english, chinese = FACT_TEXTS[FactKind(kind)]
    return chinese if language is Language.ZH else english


def _why_in_words(why: str, language: Language) -> str:
    if Why(why) in ENDING_TEXTS:
        english, chinese = ENDING_TEXTS[Why(why)]
        return chinese if language is Language.ZH else english
    return text_of(Why(why), language)


def _table(context: RequestContext) -> Table[AuditEntry, AuditEntry]:
    def actions(entry: AuditEntry) -> list[tuple[str, str]]:
        # A session of no user is shown to super administrators alone ("Session (grant)").
        if entry.session_id is None or (entry.user_id is None and not context.is_super_administrator):
            return []
        return [(f"{_PLACE}/sessions/{entry.session_id}", "online_life")]

    return Table(
        list_view=AUDIT_EVENTS,
        place=_PLACE,
        heading="audit",
        columns=("at", "kind", "why", "clientId", "userId", "actorId", "ip", "traceId"),
        words={"kind": _kind_in_words, "why": _why_in_words},
        names=_names,
        meant={"userId": _users_meant},
        filters=("kind", "clientId", "userId", "sessionId", "traceId", "at"),
        actions=actions,
    )


async def _names(context: RequestContext, entries: Sequence[AuditEntry]) -> dict[str, str]:
    """The user names of those who did something, and of those it was done to."""
    ids = {id for entry in entries for id in (entry.user_id, entry.actor_id) if id is not None}
    return await names_of(ids, context.submit)


async def _users_meant(context: RequestContext, typed: str) -> Sequence[str]:
    """The identifiers of the user of this name, else of those whose names contain it."""
    if IDENTIFIER.fullmatch(typed):
        return [typed]
    listing = Listing(resource=USERS, filters={"username": typed}, page_size=MOST_VALUES)
    found = await context.look(lambda store, now: store.page(listing, now).items)
    name = canonical_username(typed)
    exact = [user.user_id for user in found if canonical_username(user.username) == name]
    return exact or [user.user_id for user in found] or [typed]


@audit_pages.get(_PLACE, gate=require_permission(Permission.AUDIT_READ))
async def show_audit(page: PageContext) -> Response:
    """What happened, the latest first."""
    notice = page.text("life_erased") if request.args.get("erased") else None
    return await show_table(page, _table(page.request), notice=notice)


@audit_pages.get(f"{_PLACE}/sessions/<session_id>", gate=require_permission(Permission.AUDIT_READ))
async def show_session_history(page: PageContext, session_id: str) -> Response:
    """How a session was issued, what happened to it, and how and why it ended; its entries in the list, where
    its record was erased since."""
    context = page.request
    if not IDENTIFIER.fullmatch(session_id):
        context.refuse(Why.NOT_FOUND)
    entries = Listing(resource=AUDIT, filters={"session_id": session_id}, page_size=1)

    def look(store: ListingStore, now: Instant) -> tuple[SessionHistory | None, bool, Instant]:
        history = store.session_history(session_id)
        return history, history is None and store.page(entries, now).total > 0, now

    history, is_erased, now = await context.look(look)
    if is_erased:
        return page.redirect(f"{_PLACE}?sessionId={session_id}&erased=1")
    if history is None or (
        history.session.kind is SessionKind.CLIENT_CREDENTIALS and not context.is_super_administrator
    ):
        context.refuse(Why.NOT_FOUND)
    explanation = explain(history, now)
    names = await names_of(explanation.actor_ids, context.submit)
    return await render(
        page,
        "administration/session_history.html",
        place=_PLACE,
        explanation=explanation,
        steps=[
            (step, step_text(step, explanation, page.language, names), _when(page, step))
            for step in explanation.steps
        ],
        near_misses=near_misses_text(explanation, page.language),
    )


def _when(page: PageContext, step: Step) -> object:
    return "—" if step.at is None else page.moment(step.at, seconds=True)
