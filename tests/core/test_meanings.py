"""What every reason means to a client: there is one meaning for each, such as HTTP and the envelope know."""

import re

import pytest

from ostiary_core import Why
from ostiary_core.http.meanings import FIELD_RULES, MEANINGS
from ostiary_core.model.fields import FieldRule


def test_every_reason_has_a_meaning_and_no_other_has() -> None:
    assert set(MEANINGS) == set(Why)


def test_every_rule_of_a_field_has_its_texts() -> None:
    assert set(FIELD_RULES) == set(FieldRule)
    assert all(english and chinese for english, chinese in FIELD_RULES.values())


@pytest.mark.parametrize("why", Why)
def test_a_meaning_is_one_that_http_and_the_envelope_know(why: Why) -> None:
    meaning = MEANINGS[why]
    assert 400 <= meaning.status <= 500 or meaning.status == 503
    assert re.fullmatch(r"[ABC][0-9]{4}", meaning.code)
    assert meaning.error is None or meaning.error in {
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
    }
    assert meaning.en
    assert meaning.zh
    assert meaning.en.endswith(".")


def test_no_enumeration_has_two_names_for_one_value() -> None:
    for kind in (Why, FieldRule):
        assert len(set(kind)) == len(kind.__members__)
