"""What the `data` of an answer is declared as: a struct, from which the API document takes its description.

The members are written and described in camelCase. A struct's docstring and the annotations of its members
are what readers of the document see.
"""

from collections.abc import Iterable
from typing import Annotated, Final

from msgspec import Meta, Struct

from ostiary_core.model.secret import TOKEN_LENGTH


def one_of(values: Iterable[str]) -> Meta:
    """The annotation of a string that is one of these."""
    return Meta(extra_json_schema={"enum": [str(value) for value in values]})


PHONE_PATTERN: Final = r"\+?[0-9]{5,20}"

Count = Annotated[int, Meta(ge=0)]
LOCALE_SCHEMA: Final = {"$ref": "#/components/schemas/Locale"}
"""Which languages there are, the document says that is made for a server."""
Locale = Annotated[str, Meta(extra_json_schema=LOCALE_SCHEMA)]
Phone = Annotated[str, Meta(pattern=f"^{PHONE_PATTERN}$")]
WRITTEN_PHONE_PATTERN: Final = r"\+?[ (]?[0-9](?:[ ()./-]{0,2}[0-9]){4,19}"
"""A number as people write it; it is taken and shown as `Phone` has it."""
WrittenPhone = Annotated[str, Meta(pattern=f"^{WRITTEN_PHONE_PATTERN}$")]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""ISO-8601 in UTC."""
Token = Annotated[str, Meta(pattern=f"^[A-Za-z0-9_-]{{{TOKEN_LENGTH}}}$")]


class AnswerData(Struct, rename="camel", forbid_unknown_fields=True):
    """Every member is always there, unless it may be `UNSET`; a member without a value is null."""
