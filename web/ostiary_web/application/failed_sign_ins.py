"""Say what the answering process counts of a user's failed sign-ins (docs/decisions/0053-unlocking.md)."""

from typing import NamedTuple

from ostiary_core.events import UserRequested
from ostiary_core.model.identifiers import canonical_username
from ostiary_core.model.instant import Instant, iso_time, later
from ostiary_core.model.reply import UserKnown
from ostiary_web.application.answer_data import AnswerData, Count, Time, time_or_none
from ostiary_web.http.context import RequestContext


class FailedSignInsAt(AnswerData):
    """The failures from one address: an IPv4 address, or an IPv6 one as its /64."""

    ip: str
    failures: Count
    waits_until: Time | None


class FailedSignIns(AnswerData):
    """The failed sign-ins that the process that answers remembers; it forgets one a minute.

    Every process counts on its own, so another may count others. `waitsUntil` is the time before which it
    takes no guess from anywhere, or no code of the second factor, and at an address none from there; null
    if it takes one now.
    """

    counted_since: Time
    failures: Count
    waits_until: Time | None
    addresses: list[FailedSignInsAt]


class CountedFailures(NamedTuple):
    """Failures that this process counts, and the instant before which it takes no guess."""

    place: str
    """Address from which they came; empty for all together."""
    failures: int
    waits_until: Instant | None


async def count_failures(context: RequestContext, user_id: str) -> tuple[CountedFailures, ...]:
    """Return what this process counts against a user, with every unlock applied: in all, then by address.

    The wait in all is that for the second factor's code too. Raises `RequestRefused`.
    """
    known = await context.decide(UserRequested(caller=context.caller, user_id=user_id))
    assert isinstance(known, UserKnown)
    service = context.service
    await service.apply_unlocks(context.origin)
    name = canonical_username(known.user.username)
    counted, now = service.sign_in_throttle.failures_of(name, service.clock.monotonic()), service.clock.now()
    waits = (
        ("", counted.failures, max(later(now, counted.wait_seconds), known.code_waits_until or now)),
        *((each.address, each.failures, later(now, each.wait_seconds)) for each in counted.by_address),
    )
    return tuple(
        CountedFailures(place, failures, until if until > now else None) for place, failures, until in waits
    )


async def describe_failures(context: RequestContext, user_id: str) -> FailedSignIns:
    """Return what this process counts against a user, as the interface has it; raise `RequestRefused`."""
    in_all, *places = await count_failures(context, user_id)
    return FailedSignIns(
        counted_since=iso_time(context.services.started_at),
        failures=in_all.failures,
        waits_until=time_or_none(in_all.waits_until),
        addresses=[
            FailedSignInsAt(ip=each.place, failures=each.failures, waits_until=time_or_none(each.waits_until))
            for each in places
        ],
    )
