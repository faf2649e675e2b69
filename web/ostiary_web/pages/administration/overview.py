"""The overview of an administrator: what happened in a day, week or month, and what needs attention."""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import quote, urlencode

from markupsafe import Markup
from quart import Response, request

from ostiary_core.model.fact import FactKind
from ostiary_core.model.identifiers import CONSOLE_CLIENT
from ostiary_core.model.instant import SECOND_MS, Instant, iso_time
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import SessionKind
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import CLIENTS, USERS, Listing
from ostiary_net.observability.summaries import HOUR_MS, RETRY_SECONDS, Metric, Milestone
from ostiary_web.api.overview import findings_for
from ostiary_web.api.overview_counts import (
    LATE_SECONDS,
    Overview,
    Span,
    list_visible_metrics,
    make_overview_query,
)
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.audit import reason_text
from ostiary_web.pages.administration.charts import Chart, Series, draw, split_by_colour
from ostiary_web.pages.administration.online import KIND_CODES
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.routes import PageRoutes
from ostiary_web.server.database import SQLiteFile
from ostiary_web.server.findings import Finding, Level

overview_pages = PageRoutes("overview_pages", __name__)

_PLACE: Final = "/admin"
_DAY_MS: Final = 24 * HOUR_MS
_RANGES: Final = {"day": 23 * HOUR_MS, "week": 6 * _DAY_MS, "month": 29 * _DAY_MS}
"""Milliseconds from the beginning of the first hour or day shown until now."""

_MOST_CLIENTS: Final = 10
_WRONG_SECRET: Final = Why.CLIENT_SECRET_WRONG.value
_SWEEP_AGE_MS: Final = HOUR_MS
_BACKUP_AGE_MS: Final = 7 * _DAY_MS
_UNCOUNTED: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Something that needs attention, and the address to see to it."""

    text: str
    href: str | None
    link: str = "page.overview_state"
    """Key of the link's text, which says where it leads."""
    is_fault: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One number over the whole range, and the address of its list."""

    label: str
    number: int
    href: str | None


@dataclass(frozen=True, slots=True)
class _View:
    """An overview as one visitor may see it."""

    page: PageContext
    found: Overview

    @property
    def span(self) -> Span:
        return self.found.span

    @property
    def may_read_trail(self) -> bool:
        return self.page.may(Permission.AUDIT_READ)

    def entries(self, kind: FactKind, bounds: tuple[Instant, Instant] | None = None, **filters: str) -> str:
        """Return the address of the audit entries of a kind, within `bounds` or the whole range."""
        start, end = bounds or (self.span.starts[0], self.span.end)
        query = {"kind": kind.value, **filters, "atFrom": iso_time(start), "atTo": iso_time(Instant(end - 1))}
        return f"/admin/audit?{urlencode(query)}"

    def client(self, client_id: str) -> str | None:
        """Return the address of a client's page; None where the visitor may not see it."""
        return (
            f"/admin/clients/{quote(client_id, safe='')}" if self.page.may(Permission.CLIENT_LIST) else None
        )

    def periods(self, kind: FactKind | None, **filters: str) -> list[tuple[Markup, str | None]]:
        """Return the name of each period, with the address of its entries."""
        return [
            (self._period_name(bounds[0]), None if kind is None else self.entries(kind, bounds, **filters))
            for bounds in self.span.ends()
        ]

    def _period_name(self, start: Instant) -> Markup:
        at = datetime.fromtimestamp(start / SECOND_MS, UTC).astimezone(self.page.zone)
        shown = at.strftime("%Y-%m-%d %H:%M" if self.span.is_hourly else "%Y-%m-%d")
        return Markup('<time datetime="{}" title="{}">{}</time>').format(
            at.isoformat(), self.page.zone.key, shown
        )

    def numbers(self, what: Metric, details: Sequence[str]) -> tuple[int, ...]:
        """Return how often these details were counted in each period."""
        by_period = (counts.by_detail(what) for counts in self.found.periods)
        return tuple(sum(counts.get(detail, 0) for detail in details) for counts in by_period)

    def series(
        self,
        what: Metric,
        details: Sequence[str],
        label: str,
        *,
        href: str | None = None,
        code: str | None = None,
    ) -> Series:
        """Return one series of a chart."""
        numbers = self.numbers(what, details)
        return Series(label=label, numbers=numbers, total=sum(numbers), href=href, code=code)

    def by_reason(self, what: Metric, link: Callable[[str], str | None]) -> list[Series]:
        """Return a series for each reason, the most frequent first, and one for all others together."""
        own, others = split_by_colour(list(self.found.totals.by_detail(what)))
        made = [
            self.series(what, [why], reason_text(why, self.page.language), href=link(why), code=why)
            for why in own
        ]
        return [*made, self.series(what, others, self.page.text("page.overview_others"))] if others else made


