"""The envelope of ordinary answers: `{code, msg, data}`; a failure also has `errors` and `traceId`."""

from collections.abc import Sequence

from ostiary_core.http.answer import NO_STORE, Answer, Headers, json_answer, retry_after
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.audit import TraceId
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.why import Why
from ostiary_core.texts.language import Language


def success(data: object, *, status: int = 200) -> Answer:
    """Make the envelope of a success, with code 0 ("Common conventions")."""
    return json_answer(status, {"code": 0, "msg": "ok", "data": data})


def text_of(why: Why, language: Language) -> str:
    """Return the message of a refusal, or the English `error_description` of the token service's own."""
    return MEANINGS[why].description or language.text(f"refusal.{why}")


def failure(
    why: Why,
    language: Language,
    trace_id: TraceId,
    *,
    faults: Sequence[FieldFault] = (),
    headers: Headers = NO_STORE,
) -> Answer:
    """Answer a failure of an ordinary endpoint, with every bad field named."""
    errors = [{"path": fault.path, "msg": field_text(fault, language)} for fault in faults]
    return _failure(why, language, trace_id, headers, {"errors": errors})


def token_service_failure(
    why: Why, language: Language, trace_id: TraceId, *, retry_after_seconds: int | None = None
) -> Answer:
    """Answer a 429 or 500 of the token service: the envelope without `errors` ("Envelope errors")."""
    wait = () if retry_after_seconds is None else (retry_after(retry_after_seconds),)
    return _failure(why, language, trace_id, (*NO_STORE, *wait), {})


def _failure(
    why: Why, language: Language, trace_id: TraceId, headers: Headers, more: dict[str, object]
) -> Answer:
    meaning = MEANINGS[why]
    content = {
        "code": meaning.code,
        "msg": text_of(why, language),
        "data": None,
        **more,
        "traceId": str(trace_id),
    }
    return json_answer(meaning.status, content, headers)


def field_text(fault: FieldFault, language: Language) -> str:
    """Return the message of a bad field, or of a refused record."""
    if isinstance(fault.rule, Why):
        return text_of(fault.rule, language)
    choices = language.text("list.or").join(fault.choices)
    return language.text(f"field.{fault.rule}", choices=choices, found=fault.found)
