"""Passwords: bounded work, the same work for every name, one spelling of one password, hostile text."""

from base64 import b64encode
from hashlib import scrypt
from pathlib import Path
from typing import Any

import pytest
import trio
from argon2 import PasswordHasher, Type, extract_parameters
from argon2.exceptions import VerificationError
from argon2.low_level import error_to_str
from hypothesis import example, given, strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from fuzz.shared.seeds import SeededEntropy
from ostiary_net.runtime.foreign_hashes import normalize_foreign_hash, read_foreign_hash
from ostiary_net.runtime.hashing_line import (
    LONGEST_WAIT_SECONDS,
    MOST_WAITING_A_PLACE,
    HashingLine,
    PasswordsBusy,
)
from ostiary_net.runtime.passwords import OWASP, Passwords
from ostiary_net.runtime.system import count_processors, run_inline
from tests.support.stores import CHEAP, Gate

DJANGO = "pbkdf2_sha256$1000000$0JA1CsaizUBxyZ2WWQzVkp$F3/1cbv7JFUA3A/JIRwluRzUycB1Uxzo33jLvMETXuA="


def cheap(hasher: PasswordHasher = CHEAP) -> Passwords:
    return Passwords(hasher, entropy_source=SeededEntropy(), run_sync=run_inline)


async def test_equal_passwords_have_different_hashes_that_do_not_hold_them() -> None:
    passwords = cheap()
    first, second = await passwords.hash("correct horse"), await passwords.hash("correct horse")
    assert first != second
    assert "correct" not in first


async def test_hashing_is_argon2id_with_the_recommended_cost() -> None:
    parameters = extract_parameters(
        await Passwords(entropy_source=SeededEntropy()).hash("correct horse battery")
    )
    assert parameters.type is Type.ID
    assert (parameters.memory_cost, parameters.time_cost, parameters.parallelism) == (19 * 1024, 2, 1)
    assert OWASP.salt_len >= 16


async def test_a_flood_waits_for_its_places() -> None:
    gate = Gate()
    passwords = Passwords(CHEAP, entropy_source=SeededEntropy(), run_sync=gate, at_a_time=2)
    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(passwords.hash, f"password {number}")
        for number in range(3):
            nursery.start_soon(passwords.verify, None, f"password {number}")
        await wait_all_tasks_blocked()
        assert gate.running == 2
        assert len(passwords.line) == 5
        gate.open()
    assert gate.most_running == 2
    assert len(passwords.line) == 0


@pytest.mark.parametrize(
    "told, limits, membership, counted",
    [
        ("", {}, "0::/\n", 8),
        ("3", {"": "100000 100000"}, "0::/\n", 3),
        ("0", {"": "max 100000"}, "0::/\n", 8),
        ("", {"": "250000 100000"}, "0::/\n", 3),
        ("", {"": "50000 100000"}, "0::/\n", 1),
        ("", {"": "400000 100000", "a": "max 100000", "a/b": "600000 100000"}, "0::/a/b\n", 4),
        ("", {"a/b": "100000 100000"}, "12:cpu:/x\n0::/a/b\n", 1),
        ("", {"": "none"}, "12:cpu:/x\n", 8),
        ("", {"": "100000 0"}, "0::/\n", 8),
        ("", {"a": "100000 100000"}, "1:name=é:/\n0::/a\n", 1),
    ],
)
def test_processors_are_those_that_the_process_may_use(
    tmp_path: Path, told: str, limits: dict[str, str], membership: str, counted: int
) -> None:
    for group, limit in limits.items():
        (tmp_path / group).mkdir(parents=True, exist_ok=True)
        (tmp_path / group / "cpu.max").write_text(f"{limit}\n")
    belongs = tmp_path / "membership"
    belongs.write_text(membership, encoding="utf-8")
    environment = {"PYTHON_CPU_COUNT": told}
    assert count_processors(environment, range(8), tmp_path, belongs) == counted
    assert count_processors(environment, [5], tmp_path, tmp_path / "none") == int(told or 0) or 1


