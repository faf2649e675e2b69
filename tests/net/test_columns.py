"""Records as rows: what an update names is what its two rows differ in."""

import pytest
from hypothesis import given, settings, strategies as st

from ostiary_core.model.records import Table
from ostiary_net.sql.columns import TABLES, make_row_codec
from tests.core.hostile import records_of


@pytest.mark.parametrize("table", TABLES)
def test_a_difference_is_what_two_rows_differ_in(table: Table) -> None:
    kind = TABLES[table].record
    made = make_row_codec(kind)

    @settings(max_examples=25)
    @given(st.data())
    def differs(data: st.DataObject) -> None:
        before, after = data.draw(records_of(kind)), data.draw(records_of(kind))
        old, new = made.to_row(before), made.to_row(after)
        expected = [place for place, value in enumerate(new) if value != old[place]]
        assert made.difference(before, after) == (tuple(expected), [new[place] for place in expected])
        assert made.difference(after, after) == ((), [])

    differs()
