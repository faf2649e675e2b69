"""The rows of both state tables lead from and to known states, and are found by their reasons."""

from enum import StrEnum

import pytest

from ostiary_core.model.fact import FactKind
from ostiary_core.model.why import Why
from ostiary_core.oauth import state_tables
from ostiary_core.oauth.state_tables import NO_RECORD, CodeState, SessionState


@pytest.mark.parametrize(
    "states, table", [(CodeState, "CODE_TRANSITIONS"), (SessionState, "SESSION_TRANSITIONS")]
)
def test_rows_lead_from_and_to_states_that_there_are(states: type[StrEnum], table: str) -> None:
    rows = getattr(state_tables, table)
    assert {row.source for row in rows} <= {NO_RECORD, *states}
    assert {row.target for row in rows} == set(states)
    assert len({row.name for row in rows}) == len(rows)


def test_only_the_passing_of_time_is_no_decision() -> None:
    rows = (*state_tables.CODE_TRANSITIONS, *state_tables.SESSION_TRANSITIONS)
    assert [row.name for row in rows if not row.is_decided] == ["code expires", "maximum duration"]


def test_a_code_is_refused_for_its_state_where_it_has_left_the_first() -> None:
    whys = {CodeState.EXPIRED: Why.CODE_EXPIRED, CodeState.USED: Why.CODE_USED, CodeState.VOID: Why.CODE_VOID}
    assert whys == state_tables.CODE_REFUSALS


def test_an_ending_of_one_session_is_found_by_its_reason() -> None:
    endings = [row for row in state_tables.SESSION_TRANSITIONS if row.fact is FactKind.SESSION_ENDED]
    assert {row.why: row for row in endings} == state_tables.SESSION_ENDINGS