class Counting(PasswordHasher):
    """Records each hash and verification with its parameters."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1, type=Type.ID)
        self.work: list[tuple[str, str]] = []

    def hash(self, password: Any, *, salt: Any = None) -> Any:
        self.work.append(("hash", ""))
        return super().hash(password, salt=salt)

    def verify(self, hash: Any, password: Any) -> Any:
        encoded = hash if isinstance(hash, str) else hash.decode()
        self.work.append(("verify", encoded.rsplit("$", 2)[0]))
        return super().verify(hash, password)


class Starved(PasswordHasher):
    def verify(self, hash: Any, password: Any) -> Any:
        raise VerificationError(error_to_str(-22))  # ARGON2_MEMORY_ALLOCATION_ERROR


async def test_without_memory_no_password_is_called_wrong() -> None:
    with pytest.raises(MemoryError):
        await cheap(Starved()).verify(await cheap().hash("correct horse"), "correct horse")


async def test_a_name_without_a_hash_costs_the_same_work() -> None:
    hasher = Counting()
    passwords = cheap(hasher)
    on_file = await passwords.hash("correct horse")
    await passwords.verify(None, "correct horse")
    hasher.work.clear()

    assert not await passwords.verify(on_file, "wrong")
    known = hasher.work.copy()
    hasher.work.clear()
    assert not await passwords.verify(None, "wrong")
    assert hasher.work == known
    assert len(known) == 1


async def test_a_hash_with_other_parameters_is_made_anew_once_the_password_is_right() -> None:
    stronger = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1, type=Type.ID)
    old = await cheap().hash("correct horse")
    for passwords, renews in ((cheap(stronger), True), (cheap(), False)):
        assert (await passwords.verify_and_renew(old, "wrong")).new_hash is None
        verified = await passwords.verify_and_renew(old, "correct horse")
        assert verified.matches
        assert (verified.new_hash is not None) is renews
        assert verified.new_hash is None or extract_parameters(verified.new_hash).memory_cost == 16
        assert old not in repr(verified)


FOREIGN = DJANGO.replace("1000000", "1")


class Timed:
    """Passwords whose hashing takes as long as a test says."""

    def __init__(self) -> None:
        self._times = (0.0, 0.0)
        self._steps: list[tuple[float, float]] = []
        self.passwords = Passwords(
            CHEAP, entropy_source=SeededEntropy(), run_sync=run_inline, read_times=self._read_times
        )

    def _read_times(self) -> tuple[float, float]:
        if self._steps:
            passed, worked = self._steps.pop(0)
            self._times = (self._times[0] + passed, self._times[1] + worked)
        return self._times

    async def wait(self, password_hash: str | None, passed: float, worked: float | None = None) -> float:
        """Verify a wrong password in `passed` seconds, `worked` of them of work; return the added wait."""
        self._steps = [(0.0, 0.0), (passed, passed if worked is None else worked)]
        began = trio.current_time()
        await self.passwords.verify(password_hash, "wrong")
        return trio.current_time() - began


async def test_no_name_is_answered_sooner_than_those_with_foreign_hashes(autojump_clock: MockClock) -> None:
    timed = Timed()
    ours = await timed.passwords.hash("correct horse")
    assert [await timed.wait(ours, 0.5), await timed.wait(None, 0.25)] == [0, 0]
    assert await timed.wait(FOREIGN, 1) == 0
    assert [await timed.wait(ours, 0.25), await timed.wait(None, 0.25)] == [0.75, 0.75]
    assert await timed.wait(FOREIGN, 0.75) == 0.25


@pytest.mark.parametrize("worked, held_back", [(0.25, 0.0), (30, 2.75)], ids=["stood still", "was slow"])
async def test_one_stall_does_not_hold_later_callers_back_for_long(
    autojump_clock: MockClock, worked: float, held_back: float
) -> None:
    timed = Timed()
    await timed.wait(FOREIGN, 11 + worked, worked)
    assert await timed.wait(None, 0.25) == held_back


async def test_foreign_times_are_forgotten_in_an_hour_or_without_hashes(autojump_clock: MockClock) -> None:
    asked: list[str] = []

    def is_left(own_prefix: str) -> bool:
        asked.append(own_prefix)
        return len(asked) == 1

    timed = Timed()
    await timed.passwords.forget_foreign(is_left)
    assert not asked
    for still_left in (True, False):
        await timed.wait(FOREIGN, 1)
        await timed.passwords.forget_foreign(is_left)
        assert (await timed.wait(None, 0.25) > 0) is still_left
    assert (await timed.passwords.hash("correct horse")).startswith(asked[0])
    await timed.wait(FOREIGN, 1)
    await trio.sleep(60 * 60 - 1)
    assert await timed.wait(FOREIGN, 0.5) == 0.5
    assert await timed.wait(None, 0.25) == 0.75
    await trio.sleep(1)
    assert await timed.wait(None, 0.25) == 0.25
    await trio.sleep(60 * 60)
    assert await timed.wait(None, 0.25) == 0
    await timed.wait(FOREIGN, 1)
    timed.passwords.line.places = 0  # so that all are refused who may be
    with trio.move_on_after(60) as waiting:
        await timed.passwords.forget_foreign(is_left)
    assert waiting.cancelled_caught


def encode(content: bytes) -> str:
    return b64encode(content).decode().rstrip("=")


def scrypt_hash(cost: int, block: int, lanes: int) -> str:
    """Return a hash of b"right" as other systems make it, which give scrypt as much memory as it asks for."""
    made = scrypt(b"right", salt=b"a salt", n=1 << cost, r=block, p=lanes, maxmem=2**30, dklen=32)
    return f"$scrypt$ln={cost},r={block},p={lanes}${encode(b'a salt')}${encode(made)}"


@pytest.mark.parametrize(
    "costs",
    [None, (1, 8, 1), (15, 8, 1), (1, 16_384, 16)],
    ids=["argon2id", "least", "usual", "odd"],
)
def test_the_right_password_alone_matches_a_foreign_hash(costs: tuple[int, int, int] | None) -> None:
    made = scrypt_hash(*costs) if costs else CHEAP.hash("right")
    assert normalize_foreign_hash(made) == made
    foreign = read_foreign_hash(made)
    assert foreign is not None
    assert [foreign.matches(password) for password in (b"another", b"right")] == [False, True]


@pytest.mark.parametrize(
    "typed_once, typed_later",
    [
        ("A\u030a ring", "\u00c5 ring"),
        ("\u212b ring", "\u00c5 ring"),
        ("\ufb01ne ligature", "fine ligature"),
        ("\uff57\uff49\uff44\uff45", "wide"),
        ("\u5bc6\u7801\u2460", "\u5bc6\u78011"),
    ],
    ids=["combining", "Angstrom sign", "ligature", "full width", "circled digit"],
)
async def test_one_password_typed_on_two_keyboards_is_one_password(typed_once: str, typed_later: str) -> None:
    passwords = cheap()
    assert await passwords.verify(await passwords.hash(typed_once), typed_later)


async def test_case_and_accents_still_count() -> None:
    passwords = cheap()
    on_file = await passwords.hash("Straße café")
    for other in ("straße café", "Strasse café", "Straße cafe"):
        assert not await passwords.verify(on_file, other)


@example(password="a\x00b")
@example(password="\udfff\ud800")
@example(password="\ufdfa" * 256)  # which is longest when it is normalised
@given(password=st.text(st.characters(exclude_categories=()), max_size=300))
def test_any_text_is_hashed_and_verified(password: str) -> None:
    async def both() -> None:
        passwords = cheap()
        on_file = await passwords.hash(password)
        assert on_file.isascii()
        assert await passwords.verify(on_file, password)
        assert not await passwords.verify(on_file, password + "x")
        assert not await passwords.verify(on_file, password + "\x00")

    trio.run(both)


async def test_a_hash_that_is_none_matches_nothing() -> None:
    for on_file in (None, "", "garbage", "$argon2x$", "$argon2id$v=19$m=8,t=1,p=1$AA$", "\ud800", "$2b$12$x"):
        for password in ("", "correct horse", "\x00"):
            assert not await cheap().verify(on_file, password), on_file


# --- the line


async def test_callers_with_the_fewest_doubts_come_first_and_push_out_those_with_the_most() -> None:
    line, order, refused = HashingLine(1), list[str](), list[str]()

    async def come(name: str, doubts: int, may_be_refused: bool = True) -> None:
        try:
            async with line.place(doubts, may_be_refused=may_be_refused):
                order.append(name)
        except PasswordsBusy:
            refused.append(name)

    async with line.place(3):
        pass
    async with trio.open_nursery() as nursery, line.place(1):
        for number in range(MOST_WAITING_A_PLACE):
            nursery.start_soon(come, f"guess {number:02}", 3, number != 99)
            await wait_all_tasks_blocked()
        for name, doubts, may_be_refused in (
            ("late", 3, True),
            ("import", 1, False),
            ("doubtful", 2, True),
            ("usual", 1, True),
            ("known", 0, True),
        ):
            nursery.start_soon(come, name, doubts, may_be_refused)
            if name != "usual":  # which comes together with the next
                await wait_all_tasks_blocked()
        assert refused[:2] == ["late", "guess 98"]
        assert sorted(refused[2:]) == ["guess 96", "guess 97"]
    assert order[:5] == ["known", "import", "usual", "doubtful", "guess 00"]
    assert (order[-1], line.refused, len(line)) == ("guess 99", 4, 0)


async def test_a_caller_who_leaves_the_line_or_waits_long_takes_no_place(autojump_clock: MockClock) -> None:
    line, ended = HashingLine(1), list[str]()
    told = "who stays: too many passwords wait to be hashed; try again in 3 s"

    async def come(name: str, may_be_refused: bool = True) -> None:
        try:
            async with line.place(1, may_be_refused=may_be_refused):
                ended.append(f"{name} had a place")
        except PasswordsBusy as busy:
            ended.append(f"{name}: {busy}")

    async with trio.open_nursery() as nursery, line.place(1):
        nursery.start_soon(come, "who stays")
        await wait_all_tasks_blocked()
        with trio.move_on_after(1):
            await come("who leaves")
        nursery.start_soon(come, "an import", False)
        await trio.sleep(LONGEST_WAIT_SECONDS + 1)
        assert (ended, len(line)) == ([told], 1)
    await come("the next")
    assert ended[1:] == ["an import had a place", "the next had a place"]


async def test_a_caller_who_leaves_as_the_place_is_given_passes_it_on(autojump_clock: MockClock) -> None:
    line, leaver = HashingLine(1), trio.CancelScope()

    async def leave() -> None:
        with leaver:
            async with line.place(0):
                raise AssertionError("left before")

    async with trio.open_nursery() as nursery, line.place(0):
        nursery.start_soon(leave)
        await wait_all_tasks_blocked()
        leaver.cancel()  # in the same step in which the place is given
    with trio.fail_after(1):
        async with line.place(0):
            pass
