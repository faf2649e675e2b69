"""One session behind two instances, a primary and a standby, as a transition system of Z3.

An instance reads the session and decides, writes under the revision that it read, waits until the standby has
the write, and answers. At any moment the standby may take over, an instance may give up waiting, and the
sweeper may erase the salt. Numbers are unbounded: generations, instants and writes without end.

Two worlds are one system. With `has_thief`, anybody presents any token at any time, and the session is
revoked at will. Without, its client alone asks: it sends the newest token it was given, again and again until
it is answered, each time within the grace of the use that took effect and from the same User-Agent.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Final, Self, get_type_hints

import z3

from fuzz.proof.refresh_rule import AHEAD_MS, Outcome, Presented, Rule, outcome

NONE: Final = -1
IDLE, DECIDED, WRITTEN = range(3)
ROTATE, REPEAT, END = range(3)

Number = Annotated[Any, z3.Int]
Flag = Annotated[Any, z3.Bool]
"""Formulas, with what makes a variable of their sort."""


@dataclass(frozen=True)
class Variables:
    """Formulas under the names of fields; a group is a field of several."""

    @classmethod
    def named(cls, prefix: str) -> Self:
        """A variable for each field, and for those of groups."""
        made: dict[str, Any] = {}
        for field, kind in get_type_hints(cls, include_extras=True).items():
            is_group = isinstance(kind, type) and issubclass(kind, Variables)
            made[field] = (kind.named if is_group else kind.__metadata__[0])(f"{prefix}.{field}")
        return cls(**made)

    def flat(self) -> Iterator[tuple[str, Any]]:
        """All formulas, with their names."""
        for field in fields(self):
            value = getattr(self, field.name)
            inner = value.flat() if isinstance(value, Variables) else (("", value),)
            for name, formula in inner:
                yield f"{field.name}.{name}".rstrip("."), formula


@dataclass(frozen=True)
class Stored(Variables):
    """The session as one database has it."""

    generation: Number
    rotated_at: Number
    salt: Number
    """The draw that the present pair was derived with."""
    has_salt: Flag
    has_ended: Flag
    revision: Number
    drawn: Number
    """The draw that the watched generation was rotated with; NONE while it was not."""
    writes: Number
    """How many writes led here: the place in the database's log."""


@dataclass(frozen=True)
class Turn(Variables):
    """What an instance has in hand."""

    phase: Number
    kind: Number
    spent: Number
    """The generation of the token that was presented."""
    salt: Number
    """The draw behind the pair that is to be answered."""
    rotated_at: Number
    revision: Number
    """That was read."""
    writes: Number
    """The place of its own write in the log, once it has written."""


@dataclass(frozen=True)
class World(Variables):
    """Everything there is."""

    primary: Stored
    standby: Stored
    first: Turn
    second: Turn
    next_draw: Number
    held: Number
    """The newest generation that the client was given."""
    answered: Number
    """The draw behind the pair that was answered for the watched generation; NONE while none was."""
    has_clash: Flag
    """Whether another pair was answered for it afterwards."""
    ending_answered: Flag
    """Whether somebody was told that the session ended."""


@dataclass(frozen=True)
class Design:
    """How the server goes about it; each mistake that must be found turns one of these."""

    rule: Rule = outcome
    guards_revision: bool = True
    waits_for_standby: bool = True
    derives_retries: bool = True
    """Whether a safe retry is answered with the draw that was kept."""
    confirms_retries: bool = True
    """Whether a safe retry is answered after a write of its own, the audit trail's."""
    judges_by_arrival: bool = True
    drops_turns: bool = True
    """Whether a turn that began on one primary is over once another has taken over."""


Step = Callable[[World], tuple[Any, World]]
"""When it may be taken, and the world that follows."""

CHOSEN: Final = (
    *map(z3.Int, ("token_generation", "earliest", "latest", "now", "arrived_at")),
    z3.Bool("same_agent"),
)
"""What whoever asks, the network and the clock choose at each step."""

