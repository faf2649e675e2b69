"""Every reason has one meaning for clients, which the token service and the envelope can express."""

import re

from ostiary_core import Why
from ostiary_core.http.envelope import failure, text_of, token_service_failure
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.http.token_service import refusal
from ostiary_core.model.fields import FieldRule
from ostiary_core.texts import ENGLISH, LANGUAGES
from ostiary_core.throttling.rate_windows import Operation
from tests.core.door import Response

ERRORS = {
    *("invalid_request", "invalid_client", "invalid_grant", "invalid_scope"),
    *("unauthorized_client", "unsupported_grant_type"),
}
"""RFC 6749 §5.2."""


def test_every_reason_has_one_meaning_that_each_form_of_answer_can_express() -> None:
    assert set(MEANINGS) == set(Why)
    for why, meaning in MEANINGS.items():
        assert 400 <= meaning.status <= 500 or meaning.status == 503, why
        assert re.fullmatch(r"[ABC][0-9]{4}", meaning.code), why
        assert meaning.error is None or meaning.error in ERRORS, why
        assert text_of(why, ENGLISH).endswith("."), why
        assert meaning.description is None or meaning.error is not None, why
        for language in LANGUAGES:
            for answer in (failure(why, language, "trace"), token_service_failure(why, language, "trace")):
                assert 400 <= answer.status < 600, why
                assert answer.body, why
        told = Response(refusal(Operation.TOKEN, why))
        # RFC 6749 §5.2: no character outside %x20-21 / %x23-5B / %x5D-7E.
        assert re.fullmatch(r"[\x20-\x21\x23-\x5b\x5d-\x7e]+", told.json["error_description"]), why
        assert re.fullmatch(r"[a-z_]+", told.json["error"]), why
        assert 400 <= told.status < 600, why


def test_no_enumeration_has_two_names_for_one_value() -> None:
    for kind in (Why, FieldRule):
        assert len(set(kind)) == len(kind.__members__)