@overview_pages.get(_PLACE, gate=require_permission(Permission.ONLINE_LIST))
async def show_overview(page: PageContext) -> Response:
    """Show what happened, and what needs attention."""
    asked = request.args.get("range", "")
    chosen = asked if asked in _RANGES else "day"
    now = page.request.service.clock.now()
    span = Span.between(Instant(now - _RANGES[chosen]), now, page.zone)
    counted, kinds = list_visible_metrics(page.request)
    found = await page.request.query(make_overview_query(span, counted, kinds))
    view = _View(page, found)
    findings = await findings_for(page.request)
    return await render(
        page,
        "administration/overview.html",
        place=_PLACE,
        chosen=chosen,
        ranges=[(name, page.text(f"overview.{name}")) for name in _RANGES],
        attention=[
            *await _first_steps(page),
            *_client_findings(view),
            *_store_findings(view),
            *_server_findings(view, findings),
        ],
        tiles=list(_tiles(view)),
        charts=list(_charts(view)),
        clients=_clients(view),
        may_read_trail=view.may_read_trail,
        late_seconds=LATE_SECONDS,
        version=version("ostiary"),
        state=found.state,
        swept_at=found.state.milestones.get(Milestone.SWEPT),
        backed_up_at=found.state.milestones.get(Milestone.BACKED_UP),
        makes_backups=_makes_backups(page),
    )


# --- numbers and charts


def _tiles(view: _View) -> Iterator[Tile]:
    page, totals = view.page, view.found.totals
    yield Tile(
        label=page.text("page.overview_running_now"),
        number=sum(view.found.running.values()),
        href="/admin/online",
    )
    if view.may_read_trail:
        started = totals.by_detail(Metric.STARTED)
        sign_ins = started.get(SessionKind.LOGIN.value, 0)
        for name, number, href in (
            ("sign_ins", sign_ins, view.entries(FactKind.SESSION_STARTED, clientId=CONSOLE_CLIENT)),
            ("failed", totals.total(Metric.SIGN_IN_FAILED).number, view.entries(FactKind.SIGN_IN_FAILED)),
            ("started", sum(started.values()) - sign_ins, view.entries(FactKind.SESSION_STARTED)),
            ("ended", totals.total(Metric.ENDED).number, view.entries(FactKind.SESSION_ENDED)),
            ("refreshed", totals.total(Metric.REFRESHED).number, view.entries(FactKind.PAIR_ROTATED)),
            ("retried", totals.total(Metric.RETRIED).number, view.entries(FactKind.PAIR_REPEATED)),
        ):
            yield Tile(label=page.text(f"overview.{name}"), number=number, href=href)
    refusals = totals.total(Metric.REFUSED).number
    yield Tile(label=page.text("overview.refused"), number=refusals, href="#by-client" if refusals else None)


def _charts(view: _View) -> Iterator[Chart]:
    page = view.page
    kinds = {kind: page.text(f"overview.{kind}") for kind in SessionKind}
    running = [
        view.series(Metric.RUNNING, [kind], kinds[kind], href=f"/admin/online?kind={KIND_CODES[kind]}")
        for kind in view.found.running
    ]
    yield draw("running", running, view.periods(None), page.text("page.overview_running_note"))
    if view.may_read_trail:
        yield from _trail_charts(view, kinds)
    refused = view.by_reason(Metric.REFUSED, lambda why: None)
    yield draw("refused", refused, view.periods(None), page.text("page.overview_refused_note"))


def _trail_charts(view: _View, kinds: Mapping[SessionKind, str]) -> Iterator[Chart]:
    page, entries = view.page, view.entries
    started = FactKind.SESSION_STARTED
    login = kinds[SessionKind.LOGIN]
    failed = page.text("overview.failed")
    sign_ins = [
        view.series(
            Metric.STARTED, [SessionKind.LOGIN], login, href=entries(started, clientId=CONSOLE_CLIENT)
        ),
        view.series(Metric.SIGN_IN_FAILED, [""], failed, href=entries(FactKind.SIGN_IN_FAILED)),
    ]
    yield draw("sign_ins", sign_ins, view.periods(started, clientId=CONSOLE_CLIENT))
    of_clients = [
        view.series(Metric.STARTED, [kind], kinds[kind], href=entries(started))
        for kind in (SessionKind.AUTHORIZATION_CODE, SessionKind.CLIENT_CREDENTIALS)
    ]
    yield draw("started", of_clients, view.periods(started))
    ended = view.by_reason(Metric.ENDED, lambda why: entries(FactKind.SESSION_ENDED, why=why))
    together = view.found.totals.total(Metric.ENDED_TOGETHER).number
    note = page.text("page.overview_ended_together", count=together) if together else ""
    yield draw("ended", ended, view.periods(FactKind.SESSION_ENDED), note)
    refreshed = page.text("overview.refreshed")
    refreshes = [view.series(Metric.REFRESHED, [""], refreshed, href=entries(FactKind.PAIR_ROTATED))]
    yield draw("refreshed", refreshes, view.periods(FactKind.PAIR_ROTATED))
    href = entries(FactKind.PAIR_REPEATED)
    late = [
        view.series(
            Metric.RETRIED, [str(most)], page.text("page.overview_late", least=least, most=most), href=href
        )
        for least, most in zip((0, *RETRY_SECONDS), RETRY_SECONDS, strict=False)
    ]
    retries = view.found.totals.total(Metric.RETRIED)
    note = ""
    if retries.number:
        mean, most = (f"{ms / SECOND_MS:.1f}" for ms in (retries.total_ms / retries.number, retries.most_ms))
        note = page.text("page.overview_retried_note", mean=mean, most=most)
    yield draw("retried", late, view.periods(FactKind.PAIR_REPEATED), note)


