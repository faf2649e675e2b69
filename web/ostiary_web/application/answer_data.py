"""Declare the `data` of answers as structs, which the API document describes too.

The members are written and described in camelCase. A struct's docstring and the annotations of its members
are what readers of the document see.
"""

from collections.abc import Iterable
from typing import Annotated, Final

from msgspec import Meta, Struct

from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.model.secret import TOKEN_LENGTH


def one_of(values: Iterable[str]) -> Meta:
    """Return the annotation of a string that is one of these."""
    return Meta(extra_json_schema={"enum": [str(value) for value in values]})


PHONE_PATTERN: Final = r"\+?[0-9]{5,20}"

Count = Annotated[int, Meta(ge=0)]
LOCALE_SCHEMA: Final = {"$ref": "#/components/schemas/Locale"}
"""Schema of a language tag; the document of a server lists its languages."""
Locale = Annotated[str, Meta(extra_json_schema=LOCALE_SCHEMA)]
Phone = Annotated[str, Meta(pattern=f"^{PHONE_PATTERN}$")]
WRITTEN_PHONE_PATTERN: Final = r"\+?[ (]?[0-9](?:[ ()./-]{0,2}[0-9]){4,19}"
"""Pattern of a number as people write it; it is stored and shown as `Phone`."""
WrittenPhone = Annotated[str, Meta(pattern=f"^{WRITTEN_PHONE_PATTERN}$")]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""An instant in ISO-8601, UTC."""
Token = Annotated[str, Meta(pattern=f"^[A-Za-z0-9_-]{{{TOKEN_LENGTH}}}$")]


def time_or_none(at: Instant | None) -> str | None:
    """Return an instant in ISO-8601, or None."""
    return None if at is None else iso_time(at)


class AnswerData(Struct, rename="camel", forbid_unknown_fields=True):
    """Base of answers' data: all members are present unless they may be `UNSET`; null is no value."""
