"""The overview of an administrator: what happened in a day, week or month, and what needs attention."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from quart import Response, request

from ostiary_core.events import WarningAcknowledged
from ostiary_core.model.fact import FactKind
from ostiary_core.model.identifiers import CONSOLE_CLIENT
from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import SessionKind
from ostiary_net.observability.metrics import RUNNING_VERSION
from ostiary_net.observability.summaries import HOUR_MS, RETRY_SECONDS, Metric, Milestone
from ostiary_web.application.overview_counts import (
    LATE_SECONDS,
    Counts,
    Span,
    list_visible_metrics,
    make_overview_query,
    make_totals_query,
)
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.acknowledgements import ACKNOWLEDGED_DAYS
from ostiary_web.pages.administration.attention import Attention, Urgency, find_attention, makes_backups
from ostiary_web.pages.administration.audit import reason_text
from ostiary_web.pages.administration.charts import Chart
from ostiary_web.pages.administration.online import KIND_CODES
from ostiary_web.pages.administration.overview_view import View
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.routes import PageRoutes

overview_pages = PageRoutes("overview_pages", __name__)

_PLACE: Final = "/admin"
_DAY_MS: Final = 24 * HOUR_MS
_RANGES: Final = {"day": 23 * HOUR_MS, "week": 6 * _DAY_MS, "month": 29 * _DAY_MS}
"""Milliseconds from the beginning of the first hour or day shown until now."""

_MOST_CLIENTS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One number over the whole range, and the address of its list."""

    label: str
    number: int
    href: str | None
    change: str = ""
    """How much more or less that is than in the time before."""


@overview_pages.get(_PLACE, gate=require_permission(Permission.ONLINE_LIST))
async def show_overview(page: PageContext) -> Response:
    """Show what happened, and what needs attention."""
    asked = request.args.get("range", "")
    chosen = asked if asked in _RANGES else "day"
    now = page.request.service.clock.now()
    span = Span.between(Instant(now - _RANGES[chosen]), now, page.zone)
    counted, kinds = list_visible_metrics(page.request)
    found = await page.request.query(make_overview_query(span, counted, kinds))
    view = View(page, found)
    charts, clients = list(_charts(view)), _clients(view)
    quiet = [page.text(f"overview.{chart.name}") for chart in charts if not _has_content(chart)]
    quiet += [] if clients else [page.text("page.overview_clients")]
    return await render(
        page,
        "administration/overview.html",
        place=_PLACE,
        chosen=chosen,
        ranges=[(name, page.text(f"overview.{name}")) for name in _RANGES],
        attention=_split_attention(await find_attention(view)),
        tiles=list(_tiles(view, await page.request.query(make_totals_query(span.before(), counted)))),
        charts=[chart for chart in charts if _has_content(chart)],
        quiet=quiet and page.text("page.overview_nothing", what=page.text("change.between").join(quiet)),
        clients=clients,
        may_read_trail=view.may_read_trail,
        late_seconds=LATE_SECONDS,
        version=RUNNING_VERSION,
        state=found.state,
        swept_at=found.state.milestones.get(Milestone.SWEPT),
        backed_up_at=found.state.milestones.get(Milestone.BACKED_UP),
        makes_backups=makes_backups(page),
    )


@overview_pages.post(
    "/admin/overview/acknowledge", gate=require_permission(Permission.ONLINE_LIST), form_is_on=_PLACE
)
async def acknowledge_warning(page: PageContext) -> Response:
    """Record that a warning was seen, which folds it away for some days."""
    warning, asked = page.form.get("warning", ""), page.form.get("range", "")
    await page.request.decide(WarningAcknowledged(caller=page.request.caller, warning=warning))
    address = f"{_PLACE}?range={asked}" if asked in _RANGES else _PLACE
    return page.redirect(address, page.text("page.overview_folded", count=ACKNOWLEDGED_DAYS))


# --- numbers and charts


def _has_content(chart: Chart) -> bool:
    """Whether a chart shows anything: endings of many sessions at once stand in its note alone."""
    return chart.most > 0 or (chart.name == "ended" and chart.note != "")


def _tiles(view: View, before: Counts) -> Iterator[Tile]:
    page, totals = view.page, view.found.totals
    yield Tile(
        label=page.text("page.overview_running_now"),
        number=sum(view.found.running.values()),
        href="/admin/online",
    )

    def tile(name: str, count: Callable[[Counts], int], href: str | None) -> Tile:
        number = count(totals)
        earlier = count(before)
        change = _change_text(page, number - earlier) if number or earlier else ""
        return Tile(label=page.text(f"overview.{name}"), number=number, href=href, change=change)

    def total(what: Metric) -> Callable[[Counts], int]:
        return lambda counts: counts.total(what).number

    if view.may_read_trail:
        entries = view.entries
        yield tile("sign_ins", _count_sign_ins, entries(FactKind.SESSION_STARTED, clientId=CONSOLE_CLIENT))
        yield tile("failed", total(Metric.SIGN_IN_FAILED), entries(FactKind.SIGN_IN_FAILED))
        yield tile(
            "started",
            lambda counts: counts.total(Metric.STARTED).number - _count_sign_ins(counts),
            entries(FactKind.SESSION_STARTED),
        )
        yield tile("ended", total(Metric.ENDED), entries(FactKind.SESSION_ENDED))
        yield tile("refreshed", total(Metric.REFRESHED), entries(FactKind.PAIR_ROTATED))
        yield tile("retried", total(Metric.RETRIED), entries(FactKind.PAIR_REPEATED))
    yield tile("refused", total(Metric.REFUSED), "#by-client" if view.found.clients else None)