def _clients(view: _View) -> list[dict[str, object]]:
    """Return the clients with the most refusals and late retries."""
    rows: list[tuple[tuple[int, int, int], dict[str, object]]] = []
    for client_id, counts in view.found.clients.items():
        refusals, retries = counts.total(Metric.REFUSED).number, counts.total(Metric.RETRIED)
        reasons = counts.by_detail(Metric.REFUSED)
        row: dict[str, object] = {
            "client_id": client_id,
            "href": view.client(client_id),
            "refusals": refusals,
            "reasons": [
                (why, reason_text(why, view.page.language), n) for why, n in list(reasons.items())[:3]
            ],
            "retries": retries.number,
            "retries_href": view.entries(FactKind.PAIR_REPEATED, clientId=client_id),
            "late": counts.late_retries(),
            "longest": f"{retries.most_ms / SECOND_MS:.1f}",
        }
        rows.append(((refusals, counts.late_retries(), retries.number), row))
    rows.sort(key=lambda each: each[0], reverse=True)
    return [row for _, row in rows[:_MOST_CLIENTS]]


# --- what needs attention


async def _first_steps(page: PageContext) -> list[Attention]:
    """Return what a new server lacks: a client, and a user besides the first."""
    steps = []
    own_clients = Listing(resource=CLIENTS, filters={"built_in": False}, page_size=1)
    users = Listing(resource=USERS, page_size=1)
    if page.may(Permission.CLIENT_CREATE) and await _count(page, own_clients) == 0:
        text, href = page.text("page.clients_none"), "/admin/clients/new"
        steps.append(Attention(text=text, href=href, link="page.client_new"))
    if page.may(Permission.USER_CREATE) and await _count(page, users) == 1:
        text, href = page.text("page.users_only_you"), "/admin/people/new"
        steps.append(Attention(text=text, href=href, link="page.user_new"))
    return steps


async def _count(page: PageContext, listing: Listing[Any]) -> int:
    return await page.request.query(lambda store, now: store.page(listing, now).total)


def _client_findings(view: _View) -> Iterator[Attention]:
    """Yield wrong secrets and late retries of the clients with the most of them."""
    page, clients = view.page, view.found.clients.items()
    secrets = [(counts.by_detail(Metric.REFUSED).get(_WRONG_SECRET, 0), name) for name, counts in clients]
    for wrong, name in heapq.nlargest(_MOST_CLIENTS, secrets):
        if wrong:
            text = page.text("page.attention_secrets", count=wrong, name=name)
            yield Attention(text=text, href=view.client(name), link="page.open_client")
    for late, name in heapq.nlargest(
        _MOST_CLIENTS, [(counts.late_retries(), name) for name, counts in clients]
    ):
        if late:
            text = page.text("page.attention_late", count=late, name=name, seconds=LATE_SECONDS)
            href = view.entries(FactKind.PAIR_REPEATED, clientId=name)
            yield Attention(text=text, href=href, link="page.open_entries")


def _store_findings(view: _View) -> Iterator[Attention]:
    page, state, now = view.page, view.found.state, view.found.now
    swept_at = state.milestones.get(Milestone.SWEPT, page.request.services.started_at)
    if now - swept_at > _SWEEP_AGE_MS:
        yield Attention(text=page.text("page.attention_sweep"), href="#state")
    if state.uncounted > _UNCOUNTED:
        yield Attention(text=page.text("page.attention_uncounted", count=state.uncounted), href="#state")
    backed_up_at = state.milestones.get(Milestone.BACKED_UP)
    if _makes_backups(page) and backed_up_at is None:
        yield Attention(text=page.text("page.attention_no_backup"), href="#state")
    elif _makes_backups(page) and backed_up_at is not None and now - backed_up_at > _BACKUP_AGE_MS:
        days = (now - backed_up_at) // _DAY_MS
        yield Attention(text=page.text("page.attention_backup", count=days), href="#state")
    if state.schema > state.known_schema:
        text = page.text("page.attention_schema", newer=state.schema, known=state.known_schema)
        yield Attention(text=text, href="#state")


def _makes_backups(page: PageContext) -> bool:
    """Whether `ostiary backup` makes the backups: PostgreSQL has its own."""
    return isinstance(page.request.services.settings.database, SQLiteFile)


def _server_findings(view: _View, findings: Sequence[Finding]) -> Iterator[Attention]:
    for finding in findings:
        kind, _, name = finding.about.partition(" ")
        text = view.page.text(finding.key, **finding.values)
        yield Attention(
            text=view.page.text("page.attention_finding", about=finding.about, text=text),
            href=view.client(name) if kind == "client" and name else None,
            link="page.open_client",
            is_fault=finding.level is Level.FAULT,
        )
