"""Records as rows: what an update names, and under which names fields are stored."""

import pytest
from hypothesis import given, settings, strategies as st

from ostiary_core.model.records import Epochs, Table, TextCode, TextCodePurpose
from ostiary_core.model.secret import digest_of
from ostiary_core.storage.json_codec import record_from_text, to_text
from ostiary_net.sql.columns import TABLES, make_row_codec
from tests.support.story import START
from tests.support.strategies import records_of


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


def test_a_renamed_field_is_stored_under_its_older_name() -> None:
    code = TextCode(
        purpose=TextCodePurpose.RESET_PASSWORD,
        phone="+8613800000000",
        digest=digest_of("123456"),
        user_id="anna",
        epochs=Epochs(0, 0, 0),
        issued_at=START,
        counting_since=START,
    )
    text = to_text(code)
    assert '"drawn":1,"counted_from":' in text
    assert record_from_text(Table.TEXT_CODE, text) == code
    assert {"drawn", "counted_from"} <= {*make_row_codec(TextCode).columns}
