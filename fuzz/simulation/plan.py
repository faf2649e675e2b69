"""A plan: who sends which request at which second to which instance, and its mishaps.

A line is a step as in the sequences, and a mishap. All further choices are drawn from the line's own number,
so that other lines can be deleted around it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from fuzz.shared.json_lines import read_lines, write_lines
from fuzz.shared.steps import Natural, Step, check_step


class Fate(StrEnum):
    """The fate of a request, or of its answer."""

    CUT_BEFORE = "cut-before"
    """The connection is cut before the request is whole: it must have no effect."""
    CUT_IN = "cut-in"
    """The connection is cut in the middle of the answer."""
    LOST = "answer-lost"
    """The request arrives, and its answer is lost."""
    STORE_FAILS = "store-fails"
    """The store fails before it commits."""
    COMMIT_UNHEARD = "commit-unheard"
    """The store commits, and its answer is lost."""
    STORE_AWAY = "store-away"
    """The store commits, its answer is lost, and it stands still until the grace is over."""
    CRASH_BEFORE = "crash-before-commit"
    CRASH_AFTER = "crash-after-commit"


class Manner(StrEnum):
    """Extra header fields by kind of caller, which change only an answer's language."""

    CHINESE = "chinese"
    KLINGON = "klingon"
    ELSEWHERE = "elsewhere"
    """The caller is in another time zone."""
    NOWHERE = "nowhere"
    OWN_PAGE = "own-page"
    """A script of a page of this server."""
    OTHER_PAGE = "other-page"
    """A script of another site's page with a stolen token; no browser sends a form this way."""


RETRIES_MS: Final = (0, 10, 2_000, 20_000, 29_000, 29_000, 30_000, 30_001)
"""Milliseconds before a caller retries: mostly up to the end of a refresh's grace, or just past it."""
AWAY_RETRY_MS: Final = 29_000
"""Milliseconds before a retry while the store is away; the retry is decided after the grace."""
AT_THE_STORE: Final = (
    *(Fate.STORE_FAILS, Fate.COMMIT_UNHEARD, Fate.STORE_AWAY, Fate.CRASH_BEFORE, Fate.CRASH_AFTER),
)


