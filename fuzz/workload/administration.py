"""Generate actions of administrators on sessions, accounts, roles and clients, alone and in batches."""

from random import Random
from typing import Final

from msgspec.structs import replace

from fuzz.shared.calls import BY_THE_RUNTIME, Verb
from fuzz.shared.history import BEGINS_A_CLIENT, BEGINS_AN_ACCOUNT
from fuzz.shared.initial_states import (
    ADMINISTRATOR,
    BATCHES,
    CHANGES,
    GIVEN_SECRETS,
    KEEP_SECONDS,
    PEOPLE,
    PERMISSIONS,
    ROLES,
    SEEN,
    USER_CHANGES,
    WARNINGS,
)
from fuzz.shared.odd_fields import ODD_FIELDS
from fuzz.shared.steps import CHANGES_A_RECORD, Kind, Ref, Step, Twist
from fuzz.workload.picks import Picks
from fuzz.workload.weights import ABOUT_ROLES, ABOUT_USERS, ODD_FIELDS_SHARE, SEEN_SHARE

MEETING_TWO_SECRETS: Final = (Verb.DISABLE_CLIENT, Verb.FORCE_OUT_CLIENT, Verb.GIVE_SECRET)
"""Operations that are best tried on a client whose old secret still works."""


class Administration:
    """The administrators of one world."""

    def __init__(self, random: Random, picks: Picks, *, is_of_the_rules: bool) -> None:
        self.random = random
        self.is_of_the_rules = is_of_the_rules
        self.picks = picks
        self.history = picks.history

    def step(self, step: Step) -> Step:
        """Complete a step of an administrator."""
        step = self._in_order(step)
        return self.with_odd_fields(step) if self.is_of_the_rules else step

    def with_odd_fields(self, step: Step) -> Step:
        """Add, sometimes, odd values to the sent fields, or values that the caller claims to have seen."""
        random, rows = self.random, ODD_FIELDS.get(step.verb)
        if rows is not None and random.random() < ODD_FIELDS_SHARE:
            step = replace(step, odd=random.choice(tuple(rows)))
        if step.verb in CHANGES_A_RECORD and random.random() < SEEN_SHARE:
            step = replace(step, seen="as-sent" if step.odd is not None else random.choice(SEEN))
        return step

    def _in_order(self, step: Step) -> Step:
        if step.verb in (Verb.SWEEP, Verb.END_SESSION):
            return self._about_a_session(step)
        if step.verb in ABOUT_USERS:
            return self._about_a_user(step)
        if step.verb is Verb.BATCH:
            return self._batch(step)
        if step.verb is Verb.FORCE_OUT_ALL:
            return replace(step, by=self.picks.administrator())
        if step.verb is Verb.ACKNOWLEDGE:
            return replace(step, change=self.random.choice(WARNINGS), by=self.picks.administrator())
        if step.verb in ABOUT_ROLES:
            change = None if step.verb is Verb.DELETE_ROLE else self.random.choice(tuple(PERMISSIONS))
            if step.verb is Verb.IMPORT_ROLE and self.random.random() < 0.2:
                change = None
            return replace(step, role=self.picks.role(), change=change, by=self.picks.administrator())
        return self._about_a_client(step)

    def _about_a_session(self, step: Step) -> Step:
        random = self.random
        pool = self.history.logins if random.random() < 0.2 else self.history.grants
        session = self.picks.session(pool)
        if step.verb is Verb.SWEEP and random.random() < 0.7:
            rotated = [one for one in pool[-8:] if one.spent_at]
            session = random.choice(rotated) if rotated else session
        machines = [one for one in pool[-8:] if one.user_id is None]
        if step.verb is Verb.END_SESSION and machines and random.random() < 0.2:
            session = random.choice(machines)
        step = replace(step, token=None if session is None else Ref(Kind.ACCESS, session.number))
        return step if step.verb is Verb.SWEEP else replace(step, by=self.picks.administrator())

    def _about_a_user(self, step: Step) -> Step:
        random, names = self.random, self.history.names
        user = ADMINISTRATOR if random.random() < 0.06 else self.picks.person()
        deputies = self.picks.deputies()
        if deputies and random.random() < 0.6:
            user = random.choice(deputies)
        disabled = [name for name, one in names.items() if not one.enabled]
        if step.verb is Verb.ENABLE_USER and disabled and random.random() < 0.8:
            user = random.choice(disabled)
        step = replace(step, user=user, by=self.picks.administrator())
        if step.verb is Verb.WITHDRAW_FOR:
            return replace(step, client=self.picks.client())
        if step.verb is Verb.IMPORT_USER:
            step = replace(step, change=random.choice((None, "as-it-is", "as-it-is", "another-password")))
        if step.verb in BEGINS_AN_ACCOUNT and random.random() < 0.3:
            return replace(step, role=self.picks.role())
        if step.verb is not Verb.CHANGE_USER:
            return step
        if user == ADMINISTRATOR and random.random() < 0.5:
            return replace(step, change="no-role")
        return replace(step, change=random.choice(USER_CHANGES), role=self.picks.role())

    def _about_a_client(self, step: Step) -> Step:
        random, verb = self.random, step.verb
        change = None
        if verb is Verb.CHANGE_CLIENT:
            change = random.choice((*CHANGES, "today", "today"))
        elif verb is Verb.IMPORT_CLIENT:
            change = random.choice((None, "as-it-is", *CHANGES))
        elif verb is Verb.RESET_SECRET:
            change = random.choice((None, *KEEP_SECONDS))
        elif verb is Verb.GIVE_SECRET:
            change = random.choice((None, None, *GIVEN_SECRETS))
        elif verb is Verb.NOTE_SECRET_USE:
            step = replace(step, twist=random.choice((None, None, Twist.OLD_SECRET, Twist.WRONG_SECRET)))
        client = self.picks.client(spare=verb in BEGINS_A_CLIENT)
        issued = self.history.issued
        disabled = [name for name, one in self.history.clients.items() if not one.enabled and not one.deleted]
        with_two = [name for name, one in self.history.clients.items() if one.old_until and one.enabled]
        if verb in MEETING_TWO_SECRETS and with_two and random.random() < 0.5:
            client = random.choice(with_two)
        elif verb is Verb.ENABLE_CLIENT and disabled and random.random() < 0.8:
            client = random.choice(disabled)
        elif verb not in BEGINS_A_CLIENT and issued and not issued[-1].tried and random.random() < 0.6:
            client = issued[-1].client_id
            if verb is Verb.CHANGE_CLIENT:
                change = random.choice(("one-uri", "read-only", "no-scope", change))
        if verb in BY_THE_RUNTIME:
            return replace(step, client=client, waited=random.choice((0, 0, 1_000, 60_000)))
        return replace(step, client=client, change=change, by=self.picks.administrator())

    def _batch(self, step: Step) -> Step:
        """Complete a batch, done whole or not at all; its parts are mostly of one kind."""
        random = self.random
        change = random.choice((*BATCHES, *("another-administrator",) * 4, *("give-role", "take-role") * 2))
        step = replace(step, change=change, by=self.picks.administrator())
        if change == "delete-clients":
            client, other = random.sample((*self.picks.clients, "spare"), 2)
            return replace(step, client=client, other=other)
        if change in ("delete-roles", "change-roles"):
            role, other = random.sample(ROLES, 2)
            return replace(step, role=role, other=other)
        if change in ("give-role", "take-role"):
            # Not to the caller: the interface refuses it, and the rules do not.
            own = self.history.sessions.get(step.by.number) if step.by is not None else None
            users = self.history.names.items()
            names = [name for name, one in users if own is None or one.user_id != own.user_id]
            if len(names) > 1:
                user, other = random.sample(names, 2)
                return replace(step, user=user, other=other, role=self.picks.role())
        if change == "register-twice":
            return replace(step, client=self.picks.client(spare=True))
        if change == "another-administrator":
            able = [name for name in self.picks.deputies() if self.picks.is_super_administrator(name)]
            first = random.choice(able or [self.picks.person()])
            there = random.choice([*self.history.names] or [self.picks.person()])
            return replace(step, by=None, user=first, other=there)
        if change in ("delete-people", "invite-people"):
            others = (ADMINISTRATOR, *PEOPLE, *self.picks.deputies())
            return replace(step, user=self.picks.person(), other=random.choice(others))
        return replace(step, user=self.picks.person(), role=self.picks.role())

    def appointments(self) -> list[Step]:
        """Return a beginning in which each user gets a different role: they will act on one another."""
        random = self.random
        kinds = (("roles",), ("people", "people", "helpdesk"), ("clients", "sessions", "nothing"))
        allowed = random.sample([random.choice(kind) for kind in kinds], len(kinds))
        steps = [
            step
            for name, role, change in zip(PEOPLE, ROLES, allowed, strict=True)
            for step in (
                Step(number=0, at=0, verb=Verb.REGISTER_USER, user=name),
                Step(number=0, at=0, verb=Verb.REGISTER_ROLE, role=role, change=change),
                Step(number=0, at=0, verb=Verb.CHANGE_USER, user=name, role=role, change="role"),
            )
        ]
        if random.random() < 0.5:
            # Two of them have what the third may do, too.
            two = Step(number=0, at=0, verb=Verb.BATCH, user=PEOPLE[0], other=PEOPLE[1], change="give-role")
            steps.append(replace(two, role=ROLES[-1]))
        return steps

    def actions_of_deputy(self, name: str, by: Ref) -> list[Step]:
        """Return actions that a user with a role may or may not do, mostly on others with a role."""
        random = self.random
        others = [one for one in self.picks.deputies() if one != name]
        other = random.choice(others) if others else self.picks.person()
        step = Step(number=0, at=0, verb=Verb.CHANGE_USER, by=by, user=other, role=self.picks.role())
        granted = random.choice(tuple(PERMISSIONS))
        actions = [
            *(
                replace(step, verb=verb, client=self.picks.client() if verb is Verb.WITHDRAW_FOR else None)
                for verb in sorted(ABOUT_USERS - {Verb.CHANGE_USER})
            ),
            *(replace(step, change=change) for change in ("renamed", "new-phone", "must-change")),
            *(replace(step, change=change) for change in ("role", "another-role", "no-role", "promoted")),
            *(replace(step, verb=verb, change=granted) for verb in (Verb.REGISTER_ROLE, Verb.CHANGE_ROLE)),
            replace(step, verb=Verb.BATCH, change="delete-people", other=self.picks.person()),
            replace(step, change="no-role", user=name),
            replace(step, verb=Verb.FORCE_OUT_USER, user=ADMINISTRATOR),
            Step(number=0, at=0, verb=Verb.FORCE_OUT_ALL, by=by),
            Step(number=0, at=0, verb=Verb.ACKNOWLEDGE, by=by, change=random.choice(WARNINGS)),
        ]
        machines = [one for one in self.history.grants[-8:] if one.user_id is None]
        actions += [
            Step(number=0, at=0, verb=Verb.END_SESSION, by=by, token=Ref(Kind.ACCESS, one.number))
            for one in (*machines[-1:], *self.history.logins[-3:], *self.history.programs[-2:])
        ]
        return random.sample(actions, 5)
