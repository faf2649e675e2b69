"""The key of a user name: names that differ in letter case or compatibility form are one."""

import sys
import unicodedata

import pytest

from ostiary_core import Why
from ostiary_core.model.identifiers import canonical_username
from ostiary_core.model.reply import UserKnown
from ostiary_core.model.user import is_username
from tests.support import asks
from tests.support.story import World

ONE_NAME = [
    ("Anna", "aNNA"),
    ("ΐannis", "ΐannis".upper()),
    ("straße", "STRASSE"),
    ("ａｎｎａ", "anna"),
    ("\u01c6on", "DŽON"),
    ("caf\u00e9", "CAFE\u0301"),
    ("\u00a0anna ", "anna"),
    ("anna", "\tanna\u3000"),
]


@pytest.mark.parametrize("taken, other", ONE_NAME)
def test_a_name_is_taken_in_every_letter_case(world: World, taken: str, other: str) -> None:
    world.when(asks.user(taken)).then(UserKnown)
    world.when(asks.user(other)).then_refused(Why.ALREADY_TAKEN)


def test_the_key_of_a_name_is_the_same_in_every_letter_case_and_its_own_key() -> None:
    """Try every character: a rule that holds for each of them decomposed holds for all names."""
    characters = [one for one in map(chr, range(sys.maxunicode + 1)) if is_username(one)]
    # The only letter whose upper case Unicode folds to another one's: Turkish has two of i (D142).
    characters.remove("ı")
    for character in characters:
        key = canonical_username(character)
        spelled = {unicodedata.normalize(form, character) for form in ("NFC", "NFD", "NFKC", "NFKD")}
        cased = {character.upper(), character.lower(), character.title(), character.casefold(), key}
        others = [other for other in spelled | cased if is_username(other)]
        assert {canonical_username(other) for other in others} <= {key}, f"U+{ord(character):04X}"
