"""Pick the subject of a step: a client, user, role, session, code or token of a world.

Mostly one that exists and is live, sometimes not.
"""

from collections.abc import Sequence
from random import Random

from fuzz.shared.history import History
from fuzz.shared.initial_states import ROLES, SCOPES, SUPER_ADMINISTRATOR
from fuzz.shared.knowledge import KnownCode, KnownSession
from fuzz.shared.steps import Kind, Ref


class Picks:
    """The choices of one world."""

    def __init__(self, random: Random, history: History, trouble: float) -> None:
        self.random = random
        self.history = history
        self.trouble = trouble
        """Share of unusual choices."""
        self.clients = tuple(history.initial_state.clients)
        self.people = history.initial_state.people

    def pick_token(self, session: KnownSession | None, kind: Kind) -> Ref | None:
        """Pick one of a session's tokens, mostly of the current pair."""
        if session is None or self.random.random() < self.trouble * 0.1:
            return None
        back = 0 if self.random.random() < 0.7 else self.random.randrange(len(session.pairs))
        return Ref(kind, session.number, back)

    def scope(self) -> str | None:
        wide, wider = ",".join(SCOPES), ",".join((*SCOPES, "user.root"))
        narrow = (None, None, "", "user.read", "user.mail", ",".join(SCOPES[:2]))
        return self.random.choice((*narrow, wide, wider))

    def deputies(self) -> list[str]:
        """Return the users with a role, by their current names."""
        return [name for name, user in self.history.names.items() if user.roles]

    def is_super_administrator(self, name: str) -> bool:
        """Whether this user has the role that allows everything."""
        return SUPER_ADMINISTRATOR in self.history.names[name].roles

    def administrator(self) -> Ref | None:
        """Pick a caller: mostly the operator; else a signed-in user, preferably one with a role."""
        if self.history.programs and self.random.random() < 0.2:
            return self.program()
        users = self.history.users
        live = [login for login in self.history.logins[-8:] if not login.seems_over]
        deputies = [login for login in live if (user := users.get(login.user_id or "")) and user.roles]
        if self.random.random() < (0.5 if deputies else 0.85):
            return None
        login = self.session(deputies or self.history.logins)
        return None if login is None else Ref(Kind.ACCESS, login.number)

    def program(self) -> Ref | None:
        """Pick a personal access token, mostly a live one."""
        token = self.session(self.history.programs)
        return None if token is None else Ref(Kind.ACCESS, token.number)

    def client(self, *, spare: bool = False) -> str:
        names: tuple[str, ...] = self.clients
        if spare:
            names = (*names, "spare", "console")
        elif self.random.random() < self.trouble * 0.2:
            names = ("console", "mobile", "nobody", "spare")
        return self.random.choice(names)

    def session(self, pool: Sequence[KnownSession], *, refreshable: bool = False) -> KnownSession | None:
        """Pick one of the latest sessions, mostly a live one."""
        recent = pool[-8:]
        if self.random.random() < 0.88:
            going = [session for session in recent if not session.seems_over]
            if refreshable:
                going = [session for session in going if session.pairs[-1].refresh is not None]
            recent = going or recent
        return self.random.choice(recent) if recent else None

    def code(self) -> KnownCode | None:
        """Pick one of the latest codes, mostly an unused one."""
        recent = self.history.issued[-6:]
        if self.random.random() < 0.8:
            recent = [code for code in recent if not code.tried] or recent
        return self.random.choice(recent) if recent else None

    def person(self) -> str:
        """Pick a user, mostly one of the initial users, by the current name."""
        names = tuple(self.history.names)
        if self.random.random() < 0.4 and len(names) > len(self.people) + 1:
            return self.random.choice(names)
        return self.random.choice(self.people)

    def role(self) -> str:
        """Pick a role, mostly an existing one."""
        there = [role for role in ROLES if role in self.history.roles]
        return self.random.choice(there if there and self.random.random() < 0.7 else ROLES)
