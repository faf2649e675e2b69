"""Records as rows: names under which fields are stored, and words of a later release."""

from enum import StrEnum
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.records import Epochs, Record, Table, TextCode, TextCodePurpose
from ostiary_core.model.secret import digest_of
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.storage.json_codec import entry_from_text, record_from_text, to_text
from ostiary_net.sql.columns import make_row_codec
from tests.support.story import START
from tests.support.strategies import records_of

STORED = (*get_args(Record), AuditEntry)


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


def parts_of(hint: Any) -> set[Any]:
    """Return a type and all types inside it."""
    return {hint}.union(*map(parts_of, get_args(hint)))


@pytest.mark.parametrize("kind", STORED)
def test_every_stored_enumeration_has_room_for_words_of_a_later_release(kind: type[Any]) -> None:
    for name, hint in get_type_hints(kind).items():
        parts = parts_of(hint)
        if name != "table" and any(isinstance(part, type) and issubclass(part, StrEnum) for part in parts):
            assert UnknownWord in parts, f"{kind.__name__}.{name}"


@pytest.mark.parametrize("kind", STORED)
def test_unknown_words_are_written_back_as_they_were(kind: type[Any]) -> None:
    codec = make_row_codec(kind)

    @given(records_of(kind))
    def check(item: Any) -> None:
        row = codec.to_row(item)
        assert {type(value) for value in row} <= {str, bytes, int, bool, type(None)}
        assert codec.from_row(row) == item
        assert codec.to_row(codec.from_row(row)) == row
        text = to_text(item)
        assert (entry_from_text(text) if kind is AuditEntry else record_from_text(kind.table, text)) == item

    check()
