"""Convert telephone numbers to E.164, as `+8613800138000`, however they are written."""

import re
from contextlib import suppress
from typing import Final

from phonenumbers import (
    SUPPORTED_REGIONS,
    NumberParseException,
    PhoneNumberFormat,
    format_number,
    is_valid_number,
    parse,
)

REGIONS_ALLOWED: Final = "two capital letters of ISO 3166, as CN or DE"

_LONGEST: Final = 64
_WRITTEN: Final = re.compile(r"[+\uff0b]?[\d\s().\u2010-\u2015/-]+")
"""Pattern of written numbers; letters would be read as keys of a telephone."""
_BETWEEN_DIGITS: Final = re.compile(r"[\s().\u2010-\u2015/-]")


def read_region(text: str) -> str:
    """Return a region whose numbers are known; raise `ValueError` for any other."""
    if text not in SUPPORTED_REGIONS:
        raise ValueError(f"{text!r} is not a known region of telephone numbers")
    return text


def phone_number(text: str, region: str) -> str:
    """Return a number in E.164; an invalid one as its digits, other text unchanged.

    One without a country code is of `region`, and one with its international prefix is meant with it.

    >>> {phone_number(text, "CN") for text in ("138 0013 8000", "8613800138000", "0086-13800138000")}
    {'+8613800138000'}
    >>> phone_number(" 800-12 ", "CN"), phone_number("call me", "CN")
    ('80012', 'call me')
    """
    text = text.strip()
    if len(text) > _LONGEST or _WRITTEN.fullmatch(text) is None:
        return text
    with suppress(NumberParseException):
        number = parse(text, region)
        if is_valid_number(number):
            return format_number(number, PhoneNumberFormat.E164)
    return _BETWEEN_DIGITS.sub("", text)