def _count_sign_ins(counts: Counts) -> int:
    return counts.by_detail(Metric.STARTED).get(SessionKind.LOGIN.value, 0)


def _change_text(page: PageContext, change: int) -> str:
    if not change:
        return page.text("page.overview_as_before")
    return page.text("page.overview_change", change=f"{change:+,}".replace("-", "\N{MINUS SIGN}"))


def _split_attention(found: Sequence[Attention]) -> dict[str, list[Attention]]:
    """Return what is seen at once, and the warnings, which are folded, apart from acknowledged ones."""
    warnings = [each for each in found if each.urgency is Urgency.WARNING]
    return {
        "urgent": [each for each in found if each.urgency is not Urgency.WARNING],
        "warnings": [each for each in warnings if each.acknowledgement is None],
        "acknowledged": [each for each in warnings if each.acknowledgement is not None],
    }


def _charts(view: View) -> Iterator[Chart]:
    page = view.page
    kinds = {kind: page.text(f"overview.{kind}") for kind in SessionKind}
    running = [
        view.series(
            Metric.RUNNING, [kind], kinds[kind], kind.value, href=f"/admin/online?kind={KIND_CODES[kind]}"
        )
        for kind in view.found.running
    ]
    yield view.draw("running", running, view.periods(None), page.text("page.overview_running_note"))
    if view.may_read_trail:
        yield from _trail_charts(view, kinds)
    refused = view.by_reason(Metric.REFUSED, lambda why: None)
    yield view.draw("refused", refused, view.periods(None), page.text("page.overview_refused_note"))


def _trail_charts(view: View, kinds: Mapping[SessionKind, str]) -> Iterator[Chart]:
    page, entries = view.page, view.entries
    started = FactKind.SESSION_STARTED
    login = kinds[SessionKind.LOGIN]
    failed = page.text("overview.failed")
    sign_ins = [
        view.series(
            Metric.STARTED,
            [SessionKind.LOGIN],
            login,
            SessionKind.LOGIN.value,
            href=entries(started, clientId=CONSOLE_CLIENT),
        ),
        view.series(Metric.SIGN_IN_FAILED, [""], failed, "failed", href=entries(FactKind.SIGN_IN_FAILED)),
    ]
    yield view.draw("sign_ins", sign_ins, view.periods(started, clientId=CONSOLE_CLIENT))
    of_clients = [
        view.series(Metric.STARTED, [kind], kinds[kind], kind.value, href=entries(started))
        for kind in (SessionKind.AUTHORIZATION_CODE, SessionKind.CLIENT_CREDENTIALS)
    ]
    yield view.draw("started", of_clients, view.periods(started))
    ended = view.by_reason(Metric.ENDED, lambda why: entries(FactKind.SESSION_ENDED, why=why))
    together = view.found.totals.total(Metric.ENDED_TOGETHER).number
    note = page.text("page.overview_ended_together", count=together) if together else ""
    yield view.draw("ended", ended, view.periods(FactKind.SESSION_ENDED), note)
    refreshed = page.text("overview.refreshed")
    refreshes = [
        view.series(Metric.REFRESHED, [""], refreshed, "others", href=entries(FactKind.PAIR_ROTATED))
    ]
    yield view.draw("refreshed", refreshes, view.periods(FactKind.PAIR_ROTATED))
    href = entries(FactKind.PAIR_REPEATED)
    late = [
        view.series(
            Metric.RETRIED,
            [str(most)],
            page.text("page.overview_late", least=least, most=most),
            f"delay-{place}",
            href=href,
        )
        for place, (least, most) in enumerate(zip((0, *RETRY_SECONDS), RETRY_SECONDS, strict=False))
    ]
    retries = view.found.totals.total(Metric.RETRIED)
    note = ""
    if retries.number:
        mean, most = (f"{ms / SECOND_MS:.1f}" for ms in (retries.total_ms / retries.number, retries.most_ms))
        note = page.text("page.overview_retried_note", mean=mean, most=most)
    yield view.draw("retried", late, view.periods(FactKind.PAIR_REPEATED), note)


def _clients(view: View) -> list[dict[str, object]]:
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