class Mishap(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The troubles around one step."""

    instance: Natural = 0
    new: bool = False
    """Over a new connection, not over a used one."""
    form: bool = False
    """Credentials in the form, not by Basic."""
    fate: Fate | None = None
    retry_ms: int | None = None
    """Milliseconds before the caller retries if no answer came."""
    race: int = 1
    """Number of copies sent at once, over all instances."""
    two_agents: bool = False
    """Every other copy of a race has another User-Agent."""
    pipelined: bool = False
    """The whole race in one write over one connection."""
    mixed: bool = False
    """Every other request of a race at the token service is an introspection."""
    torn: int = 1
    """Number of pieces in which the request is sent."""
    slow: bool = False
    """The answer is read a few bytes at a time."""
    clock_ms: int = 0
    """Milliseconds by which the instance's clock is set wrong before this step."""
    stall_ms: int = 0
    """Milliseconds that the instance's store stands still from now on."""
    pause_ms: int = 0
    """Milliseconds that the instance's process stands still while the request lies in its socket."""
    overtaken: bool = False
    """The store stands still between this request's read and write.

    For a sign-in, an administrator resets the password meanwhile, at another instance.
    """
    crash_ms: int | None = None
    """Milliseconds after the step's beginning at which the instance crashes."""
    garbage: bool = False
    """A stranger sends meaningless bytes at the same time."""
    proxied: bool = False
    """The request comes through the trusted proxy."""
    spoofed: bool = False
    """The request claims to come from another address."""
    manner: Manner | None = None
    page: bool = False
    """The call is made in a browser, by the form of a page, if one exists."""
    sheet: bool = False
    """The registration is in a sheet that is imported."""
    picture: bool = False
    """The caller uploads a picture at the same time."""
    malformed: bool = False
    """A stranger sends the same request with a mistake in it at the same time."""
    forged: bool = False
    """A stranger enters codes before it, with forged tickets of the user who signs in."""
    later_word: bool = False
    """A later release on the same store replaces every stored reason with a word of its own."""
    two_desks: bool = False
    """Every other request of a race comes from another administrator."""
    hurry: bool = False
    """The next line does not wait for this one."""

    def __str__(self) -> str:
        """Return the mishaps as text for human readers."""
        calm = Mishap()
        wrong = {name: value for name, value in asdict(self).items() if value != getattr(calm, name)}
        words = (name if value is True else f"{name}={value}" for name, value in wrong.items())
        return f"({', '.join(words)})" if wrong else ""


CALM: Final = Mishap()
"""A mishap without any trouble."""


class Line(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a plan."""

    step: Step
    mishap: Mishap = CALM

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()


class Header(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The first line of a plan."""

    seed: str
    story: tuple[str, ...] = ()
    """Story of the run, for human readers."""


def write(seed: str, lines: Iterable[Line], story: Iterable[str] = ()) -> str:
    """Return a plan as text."""
    return write_lines(Header(seed, tuple(story)), lines)


def read(text: str) -> tuple[str, list[Line]]:
    """Return the seed and the lines of a plan. Raises `ValueError` with the number of a wrong line."""
    header, lines = read_lines(text, Header, Line, _check)
    return header.seed, lines


def _check(before: Line | None, line: Line) -> None:
    check_step(None if before is None else before.step, line.step)


# --- the mix of a seed


@dataclass(frozen=True, slots=True)
class Swarm:
    """The mix of one seed: which faults occur, and how often (swarm testing)."""

    instances: int
    on_file: bool
    lanes: tuple[bool, ...]
    sweep_seconds: float
    offsets_ms: tuple[int, ...]
    turns: int
    rates: dict[str, float]
    free_guesses: int
    """Number of wrong passwords from one address without a delay."""
    window_scale: float
    """Factor on the limits of requests a minute."""
    is_https: bool = False
    """Whether browsers come over https, which ends at the proxy."""

    def mishap(self, random: Random) -> Mishap:
        """Draw the mishap of one step."""

        def happens(name: str) -> bool:
            return random.random() < self.rates.get(name, 0.0)

        fates = [name for name in Fate if happens(name)]
        fate = random.choice(fates) if fates else None
        race = random.choice((2, 2, 2, 3, 3, 5, 20)) if happens("race") else 1
        return Mishap(
            instance=random.randrange(self.instances),
            new=happens("new"),
            form=random.random() < 0.3,
            fate=fate,
            retry_ms=_draw_retry_ms(fate, random),
            race=race,
            two_agents=race > 1 and random.random() < 0.2,
            pipelined=race > 1 and random.random() < 0.3,
            mixed=race > 1 and random.random() < 0.3,
            torn=random.choice((2, 3, 4)) if happens("torn") else 1,
            slow=happens("slow"),
            clock_ms=random.choice((-60_000, -5_000, -1_000, -1, 1, 1_000, 20_000))
            if happens("clock")
            else 0,
            stall_ms=random.choice((500, 4_000, 8_000, 20_000, 40_000)) if happens("stall") else 0,
            overtaken=random.random() < 0.1,
            crash_ms=random.choice((0, 0, 1, 3, 50)) if happens("crash") else None,
            garbage=happens("garbage"),
            proxied=random.random() < 0.2,
            spoofed=random.random() < 0.1,
            hurry=happens("hurry"),
            manner=random.choice(tuple(Manner)) if random.random() < 0.3 else None,
            page=happens("page"),
            sheet=happens("sheet"),
            picture=happens("picture"),
            malformed=happens("malformed"),
            forged=happens("forged"),
            later_word=happens("later word"),
            two_desks=race > 1 and random.random() < 0.3,
            pause_ms=random.choice((2_000, 40_000)) if random.random() < 0.03 else 0,
        )


def _draw_retry_ms(fate: Fate | None, random: Random) -> int | None:
    retry_ms = random.choice(RETRIES_MS) if random.random() < 0.7 else None
    return AWAY_RETRY_MS if fate is Fate.STORE_AWAY else retry_ms


KINDS: Final[dict[str, tuple[float, ...]]] = {
    "new": (0.1, 0.5, 1.0),
    Fate.CUT_BEFORE: (0.02, 0.1),
    Fate.CUT_IN: (0.02, 0.1),
    Fate.LOST: (0.05, 0.2),
    **dict.fromkeys((each for each in AT_THE_STORE if each is not Fate.STORE_AWAY), (0.02, 0.08)),
    "race": (0.1, 0.4),
    "torn": (0.1, 0.4),
    "slow": (0.05, 0.2),
    "clock": (0.02, 0.1),
    "stall": (0.02, 0.1),
    "crash": (0.01, 0.05),
    "garbage": (0.03, 0.1),
    "hurry": (0.2, 0.6),
    "page": (0.2, 0.6),
    "sheet": (0.3, 0.8),
    "picture": (0.02, 0.1),
    "malformed": (0.3, 0.9),
}
"""Probabilities to choose from for each kind of trouble, in seeds that have it."""
NEWER_KINDS: Final[dict[str, tuple[float, ...]]] = {
    Fate.STORE_AWAY: (0.05, 0.15),
    "forged": (0.2, 0.6),
    "later word": (0.02, 0.1),
}
"""Probabilities of kinds that are drawn last, so that the worlds of older kept plans stay the same."""


def swarm_of(random: Random) -> Swarm:
    """Draw the mix of a seed."""
    instances = random.choice((1, 2, 2, 3))
    skew = random.choice((0, 0, 300, 20_000))
    swarm = Swarm(
        instances=instances,
        on_file=random.random() < 0.7,
        lanes=tuple(random.random() < 0.7 for _ in range(instances)),
        sweep_seconds=random.choice((600.0, 3_600.0, 86_400.0)),
        offsets_ms=tuple(random.randint(-skew, skew) for _ in range(instances)),
        turns=random.choice((40, 70, 110)),
        rates=_draw_rates(KINDS, random),
        free_guesses=random.choice((3, 20, 20, 1_000_000)),
        window_scale=random.choice((0.02, 100.0, 100.0, 100.0)),
        is_https=random.random() < 0.4,
    )
    swarm.rates.update(_draw_rates(NEWER_KINDS, random))
    return swarm


def _draw_rates(kinds: dict[str, tuple[float, ...]], random: Random) -> dict[str, float]:
    return {name: random.choice(rates) for name, rates in kinds.items() if random.random() < 0.5}