_FIRST, _SECOND = "first", "second"

GRACE: Final = z3.Int("grace")
EXPIRES_AT: Final = z3.Int("expires_at")
WATCHED: Final = z3.Int("watched")
"""Any one generation; what is shown of it holds for all."""


def beginnings(world: World) -> Any:
    """A session that was just started, whose client has its first pair."""
    stored, turns = world.primary, (world.first, world.second)
    return z3.And(
        stored.generation == 0,
        z3.Not(stored.has_ended),
        z3.Not(stored.has_salt),
        stored.salt == NONE,
        stored.drawn == NONE,
        stored.revision == 1,
        stored.writes == 0,
        *_alike(world.standby, stored),
        *(z3.And(turn.phase == IDLE, turn.kind == ROTATE) for turn in turns),
        world.next_draw == 0,
        world.held == 0,
        world.answered == NONE,
        z3.Not(world.has_clash),
        z3.Not(world.ending_answered),
    )


def constants() -> Any:
    """What is known of the numbers that never change."""
    return z3.And(GRACE >= 0, WATCHED >= 0)


def steps(design: Design, *, has_thief: bool) -> dict[str, Step]:
    """All that can happen, by name."""
    made: dict[str, Step] = {
        "the standby receives the log": _replicate,
        "the standby takes over": _fail_over(design),
        "the sweeper erases the salt": _erase_salt,
    }
    for which in (_FIRST, _SECOND):
        made |= {
            f"the {which} instance decides a refresh": _refresh(design, which, has_thief=has_thief),
            f"the {which} instance writes": _write(design, which),
            f"the {which} instance answers": _answer(design, which),
            f"the {which} instance gives up": _give_up(which),
        }
        if has_thief:
            made[f"the {which} instance decides a revocation"] = _revoke(which)
    return made


def _alike(one: Variables, other: Variables) -> Iterator[Any]:
    return (mine == yours for (_, mine), (_, yours) in zip(one.flat(), other.flat(), strict=True))


def _replicate(world: World) -> tuple[Any, World]:
    return z3.BoolVal(True), replace(world, standby=world.primary)


def _fail_over(design: Design) -> Step:
    def fail_over(world: World) -> tuple[Any, World]:
        after = replace(world, primary=world.standby)
        return z3.BoolVal(True), _without_turns(after) if design.drops_turns else after

    return fail_over


def _without_turns(world: World) -> World:
    return replace(world, first=_idle(world.first), second=_idle(world.second))


def _turn_of(world: World, which: str) -> Turn:
    return world.first if which == _FIRST else world.second


def _with_turn(world: World, which: str, turn: Turn) -> World:
    return replace(world, first=turn) if which == _FIRST else replace(world, second=turn)


def _idle(turn: Turn) -> Turn:
    return replace(turn, phase=z3.IntVal(IDLE))


def _erase_salt(world: World) -> tuple[Any, World]:
    stored = world.primary
    erased = replace(
        stored, has_salt=z3.BoolVal(False), revision=stored.revision + 1, writes=stored.writes + 1
    )
    return stored.has_salt, replace(world, primary=erased)


