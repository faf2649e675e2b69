"""An overview as one visitor may see it: its numbers by period, and the addresses behind them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, urlencode

from markupsafe import Markup

from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import SECOND_MS, Instant, iso_time
from ostiary_core.model.permissions import Permission
from ostiary_net.observability.summaries import Metric
from ostiary_web.application.overview_counts import Overview, Span
from ostiary_web.pages.administration.audit import reason_text
from ostiary_web.pages.administration.charts import Chart, Series, draw, split_by_colour
from ostiary_web.pages.context import PageContext

_BY_REASON: Final = (Metric.ENDED, Metric.REFUSED)
"""What is shown by reason; a reason has one colour in both charts."""


@dataclass(frozen=True, slots=True)
class View:
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
        """Return the address of a client's page; None if the visitor may not see it."""
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

    def draw(
        self,
        name: str,
        series: Sequence[Series],
        periods: Sequence[tuple[Markup, str | None]],
        note: str = "",
    ) -> Chart:
        """Return a chart with its days marked, or its weeks where a bar is a day."""
        marks = [place for place, at in enumerate(self.span.starts) if self._is_mark(at)]
        return draw(name, series, periods, note, marks)

    def _is_mark(self, start: Instant) -> bool:
        at = datetime.fromtimestamp(start / SECOND_MS, UTC).astimezone(self.page.zone)
        return at.hour == 0 and (self.span.is_hourly or at.weekday() == 0)

    def series(
        self,
        what: Metric,
        details: Sequence[str],
        label: str,
        colour: str,
        *,
        href: str | None = None,
        code: str | None = None,
    ) -> Series:
        """Return one series of a chart."""
        numbers = self.numbers(what, details)
        return Series(label=label, colour=colour, numbers=numbers, total=sum(numbers), href=href, code=code)

    def _split_reasons(self, what: Metric) -> tuple[Sequence[str], Sequence[str]]:
        return split_by_colour(list(self.found.totals.by_detail(what)))

    def by_reason(self, what: Metric, link: Callable[[str], str | None]) -> list[Series]:
        """Return a series for each reason, the most frequent first, and one for all others together."""
        own, others = self._split_reasons(what)
        coloured = list(dict.fromkeys(why for each in _BY_REASON for why in self._split_reasons(each)[0]))
        made = [
            self.series(
                what,
                [why],
                reason_text(why, self.page.language),
                f"reason-{coloured.index(why)}",
                href=link(why),
                code=why,
            )
            for why in own
        ]
        if not others:
            return made
        return [*made, self.series(what, others, self.page.text("page.overview_others"), "others")]
