"""Serve `/api/monitor/overview`: hourly counts of events, and the state of the server."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta
from quart import request

from ostiary_core.events import WarningAcknowledged
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.users.acknowledgement import LONGEST_WARNING
from ostiary_net.observability.metrics import RUNNING_VERSION
from ostiary_net.observability.summaries import HOUR_MS, Metric, Milestone
from ostiary_web.api.body_texts import longest, read_texts
from ostiary_web.application.answer_data import AnswerData, Count, Time, time_or_none
from ostiary_web.application.overview_counts import (
    Counts,
    Overview,
    Span,
    findings_for,
    list_visible_metrics,
    make_overview_query,
)
from ostiary_web.application.resources.lists import query_arguments
from ostiary_web.application.resources.queries import read_times
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import GatedRoutes, require_permission
from ostiary_web.http.zones import ZONE_HEADER, zone_for
from ostiary_web.server.findings import Finding

overview = GatedRoutes("overview", __name__)

_DAY_MS: Final = 24 * HOUR_MS
_LONGEST_MS: Final = 400 * _DAY_MS
_LATEST: Final = Instant(32_503_680_000_000)
"""Latest end accepted, in the year 3000: a calendar cannot count on from its last days."""

Numbers = dict[str, Count]


class EventCounts(AnswerData):
    """Counts of events; those of the audit trail are null without the permission to read it."""

    started: Annotated[
        Numbers | None, Meta(description="Sessions that began, by kind; `login` are sign-ins.")
    ]
    sign_ins_failed: Count | None
    refreshes: Count | None
    retries: Annotated[
        Numbers | None, Meta(description="Safe retries, by how many seconds late they came at most.")
    ]
    retry_mean_ms: Count | None
    retry_most_ms: Count | None
    ended: Annotated[Numbers | None, Meta(description="Sessions that ended by themselves, by reason.")]
    ended_together: Annotated[
        Numbers | None, Meta(description="Endings of all sessions of a user, client or consent, by kind.")
    ]
    refused: Annotated[Numbers, Meta(description="Requests that were refused, by reason.")]


class OverviewPeriod(EventCounts):
    """One hour or day."""

    begins_at: Time
    running: Annotated[
        Numbers | None,
        Meta(description="The most sessions found running at any hour, by kind; null for none."),
    ]


class OverviewClient(AnswerData):
    """Counts of one client over the whole time; those of retries are null without `audit.read`."""

    client_id: str
    refused: Numbers
    retries: Count | None
    retry_most_ms: Count | None
    late_retries: Annotated[Count | None, Meta(description="Those that came near the end of the grace.")]


class ServerFinding(AnswerData):
    """A fault or a doubtful setting, as `ostiary check` reports it."""

    level: Literal["warning", "fault"]
    about: str
    text: str


class ServerState(AnswerData):
    """The state of the server."""

    version: str
    schema: Annotated[Count, Meta(description="Version of the database's schema.")]
    known_schema: Annotated[Count, Meta(description="Version of the schema that this release knows.")]
    last_sweep_at: Annotated[Time | None, Meta(description="When the sweeper last had nothing left to do.")]
    last_backup_at: Annotated[Time | None, Meta(description="When `ostiary backup` was last through.")]
    uncounted_entries: Annotated[Count, Meta(description="Entries of the trail that are not counted yet.")]
    findings: list[ServerFinding]


class OverviewRecord(AnswerData):
    """Counts by hour or by day, and the state of the server."""

    begins_at: Annotated[Time, Meta(description="When the first period begins.")]
    ends_at: Annotated[Time, Meta(description="When the last one ends.")]
    per: Literal["hour", "day"]
    periods: list[OverviewPeriod]
    totals: EventCounts
    clients: list[OverviewClient]
    running: Annotated[Numbers, Meta(description="Sessions that run now, by kind.")]
    state: ServerState


@overview.get("/api/monitor/overview", gate=require_permission(Permission.ONLINE_LIST))
async def show_overview(context: RequestContext) -> OverviewRecord:
    """Answer what was counted from `from` to `to`, and the state of the server."""
    zone = zone_for(request.headers.get(ZONE_HEADER), context.user)
    asked = read_times(query_arguments(), "from", "to")
    if isinstance(asked, tuple):
        context.refuse(Why.FIELDS_INVALID, asked)
    now = context.service.clock.now()
    end = asked.end if asked.end is not None else now
    start = asked.start if asked.start is not None else Instant(end - _DAY_MS + HOUR_MS)
    faults = _faults(start, end)
    if faults:
        context.refuse(Why.FIELDS_INVALID, faults)
    counted, kinds = list_visible_metrics(context)
    found = await context.query(make_overview_query(Span.between(start, end, zone), counted, kinds))
    return _record(context, found, await findings_for(context), Metric.STARTED in counted)


@overview.post("/api/monitor/overview/acknowledge", gate=require_permission(Permission.ONLINE_LIST))
async def acknowledge_warning(context: RequestContext) -> None:
    """Record that a warning was seen: the overview's page folds it away for some days."""
    fields = await read_texts(context, warning=longest(LONGEST_WARNING))
    await context.decide(WarningAcknowledged(caller=context.caller, warning=fields["warning"]))