def _refresh(design: Design, which: str, *, has_thief: bool) -> Step:
    def decide(world: World) -> tuple[Any, World]:
        stored, turn = world.primary, _turn_of(world, which)
        token_generation, earliest, latest, now, arrived_at, same_agent = CHOSEN
        seen = Presented(
            token_generation,
            earliest,
            latest,
            now,
            same_agent,
            stored.generation,
            stored.rotated_at,
            EXPIRES_AT,
            stored.has_salt,
            stored.has_ended,
            GRACE,
        )
        judged = seen if design.judges_by_arrival else seen._replace(earliest=seen.now, latest=seen.now)
        result = design.rule(judged)
        kept = stored.salt if design.derives_retries else world.next_draw
        rotates = result == Outcome.ROTATED
        decided = Turn(
            phase=z3.IntVal(DECIDED),
            kind=z3.If(rotates, ROTATE, z3.If(result == Outcome.REPEATED, REPEAT, END)),
            spent=seen.token_generation,
            salt=z3.If(rotates, world.next_draw, kept),
            rotated_at=seen.now,
            revision=stored.revision,
            writes=turn.writes,
        )
        may_be = [
            turn.phase == IDLE,
            seen.earliest <= seen.latest,
            z3.Or(*(result == each for each in (Outcome.ROTATED, Outcome.REPEATED, Outcome.REPLAYED))),
        ]
        if not has_thief:
            is_in_time = z3.Or(
                seen.token_generation == stored.generation, arrived_at <= stored.rotated_at + GRACE
            )
            may_be += [
                seen.same_agent,
                seen.token_generation == world.held,
                seen.earliest <= arrived_at,
                arrived_at <= seen.latest,
                is_in_time,
                stored.rotated_at <= seen.now + AHEAD_MS,  # no clock was set back by more
            ]
        return z3.And(*may_be), replace(_with_turn(world, which, decided), next_draw=world.next_draw + 1)

    return decide


def _revoke(which: str) -> Step:
    def decide(world: World) -> tuple[Any, World]:
        stored, turn = world.primary, _turn_of(world, which)
        decided = replace(turn, phase=z3.IntVal(DECIDED), kind=z3.IntVal(END), revision=stored.revision)
        return z3.And(turn.phase == IDLE, z3.Not(stored.has_ended)), _with_turn(world, which, decided)

    return decide


def _write(design: Design, which: str) -> Step:
    def write(world: World) -> tuple[Any, World]:
        stored, turn = world.primary, _turn_of(world, which)
        writes = stored.writes + 1
        rotates, ends = turn.kind == ROTATE, turn.kind == END
        changed = Stored(
            generation=z3.If(rotates, turn.spent + 1, stored.generation),
            rotated_at=z3.If(rotates, turn.rotated_at, stored.rotated_at),
            salt=z3.If(rotates, turn.salt, stored.salt),
            has_salt=z3.If(rotates, True, z3.And(stored.has_salt, z3.Not(ends))),
            has_ended=z3.Or(ends, stored.has_ended),
            revision=z3.If(turn.kind == REPEAT, stored.revision, stored.revision + 1),
            drawn=z3.If(z3.And(rotates, turn.spent == WATCHED), turn.salt, stored.drawn),
            writes=writes,
        )
        may_be = [turn.phase == DECIDED]
        if design.guards_revision:
            may_be.append(z3.Or(turn.kind == REPEAT, turn.revision == stored.revision))
        place = writes if design.confirms_retries else z3.If(turn.kind == REPEAT, 0, writes)
        written = replace(turn, phase=z3.IntVal(WRITTEN), writes=place)
        return z3.And(*may_be), replace(_with_turn(world, which, written), primary=changed)

    return write


def _answer(design: Design, which: str) -> Step:
    def answer(world: World) -> tuple[Any, World]:
        turn = _turn_of(world, which)
        gives_pair = turn.kind != END
        of_watched = z3.And(gives_pair, turn.spent == WATCHED)
        may_be = [turn.phase == WRITTEN]
        if design.waits_for_standby:
            may_be.append(world.standby.writes >= turn.writes)
        after = replace(
            _with_turn(world, which, _idle(turn)),
            held=z3.If(z3.And(gives_pair, turn.spent + 1 > world.held), turn.spent + 1, world.held),
            answered=z3.If(of_watched, turn.salt, world.answered),
            has_clash=z3.Or(
                world.has_clash, z3.And(of_watched, world.answered != NONE, world.answered != turn.salt)
            ),
            ending_answered=z3.Or(world.ending_answered, turn.kind == END),
        )
        return z3.And(*may_be), after

    return answer


def _give_up(which: str) -> Step:
    def give_up(world: World) -> tuple[Any, World]:
        turn = _turn_of(world, which)
        return turn.phase != IDLE, _with_turn(world, which, _idle(turn))

    return give_up
