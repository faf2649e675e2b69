"""The initial state: administrators, clients and users, created directly in the store."""

from typing import Any, Final

from fuzz.model import Model, User as ModelUser
from fuzz.shared.calls import Verb
from fuzz.shared.core_answers import answer_of
from fuzz.shared.core_events import event_of
from fuzz.shared.initial_states import ADMINISTRATOR, BEGINNING_OF_TIME_MS
from fuzz.shared.invariants import EXPLAINED
from fuzz.shared.knowledge import KnownUser
from fuzz.shared.meaning import call_of
from fuzz.shared.seeds import SeededEntropy
from fuzz.shared.sheets import CHEAP
from fuzz.shared.steps import registrations_of
from fuzz.simulation.callers import Callers
from fuzz.simulation.exchanges import DESKS, GUEST
from fuzz.simulation.story import DESK_PASSWORD
from ostiary_core import events
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR
from ostiary_core.model.reply import UserKnown
from ostiary_net.turns.turns import Turns

ROOT_PASSWORD: Final = "password of the first administrator"
FIRST_PASSWORD: Final = "password 0"
"""Password of every user until they choose another."""


async def populate(turns: Turns, callers: Callers, model: Model) -> None:
    """Create the administrators, the clients and the users, without any mishap."""
    history = callers.history
    drawn = SeededEntropy(f"{callers.seed} beginning")
    callers.story.secrets.add(ROOT_PASSWORD)
    password_hash = {
        password: CHEAP.hash(password.encode(), salt=drawn.draw()[:16])
        for password in (ROOT_PASSWORD, DESK_PASSWORD, FIRST_PASSWORD)
    }

    def know(reply: Any, password: str) -> KnownUser:
        if not isinstance(reply, UserKnown):
            raise TypeError(f"an account could not be made: {reply}")
        user_id, username = reply.user.user_id, reply.user.username
        roles = frozenset(reply.user.role_ids)
        model.realm.users[user_id] = ModelUser(user_id, username, password, roles=roles)
        history.users[user_id] = KnownUser(user_id, username, password)
        return history.users[user_id]

    def register(name: str | None, password: str, **more: object) -> events.UserRegistered:
        fields = {"username": name, "name": name, "mustChangePassword": False, **more}
        by, hashed = events.Operator(), password_hash[password]
        return events.UserRegistered(caller=by, fields=fields, password_hash=hashed, entropy=drawn.draw())

    first = events.FirstAdministratorCreated(
        username=ADMINISTRATOR,
        password_hash=password_hash[ROOT_PASSWORD],
        must_change_password=False,
        entropy=drawn.draw(),
    )
    made = await turns.decide(first)
    history.names[ADMINISTRATOR] = know(made.reply, ROOT_PASSWORD)
    for name in (*DESKS, GUEST):
        roles = [] if name == GUEST else [SUPER_ADMINISTRATOR]
        made = await turns.decide(register(name, DESK_PASSWORD, roleIds=roles))
        know(made.reply, DESK_PASSWORD)
    for step in registrations_of(history.initial_state):
        call = call_of(history, step)
        event: events.Event
        if step.verb is Verb.REGISTER_USER:
            event = register(call.username, FIRST_PASSWORD)
        else:
            event = event_of(call, drawn.draw(), Instant(BEGINNING_OF_TIME_MS))
        answer = answer_of(call, await turns.decide(event))
        if model.judge(call, BEGINNING_OF_TIME_MS, answer).answer != answer:
            callers.story.fault(EXPLAINED, f"the beginning: {call.verb} is answered {answer}")
        history.note(0, call, BEGINNING_OF_TIME_MS, answer)
        callers.story.remember(call, answer)
