"""One form for each telephone number, however somebody writes it: E.164, as `+8613800138000`."""

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
"""What numbers are written with; letters would be read as keys of a telephone."""
_BETWEEN_DIGITS: Final = re.compile(r"[\s().\u2010-\u2015/-]")


def read_region(text: str) -> str:
    """Return a region whose numbers are known; raises `ValueError` for any other."""
    if text not in SUPPORTED_REGIONS:
        raise ValueError(f"{text!r} is no region whose telephone numbers are known")
    return text


def phone_number(text: str, region: str) -> str:
    """Return the E.164 form of a number; of what is no valid number its digits, of other text the text.

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
