"""Days and times in the core beside the calendar of Python."""

from datetime import date

from hypothesis import example, given, strategies as st

from ostiary_core.model.instant import Instant, end_of_day, iso_time


@given(day=st.dates())
@example(day=date(2000, 2, 29))
@example(day=date(2004, 2, 29))
@example(day=date(2100, 3, 1))
def test_days_and_times_are_those_of_the_calendar(day: date) -> None:
    end = end_of_day(day.isoformat())
    assert end == (day - date(1969, 12, 31)).days * 86_400_000
    assert iso_time(Instant(end - 1)) == f"{day}T23:59:59.999Z"
