"""One-time passwords by the vectors of their RFCs, recovery codes, and tickets."""

import pytest

from ostiary_core import Digest, Entropy, Instant, Secret
from ostiary_core.model.one_time_password import (
    canonical_code,
    derive_second_factor,
    digest_recovery_code,
    draw_recovery_codes,
    find_step,
    is_one_time_password,
    key_id_of,
    one_time_password,
    otpauth_uri,
    secret_text,
    step_at,
)
from ostiary_core.model.records import Epochs
from ostiary_core.model.sign_in_ticket import make_ticket, read_ticket

SEED = b"12345678901234567890"
"""The secret of both RFCs."""
KEY = bytes(range(32))

RFC_4226 = "755224 287082 359152 969429 338314 254676 287922 162583 399871 520489"
"""RFC 4226, appendix D: the passwords of the counters from 0."""
RFC_6238 = {
    59: "94287082",
    1111111109: "07081804",
    1111111111: "14050471",
    1234567890: "89005924",
    2000000000: "69279037",
    20000000000: "65353130",
}
"""RFC 6238, appendix B, SHA-1: by seconds since 1970, in eight digits, of which ours are the last six."""


def test_the_vectors_of_rfc_4226() -> None:
    assert " ".join(one_time_password(SEED, counter) for counter in range(10)) == RFC_4226


@pytest.mark.parametrize("seconds, password", RFC_6238.items())
def test_the_vectors_of_rfc_6238(seconds: int, password: str) -> None:
    assert one_time_password(SEED, step_at(Instant(seconds * 1_000))) == password[-6:]


def test_a_step_lasts_30_seconds() -> None:
    assert [step_at(Instant(at)) for at in (-1, 0, 29_999, 30_000, 59_999)] == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("aside, is_found", [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_password_is_taken_in_its_step_and_beside_it(aside: int, is_found: bool) -> None:
    now = Instant(1_000_000 * 30_000 + 15_000)
    assert (find_step(SEED, one_time_password(SEED, 1_000_000 + aside), now, 0) is not None) is is_found


@pytest.mark.parametrize("text", ["", "12345", "1234567", "12345a", "１２３４５６", "12 345"])
def test_a_text_that_is_not_six_digits_is_no_one_time_password(text: str) -> None:
    assert not is_one_time_password(text)


def test_secret_and_key_are_not_each_other() -> None:
    salt, other = bytes(32), bytes([1] * 32)
    secret = derive_second_factor(KEY, salt)
    assert len(secret) == 20
    assert len({secret, derive_second_factor(KEY, other), derive_second_factor(other, salt)}) == 3
    assert key_id_of(KEY) != key_id_of(other)
    assert secret_text(b"12345678901234567890").reveal() == "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_key_of_another_length_is_a_fault_of_the_program(length: int) -> None:
    with pytest.raises(ValueError, match=f"expected 32 bytes as the key of second factors, got {length}"):
        key_id_of(bytes(length))


def test_ten_recovery_codes_are_drawn_and_only_their_digests_kept() -> None:
    codes = [code.reveal() for code in draw_recovery_codes(Entropy(bytes(32)))]
    assert len({*codes}) == 10
    assert {len(code.replace("-", "")) for code in codes} == {16}
    assert digest_recovery_code("anna", codes[0]) == digest_recovery_code("anna", codes[0].upper() + " ")
    assert digest_recovery_code("anna", codes[0]) != digest_recovery_code("bert", codes[0])
    assert len(Digest(bytes.fromhex(digest_recovery_code("anna", codes[0])))) == 32


def test_blanks_that_people_add_to_a_code_are_left_out() -> None:
    assert canonical_code(" 287\u00a0082\n") == "287082"


def test_the_address_for_authenticators_is_escaped() -> None:
    uri = otpauth_uri(Secret("ABC"), "门/卫?", "张&三").reveal()
    assert uri.isascii()
    assert uri.count("/") == 3
    assert uri.count("?") == uri.count(":") - 1 == 1


EPOCHS = Epochs(user=3, client=1, consent=0)


@pytest.mark.parametrize("username", ["anna", "Ａnna", "张三", "\ud800"])
def test_a_ticket_comes_back_as_it_was(username: str) -> None:
    ticket = make_ticket(KEY, "7", username, Instant(1_000), EPOCHS)
    read = read_ticket(ticket.text().reveal())
    assert read == ticket
    assert read.is_signed(KEY, EPOCHS)


def test_a_ticket_is_bound_to_user_name_time_epochs_and_key() -> None:
    ticket = make_ticket(KEY, "7", "anna", Instant(1_000), EPOCHS)
    assert not ticket.is_signed(bytes(32), EPOCHS)
    assert not ticket.is_signed(KEY, EPOCHS._replace(user=4))
    assert not ticket.is_signed(KEY, EPOCHS._replace(client=2))
    for changes in ({"user_id": "8"}, {"username": "bert"}, {"issued_at": Instant(1_001)}):
        fields = {"user_id": "7", "username": "anna", "issued_at": Instant(1_000), **changes}
        forged = type(ticket)(**fields, signature=ticket.signature)  # type: ignore[arg-type]
        assert not forged.is_signed(KEY, EPOCHS)


@pytest.mark.parametrize("text", ["", "A", "AAAA", "A" * 60, "é", "\ud800", "=", "A" * 43 + "6OTo"])
def test_a_text_that_is_no_ticket_is_read_as_none(text: str) -> None:
    assert read_ticket(text) is None


def test_a_ticket_prints_nothing() -> None:
    ticket = make_ticket(KEY, "7", "anna", Instant(1_000), EPOCHS)
    assert repr(ticket.signature) not in repr(ticket)
