"""Records as rows: what an update names, and under which names fields are stored."""

from ostiary_core.model.records import Epochs, Table, TextCode, TextCodePurpose
from ostiary_core.model.secret import digest_of
from ostiary_core.storage.json_codec import record_from_text, to_text
from ostiary_net.sql.columns import make_row_codec
from tests.support.story import START


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
