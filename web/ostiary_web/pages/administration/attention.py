"""What needs an administrator's attention, the most urgent first, each with what to do."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final

from ostiary_core.model.fact import FactKind
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import CLIENTS, USERS, Listing
from ostiary_core.users.acknowledgement import is_warning
from ostiary_net.observability.summaries import HOUR_MS, Metric, Milestone
from ostiary_web.application.overview_counts import LATE_SECONDS, findings_for
from ostiary_web.pages.administration.acknowledgements import Acknowledgement, list_acknowledgements
from ostiary_web.pages.administration.overview_view import View
from ostiary_web.pages.context import PageContext
from ostiary_web.server.database import SQLiteFile
from ostiary_web.server.findings import Finding, Level

_MOST_CLIENTS: Final = 10
_WRONG_SECRET: Final = Why.CLIENT_SECRET_WRONG.value
_DAY_MS: Final = 24 * HOUR_MS
_SWEEP_AGE_MS: Final = HOUR_MS
_BACKUP_AGE_MS: Final = 7 * _DAY_MS
_UNCOUNTED: Final = 20_000


class Urgency(IntEnum):
    """The order in which things are seen to."""

    STEP = 0
    """A first step on a new server."""
    FAULT = 1
    WARNING = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Something that needs attention, and the address to see to it."""

    text: str
    href: str | None
    link: str = "page.overview_state"
    """Key of the link's text, which says where it leads."""
    remedy: str = ""
    """What to do about it, if neither the text nor the link says so."""
    urgency: Urgency = Urgency.WARNING
    warning: str = ""
    """Identifier by which a warning is acknowledged; empty for what is none."""
    acknowledgement: Acknowledgement | None = None


async def find_attention(view: View) -> list[Attention]:
    """Return all that the visitor may see to, the most urgent first."""
    found = [
        *await _first_steps(view.page),
        *_client_findings(view),
        *_store_findings(view),
        *_server_findings(view, await findings_for(view.page.request)),
    ]
    acknowledgements = await view.page.request.query(list_acknowledgements)
    found = [replace(each, acknowledgement=acknowledgements.get(each.warning)) for each in found]
    return sorted(found, key=lambda each: each.urgency)


async def _first_steps(page: PageContext) -> list[Attention]:
    """Return what a new server lacks: a client, and a user besides the first."""
    steps = []
    own_clients = Listing(resource=CLIENTS, filters={"built_in": False}, page_size=1)
    users = Listing(resource=USERS, page_size=2)
    if page.may(Permission.CLIENT_CREATE) and not await _count_first(page, own_clients):
        text, href = page.text("page.clients_none"), "/admin/clients/new"
        steps.append(Attention(text=text, href=href, link="page.client_new", urgency=Urgency.STEP))
    if page.may(Permission.USER_CREATE) and await _count_first(page, users) == 1:
        text, href = page.text("page.users_only_you"), "/admin/people/new"
        steps.append(Attention(text=text, href=href, link="page.user_new", urgency=Urgency.STEP))
    return steps


async def _count_first(page: PageContext, listing: Listing[Any]) -> int:
    """Count no more than the items of the first page, as all may be many."""
    return len(await page.request.query(lambda store, now: store.items_after(listing, None, now)))


def _client_findings(view: View) -> Iterator[Attention]:
    """Yield wrong secrets and late retries of the clients with the most of them."""
    page, clients = view.page, view.found.clients.items()
    secrets = [(counts.by_detail(Metric.REFUSED).get(_WRONG_SECRET, 0), name) for name, counts in clients]
    for wrong, name in heapq.nlargest(_MOST_CLIENTS, secrets):
        if wrong:
            text = page.text("page.attention_secrets", count=wrong, name=name)
            remedy = page.text("page.remedy_secrets")
            yield Attention(
                text=text,
                href=view.client(name),
                link="page.open_client",
                remedy=remedy,
                warning=f"secrets {name}",
            )
    for late, name in heapq.nlargest(
        _MOST_CLIENTS, [(counts.late_retries(), name) for name, counts in clients]
    ):
        if late:
            text = page.text("page.attention_late", count=late, name=name, seconds=LATE_SECONDS)
            href = view.entries(FactKind.PAIR_REPEATED, clientId=name)
            remedy = page.text("page.remedy_late")
            warning = f"late {name}"
            yield Attention(text=text, href=href, link="page.open_entries", remedy=remedy, warning=warning)


def _store_findings(view: View) -> Iterator[Attention]:
    page, state, now = view.page, view.found.state, view.found.now
    swept_at = state.milestones.get(Milestone.SWEPT, page.request.services.started_at)
    if abs(now - swept_at) > _SWEEP_AGE_MS:  # stamped by a clock that was ahead, it tells nothing
        remedy = page.text("page.remedy_log")
        text = page.text("page.attention_sweep")
        yield Attention(text=text, href="#state", remedy=remedy, warning="sweep")
    if state.uncounted > _UNCOUNTED:
        text, remedy = (
            page.text("page.attention_uncounted", count=state.uncounted),
            page.text("page.remedy_log"),
        )
        yield Attention(text=text, href="#state", remedy=remedy, warning="uncounted")
    backed_up_at = state.milestones.get(Milestone.BACKED_UP)
    if makes_backups(page) and (backed_up_at is None or now - backed_up_at > _BACKUP_AGE_MS):
        text = (
            page.text("page.attention_no_backup")
            if backed_up_at is None
            else page.text("page.attention_backup", count=(now - backed_up_at) // _DAY_MS)
        )
        yield Attention(text=text, href="#state", remedy=page.text("page.remedy_backup"), warning="backup")
    if state.schema > state.known_schema:
        text = page.text("page.attention_schema", newer=state.schema, known=state.known_schema)
        remedy = page.text("page.remedy_schema")
        yield Attention(text=text, href="#state", remedy=remedy, urgency=Urgency.FAULT)


def makes_backups(page: PageContext) -> bool:
    """Whether `ostiary backup` makes the backups: PostgreSQL has its own."""
    return isinstance(page.request.services.settings.database, SQLiteFile)


def _server_findings(view: View, findings: Sequence[Finding]) -> Iterator[Attention]:
    for finding in findings:
        kind, _, name = finding.about.partition(" ")
        is_setting = finding.about.isupper()
        text = view.page.text(finding.key, **finding.values)
        is_fault = finding.level is Level.FAULT
        warning = f"finding {finding.key} {finding.about}"
        yield Attention(
            text=view.page.text("page.attention_finding", about=finding.about, text=text),
            href=view.client(name) if kind == "client" else None,
            link="page.open_client",
            remedy=view.page.text("page.remedy_setting", name=finding.about) if is_setting else "",
            urgency=Urgency.FAULT if is_fault else Urgency.WARNING,
            warning=warning if not is_fault and is_warning(warning) else "",
        )
