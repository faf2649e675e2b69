"""A recorded life of a small backend: events that touch every table, in waves.

Inside a wave no event presents what another of it is answered, as nobody can: answers leave only after the
turn. So the events of a wave may come in one turn, each in its own, or cut in any other way.
"""

from dataclasses import dataclass, field
from functools import cache

from ostiary_core import Secret
from ostiary_core.events import (
    ClientDisabled,
    ClientEnabled,
    ConsentWithdrawn,
    Event,
    FirstAdministratorCreated,
    IntrospectionRequested,
    Operator,
    SignedOut,
    TextCodeRequested,
    UserDeleted,
    UserForcedOut,
)
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import CodeIssued, LoginIssued, TokensIssued
from ostiary_core.model.records import TextCodePurpose
from tests.core import asks, story

__all__ = ["FIRST_ADMINISTRATOR", "a_life", "origin_of"]

PEOPLE = ("alice", "bob", "carol")

FIRST_ADMINISTRATOR = FirstAdministratorCreated(
    username="root",
    password_hash=asks.hash_of("right"),
    must_change_password=False,
    entropy=asks.fresh_entropy(),
)


@dataclass
class Recorder(story.World):
    """A world that remembers every event it was asked, wave by wave."""

    waves: list[list[Event]] = field(default_factory=lambda: [[]])

    def when(self, event: Event) -> story.Outcome:
        self.waves[-1].append(event)
        return super().when(event)

    def next_wave(self) -> None:
        self.waves.append([])


def origin_of(place: int) -> Origin | None:
    """Where the event at this place came from; every fifth is the command line's."""
    if place % 5 == 4:
        return None
    return Origin(trace_id=f"trace {place}", source=f"203.0.113.{place % 250}", user_agent=f"agent {place}")


@cache
def a_life() -> tuple[tuple[Event, ...], ...]:
    """The same events each time, all at one instant: issued, rotated, repeated, replayed, ended, read."""
    world = Recorder()
    world.given(FIRST_ADMINISTRATOR, story.client("app"), story.client("other"))
    world.given(*(asks.user(name, phone=f"+1555010{place}") for place, name in enumerate(PEOPLE)))
    world.next_wave()
    logins = {name: world.sign_in(name).then(LoginIssued) for name in PEOPLE}
    world.sign_in("alice", "wrong")
    world.when(asks.machine(world.basic("other")))
    world.when(asks.machine(asks.credentials("app", "a wrong secret")))
    world.next_wave()
    codes = {
        (name, client_id): story.code_in(
            world.when(asks.approve(logins[name], client_id=client_id)).then(CodeIssued)
        )
        for name in PEOPLE
        for client_id in ("app", "other")
    }
    world.next_wave()
    pairs = {
        name: world.when(asks.redeem(world.basic(), codes[name, "app"])).then(TokensIssued) for name in PEOPLE
    }
    kept = world.when(asks.redeem(world.basic("other"), codes["bob", "other"])).then(TokensIssued)
    world.when(asks.redeem(world.basic(), codes["bob", "app"]))
    world.when(asks.redeem(world.basic("other"), codes["alice", "other"], verifier="x" * 43))
    world.when(asks.redeem(world.basic("other"), codes["alice", "other"]))
    world.next_wave()
    rotated = world.when(asks.refresh(world.basic(), pairs["alice"])).then(TokensIssued)
    world.when(asks.refresh(world.basic(), pairs["alice"]))
    world.when(asks.refresh(world.basic(), pairs["bob"]))
    world.when(asks.refresh(world.basic(), pairs["bob"], user_agent="a thief"))
    world.when(asks.refresh(world.basic(), pairs["carol"], scopes=("more",)))
    world.when(asks.refresh(world.basic("other"), pairs["carol"]))
    for name in PEOPLE:
        world.when(IntrospectionRequested(credentials=world.basic("app"), token=pairs[name].access_token))
    world.when(asks.login_refresh(login_token(logins["bob"])))
    world.next_wave()
    world.when(asks.refresh(world.basic(), rotated))
    world.when(asks.revoke(world.basic("app"), kept.access_token))
    world.when(asks.revoke(world.basic("other"), kept.access_token))
    world.when(asks.refresh(world.basic("other"), kept))
    world.when(
        TextCodeRequested(
            caller=None,
            purpose=TextCodePurpose.RESET_PASSWORD,
            phone="+15550100",
            entropy=asks.fresh_entropy(),
        )
    )
    world.when(ConsentWithdrawn(caller=asks.signed_in(logins["carol"]), client_id="app"))
    world.when(SignedOut(caller=asks.signed_in(logins["carol"])))
    world.when(SignedOut(caller=asks.signed_in(logins["carol"])))
    world.when(UserForcedOut(caller=Operator(), user_id=world.user_ids["alice"]))
    world.given(ClientDisabled(caller=Operator(), client_id="other"))
    world.given(ClientEnabled(caller=Operator(), client_id="other"))
    world.when(UserDeleted(caller=Operator(), user_id=world.user_ids["bob"]))
    world.given(asks.user("Bob"))
    return tuple(tuple(wave) for wave in world.waves)


def login_token(login: LoginIssued) -> Secret:
    """The refresh token of a login session."""
    assert login.tokens.refresh_token is not None
    return login.tokens.refresh_token