def _faults(start: Instant, end: Instant) -> tuple[FieldFault, ...]:
    for name, at in (("to", end), ("from", start)):
        if not 0 <= at <= _LATEST:
            return (FieldFault(name, FieldRule.TIME),)
    if start > end:
        return (FieldFault("from", FieldRule.TIME_ORDER),)
    return (FieldFault("from", FieldRule.TOO_LONG),) if end - start > _LONGEST_MS else ()


def _record(
    context: RequestContext, found: Overview, findings: list[Finding], of_trail: bool
) -> OverviewRecord:
    def count_events(counts: Counts) -> dict[str, Any]:
        retries = counts.total(Metric.RETRIED)
        mean_ms = retries.total_ms // retries.number if retries.number else 0
        told: dict[str, Any] = {
            "started": counts.by_detail(Metric.STARTED),
            "sign_ins_failed": counts.total(Metric.SIGN_IN_FAILED).number,
            "refreshes": counts.total(Metric.REFRESHED).number,
            "retries": counts.by_detail(Metric.RETRIED),
            "retry_mean_ms": mean_ms,
            "retry_most_ms": retries.most_ms,
            "ended": counts.by_detail(Metric.ENDED),
            "ended_together": counts.by_detail(Metric.ENDED_TOGETHER),
        }
        shown = told if of_trail else dict.fromkeys(told)
        return {**shown, "refused": counts.by_detail(Metric.REFUSED)}

    def encode_client(client_id: str, counts: Counts) -> OverviewClient:
        retries = counts.total(Metric.RETRIED)
        return OverviewClient(
            client_id=client_id,
            refused=counts.by_detail(Metric.REFUSED),
            retries=retries.number if of_trail else None,
            retry_most_ms=retries.most_ms if of_trail else None,
            late_retries=counts.late_retries() if of_trail else None,
        )

    span, state = found.span, found.state
    return OverviewRecord(
        begins_at=iso_time(span.starts[0]),
        ends_at=iso_time(span.end),
        per="hour" if span.is_hourly else "day",
        periods=[
            OverviewPeriod(
                begins_at=iso_time(start),
                running=counts.by_detail(Metric.RUNNING) or None,
                **count_events(counts),
            )
            for start, counts in zip(span.starts, found.periods, strict=True)
        ],
        totals=EventCounts(**count_events(found.totals)),
        clients=[encode_client(client_id, counts) for client_id, counts in sorted(found.clients.items())],
        running={kind.value: number for kind, number in found.running.items()},
        state=ServerState(
            version=RUNNING_VERSION,
            schema=state.schema,
            known_schema=state.known_schema,
            last_sweep_at=time_or_none(state.milestones.get(Milestone.SWEPT)),
            last_backup_at=time_or_none(state.milestones.get(Milestone.BACKED_UP)),
            uncounted_entries=state.uncounted,
            findings=[
                ServerFinding(
                    level="fault" if each.level.value == "fault" else "warning",
                    about=each.about,
                    text=context.language.text(each.key, **each.values),
                )
                for each in findings
            ],
        ),
    )
