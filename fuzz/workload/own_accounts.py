"""Generate actions of users on their own account, and with codes from text messages."""

from random import Random
from typing import Final

from msgspec.structs import replace

from fuzz.shared.calls import WITH_A_CODE, Verb
from fuzz.shared.initial_states import ADMINISTRATOR, CHOICES, NUMBERS, PERMISSIONS, TOKEN_SECONDS
from fuzz.shared.steps import Kind, Ref, Step, Twist
from fuzz.workload.picks import Picks

_PAUSES_MS: Final = (0, 0, 0, 59_999, 60_000, 599_999, 600_000)
"""Milliseconds that users wait before they enter a code from a text message."""
_USED_BY: Final = {"clients": Verb.END_OLD_SECRET, "sessions": Verb.END_SESSION}
"""Operation that shows through the interface what a token allows; for other permissions, unlocking a user."""


class OwnAccounts:
    """The users' own accounts in one world."""

    def __init__(self, random: Random, picks: Picks, *, is_of_the_rules: bool) -> None:
        self.random = random
        self.picks = picks
        self.is_of_the_rules = is_of_the_rules

    def step(self, step: Step) -> Step:
        """Complete a step of a user who is signed in, or who cannot sign in."""
        random = self.random
        match step.verb:
            case Verb.CHOOSE:
                return replace(step, change=random.choice(tuple(CHOICES)))
            case Verb.SHOW_ACCOUNT:
                asked = random.choice((None, *PERMISSIONS))
                login = self.picks.session(self.picks.history.logins)
                own = None if login is None else Ref(Kind.ACCESS, login.number)
                return replace(step, change=asked, by=random.choice((own, self.picks.administrator())))
            case Verb.CREATE_TOKEN:
                return replace(step, change=random.choice(tuple(PERMISSIONS)), by=self._by_holder(step))
            case Verb.ACCEPT_INVITATION:
                return replace(step, user=self.picks.person())
            case Verb.NOTE_TOKEN_USE:
                return replace(step, by=random.choice((self.picks.program(), self.picks.administrator())))
            case Verb.END_OWN_SESSION:
                history = self.picks.history
                pools = (history.logins, history.grants, history.programs)
                session = self.picks.session(random.choice(pools))
                return replace(step, token=None if session is None else Ref(Kind.ACCESS, session.number))
            case Verb.BEGIN_FACTOR:
                return step
            case Verb.OFFER_FACTOR:
                return replace(step, token=self._ticket())
            case Verb.ENTER_FACTOR:
                return self._entry(replace(step, token=self._ticket()))
            case verb if verb in WITH_A_CODE:
                return self._entry(step)
            case Verb.CREATE_ADMINISTRATOR:
                return replace(step, user=random.choice((self.picks.person(), "another root", "root")))
            case _:
                numbers = [*NUMBERS, "theirs", "theirs"]
                if step.verb is Verb.REQUEST_TEXT_CODE and step.by is not None:
                    numbers.remove("malformed")  # a malformed number is refused before the login is checked
                return replace(step, user=self._reachable(), change=random.choice(numbers))

    def _by_holder(self, step: Step) -> Ref | None:
        """Return mostly the login of a user with a role, as others have no permission to give to a token."""
        names, latest = {ADMINISTRATOR, *self.picks.deputies()}, self.picks.history.logins[-8:]
        holders = [one for one in latest if not one.seems_over and one.username in names]
        if not holders or self.random.random() < 0.2:
            return step.by
        return Ref(Kind.ACCESS, self.random.choice(holders).number)

    def use_token(self, step: Step) -> list[tuple[int, Step]]:
        """Return uses of a new token, the last of it first.

        It is used, tries to make another token, and acts on its holder; then again after its holder lost
        permissions or it ended.
        """
        random, login = self.random, self.picks.history.sessions.get(step.by.number) if step.by else None
        holder = "nobody" if login is None or login.username is None else login.username
        token = Ref(Kind.ACCESS, step.number)
        used = self._use_of_token(token, step.change)
        above = Step(number=0, at=0, verb=Verb.RESET_PASSWORD, user=holder, by=token)
        less = replace(used, verb=Verb.CHANGE_USER, user=holder, change="no-role", by=None)
        endings = (Verb.FORCE_OUT_USER, Verb.RESET_PASSWORD, Verb.DISABLE_USER)
        ended = [replace(less, verb=verb, change=None) for verb in endings]
        ended.append(Step(number=0, at=0, verb=Verb.END_OWN_SESSION, by=step.by, token=token))
        ended.append(Step(number=0, at=0, verb=Verb.END_SESSION, token=token))
        until_ms = TOKEN_SECONDS[step.number % 2] * 1_000
        ways: list[list[tuple[int, Step]]] = [
            [(0, used), (0, less), (0, used)],
            [(0, used), (0, random.choice(ended)), (0, used)],
            [(0, used), (0, random.choice(ended)), (0, used)],
            [(1, used), (until_ms - 1, used)],
            [(0, replace(step, by=token)), (0, above)],
            [(0, used), (0, replace(used, verb=Verb.END_OLD_SECRET, change=None)), (0, used)],
        ]
        if holder == ADMINISTRATOR or random.random() < 0.3:
            return random.choice(ways)
        return self._token_of_new_role(step, holder)

    def _use_of_token(self, token: Ref, allowed: str | None) -> Step:
        """Return an action that needs a permission, mostly one that the token has."""
        if self.is_of_the_rules:
            return Step(number=0, at=0, verb=Verb.SHOW_ACCOUNT, change=allowed, by=token)
        verb = _USED_BY.get(allowed or "", Verb.UNLOCK_USER)
        user, client = self.picks.person(), self.picks.client()
        return Step(number=0, at=0, verb=verb, user=user, client=client, by=token)

    # --- second factors

    def is_asked_for_factor(self, name: str) -> bool:
        """Whether this user seems to need a second factor to sign in."""
        user = self.picks.history.names.get(name)
        if user is None:
            return False
        required_of = self.picks.history.initial_state.settings.second_factor_of
        is_administrator = bool(user.roles) or name == ADMINISTRATOR
        is_required = required_of == "everybody" or (required_of == "administrators" and is_administrator)
        return is_required or user.factor is not None

    def _entry(self, step: Step) -> Step:
        """Enter a code of a second factor: mostly the present one, sometimes a near, used or wrong one."""
        near = ("before", "after", "two-before", "two-after")
        change = self.random.choice(("now", "now", "now", *near, "again", "recovery", "recovery-again"))
        wrong = step.twist is None and self.random.random() < 0.15
        return replace(step, change=change, twist=Twist.WRONG_CODE if wrong else step.twist)

    def _ticket(self) -> Ref | None:
        numbers = list(self.picks.history.tickets)[-3:]
        return Ref(Kind.TICKET, self.random.choice(numbers)) if numbers else None

    def with_factor(self, step: Step) -> list[tuple[int, Step]]:
        """Return the next steps of a user with a second factor or one being set up, the next one last."""
        random, history = self.random, self.picks.history
        user = history.names.get(step.user or "")
        if step.twist is not None or user is None:
            return []
        if step.verb is Verb.BEGIN_FACTOR:
            confirmed = replace(step, verb=Verb.CONFIRM_FACTOR, change="now")
            signed_in = Step(number=0, at=0, verb=Verb.SIGN_IN, user=step.user)
            ticket = Ref(Kind.TICKET, step.number + 2)
            entered = replace(signed_in, verb=Verb.ENTER_FACTOR, token=ticket, change="now")
            if (user.roles or step.user == ADMINISTRATOR) and random.random() < 0.5:
                # Users cannot clear their own wrong codes from another session.
                unlocked = replace(signed_in, verb=Verb.UNLOCK_USER, by=step.by)
                wrong = replace(entered, twist=Twist.WRONG_CODE)
                guesses = [*[(0, wrong)] * 5, (30_000, signed_in), (0, confirmed)]
                return [(0, entered), (0, unlocked), *guesses]
            if random.random() < 0.4:
                # With two sessions, removing it in one ends the other.
                other = Step(number=0, at=0, verb=Verb.SHOW_ACCOUNT, by=Ref(Kind.ACCESS, step.number + 3))
                removed = replace(step, verb=Verb.REMOVE_FACTOR, change="recovery")
                refused = replace(removed, twist=Twist.WRONG_PASSWORD)
                last = [(0, other), (0, removed), (0, refused), (0, entered)]
                return [*last, (30_000, signed_in), (0, confirmed)]
            way = random.choice(("now", "recovery", "two-after"))
            again = [(0, replace(confirmed, change=way))] if way != "now" else []
            return [(random.choice((0, 30_000)), signed_in), (0, confirmed), *again]
        if not self.is_asked_for_factor(step.user or ""):
            return []
        entry = replace(step, verb=Verb.ENTER_FACTOR, token=Ref(Kind.TICKET, step.number), change="now")
        wrong = replace(entry, twist=Twist.WRONG_CODE)
        recovery = replace(entry, change="recovery")
        anew = replace(step, verb=Verb.SIGN_IN)
        # The code of the sign-in after the first entry.
        second = replace(entry, token=Ref(Kind.TICKET, step.number + 2))
        ended = replace(anew, verb=random.choice((Verb.FORCE_OUT_USER, Verb.FORCE_OUT_ALL)), agent=None)
        if user.factor is None:
            offered = replace(entry, verb=Verb.OFFER_FACTOR, change=None)
            by = Ref(Kind.ACCESS, step.number + 2)
            removed = Step(number=0, at=0, verb=Verb.REMOVE_FACTOR, by=by, change="recovery")
            shown = replace(removed, verb=Verb.SHOW_ACCOUNT, change=None)
            waits = random.choice((299_999, 300_000))
            set_up: list[list[tuple[int, Step]]] = [
                [(0, entry)],
                [(0, entry), (0, recovery), *[(0, wrong)] * random.choice((1, 4, 5))],
                [(0, entry), (0, ended)],
                [(0, entry), (0, offered)],
                [(0, offered), (0, entry)],
                [(waits, entry)],
                [(0, shown), (0, removed), (0, entry)],
            ]
            return [*random.choice(set_up), (0, offered)]
        ways: list[list[tuple[int, Step]]] = [
            [(0, entry)],
            [(0, entry), *[(0, wrong)] * random.choice((4, 5, 6))],
            [(random.choice((899_999, 900_000)), anew), *[(0, wrong)] * 5],
            [(30_000, entry), (30_000, entry)],
            [(0, replace(second, change="again")), (1, anew), (0, entry)],
            [(0, replace(second, change="recovery-again")), (1, anew), (0, recovery)],
            [(random.choice((299_999, 300_000)), entry)],
            [(0, entry), (0, ended)],
            [(60_000, replace(entry, change=random.choice(("two-before", "two-after"))))],
        ]
        return random.choice(ways)

    def steps_after_unlock(self, step: Step) -> list[tuple[int, Step]]:
        """Return steps of an unlocked user, the last one first.

        The user fails once more, is unlocked again, and enters the right password or code.
        """
        right = Step(number=0, at=0, verb=Verb.SIGN_IN, user=step.user)
        again = replace(step, by=None)
        if not self.is_asked_for_factor(step.user or ""):
            return [(0, right), (0, again), (0, replace(right, twist=Twist.WRONG_PASSWORD))]
        entry = replace(right, verb=Verb.ENTER_FACTOR, token=Ref(Kind.TICKET, step.number + 1), change="now")
        wrong = [(0, replace(entry, twist=Twist.WRONG_CODE))] * self.random.choice((1, 5))
        return [(0, entry), (0, again), *wrong, (0, right)]

    def _latest_login(self, name: str | None) -> list[Ref]:
        logins = [one for one in self.picks.history.logins if one.username == name]
        return [Ref(Kind.ACCESS, one.number) for one in logins[-1:]]

    def begin_with_forgiven_failures(self) -> list[tuple[int, Step]]:
        """Return a beginning in which a locked user is unlocked and signs in at once."""
        right = Step(number=0, at=0, verb=Verb.SIGN_IN, user=self.picks.people[0])
        unlocked = replace(right, verb=Verb.UNLOCK_USER)
        return [(0, replace(right, twist=Twist.WRONG_PASSWORD)), (0, unlocked), (0, right)]

    def begin_with_forgiven_codes(self) -> list[tuple[int, Step]]:
        """Return a beginning with a second factor, five wrong codes, an unlock, and the right code at once.

        The same code opens nothing more.
        """
        right = Step(number=0, at=0, verb=Verb.SIGN_IN, user=self.picks.people[0])
        entry = replace(right, verb=Verb.ENTER_FACTOR, token=Ref(Kind.TICKET, 1), change="now")
        set_up = [replace(entry, verb=Verb.OFFER_FACTOR, change=None), entry]
        if not self.is_asked_for_factor(self.picks.people[0]):
            begun = replace(right, verb=Verb.BEGIN_FACTOR, by=Ref(Kind.ACCESS, 1))
            set_up = [begun, replace(begun, verb=Verb.CONFIRM_FACTOR, change="now")]
        again = replace(entry, token=Ref(Kind.TICKET, len(set_up) + 2))
        steps = [*[replace(again, twist=Twist.WRONG_CODE)] * 5, replace(right, verb=Verb.UNLOCK_USER), again]
        repeated = replace(entry, token=Ref(Kind.TICKET, len(set_up) + len(steps) + 3), change="again")
        steps += [right, repeated]
        return [(0, right), *((0, step) for step in set_up), (30_000, right), *((0, step) for step in steps)]

    def begin_with_code_of_another(self) -> list[tuple[int, Step]]:
        """Return a beginning in which a user enters another user's code.

        Neither account had an ending.
        """
        first, second = self.picks.people[0], self.picks.people[-1]
        right = Step(number=0, at=0, verb=Verb.SIGN_IN, user=first)
        asked = Step(number=0, at=0, verb=Verb.REQUEST_TEXT_CODE, by=Ref(Kind.ACCESS, 1), change="new")
        entered = replace(asked, verb=Verb.CHANGE_PHONE, user=second, by=Ref(Kind.ACCESS, 2))
        return [(0, right), (0, replace(right, user=second)), (0, asked), (0, entered)]

    def begin_with_appointment(self) -> list[tuple[int, Step]]:
        """Return a beginning in which a user is appointed and then sets up the factor that this requires."""
        user, role = self.picks.people[0], self.picks.role()
        signed_in = Step(number=0, at=0, verb=Verb.SIGN_IN, user=user)
        made = Step(number=0, at=0, verb=Verb.REGISTER_ROLE, role=role, change="people")
        appointed = replace(made, verb=Verb.CHANGE_USER, user=user, change="role")
        begun = replace(signed_in, verb=Verb.BEGIN_FACTOR, by=Ref(Kind.ACCESS, 1))
        confirmed = replace(begun, verb=Verb.CONFIRM_FACTOR, change="now")
        changed = replace(made, verb=Verb.CHANGE_ROLE)
        return [(0, step) for step in (signed_in, made, changed, appointed, begun, confirmed)]

    def begin_with_many_tokens(self) -> list[tuple[int, Step]]:
        """Return a beginning with many personal tokens of the first administrator.

        One is made and ended; then as many as may live at a time are made, and one more.
        """
        right = Step(number=0, at=0, verb=Verb.SIGN_IN, user=ADMINISTRATOR)
        by = Ref(Kind.ACCESS, 1)
        made = replace(right, verb=Verb.CREATE_TOKEN, by=by, change="clients")
        ended = Step(number=0, at=0, verb=Verb.END_OWN_SESSION, by=by, token=Ref(Kind.ACCESS, 2))
        return [(0, step) for step in (right, made, ended, made, made, made)]

    def begin_with_token_of_superior(self) -> list[tuple[int, Step]]:
        """Return a beginning in which a user who may end sessions tries to end the first administrator's.

        Both a personal token and a login of theirs are tried.
        """
        first, role = self.picks.people[0], self.picks.role()
        right = Step(number=0, at=0, verb=Verb.SIGN_IN, user=ADMINISTRATOR)
        made = replace(right, verb=Verb.CREATE_TOKEN, by=Ref(Kind.ACCESS, 1), change="clients")
        allowed = Step(number=0, at=0, verb=Verb.REGISTER_ROLE, role=role, change="sessions")
        given = replace(allowed, verb=Verb.CHANGE_USER, user=first, change="role")
        ended = Step(number=0, at=0, verb=Verb.END_SESSION, by=Ref(Kind.ACCESS, 5))
        ends = [replace(ended, token=Ref(Kind.ACCESS, number)) for number in (2, 1)]
        return [(0, step) for step in (right, made, allowed, given, replace(right, user=first), *ends)]

    def set_up_when_appointed(self, step: Step) -> list[tuple[int, Step]]:
        """Return steps of a signed-in user with a new role, the last one first.

        The user signs in once more and sets up a second factor.
        """
        signed_in = Step(number=0, at=0, verb=Verb.SIGN_IN, user=step.user)
        offered = replace(signed_in, verb=Verb.OFFER_FACTOR, token=Ref(Kind.TICKET, step.number + 1))
        entered = replace(offered, verb=Verb.ENTER_FACTOR, change="now")
        before = self._latest_login(step.user)
        shown = [Step(number=0, at=0, verb=Verb.SHOW_ACCOUNT, by=by) for by in before]
        return [(0, each) for each in (*shown, entered, offered, signed_in)]

    def _token_of_new_role(self, step: Step, holder: str) -> list[tuple[int, Step]]:
        """Return steps that give a role, make a token with its permissions, and take the role, last first."""
        role, change = self.picks.role(), self.random.choice(("helpdesk", "people", "roles", "clients"))
        first = Step(number=0, at=0, verb=Verb.REGISTER_ROLE, role=role, change=change)
        given = replace(first, verb=Verb.CHANGE_USER, user=holder, change="role")
        before = [first, replace(first, verb=Verb.CHANGE_ROLE), given]
        token = Ref(Kind.ACCESS, step.number + len(before) + 1)
        used = Step(number=0, at=0, verb=Verb.SHOW_ACCOUNT, change=change, by=token)
        less = (replace(given, change="no-role"), replace(first, verb=Verb.CHANGE_ROLE, change="nothing"))
        reset = Step(number=0, at=0, verb=Verb.RESET_PASSWORD, user=holder, by=token)
        after = [[used, self.random.choice(less), used], [used], [reset]]
        ended = Step(number=0, at=0, verb=Verb.END_OWN_SESSION, by=step.by, token=token)
        steps = [*before, replace(step, change=change), *self.random.choice(after), ended, used]
        return [(0, each) for each in reversed(steps)]

    def _reachable(self) -> str:
        reachable = [name for name, user in self.picks.history.names.items() if user.phone is not None]
        return self.random.choice(reachable or [self.picks.person()])

    def entries(self, step: Step) -> list[tuple[int, Step]]:
        """Return the steps of a user after requesting a code.

        The code is entered, sooner or later, or wrong ones again and again; or another code is requested, or
        far too many are.
        """
        random = self.random
        is_own = step.by is not None
        entry = replace(step, verb=Verb.CHANGE_PHONE if is_own else Verb.RECOVER_PASSWORD)
        wrong, wait = replace(entry, twist=Twist.WRONG_CODE), random.choice(_PAUSES_MS)
        ways: list[list[tuple[int, Step]]] = [
            [(0, entry), (wait, entry)],
            [(0, entry), *[(0, wrong)] * random.choice((1, 4, 5))],
            [(wait, replace(entry, twist=Twist.WRONG_PASSWORD))],
            [(0, entry), (random.choice((59_999, 60_000)), step)],
            [(0, entry), *self._interfere(step)],
        ]
        if random.random() < 0.05:
            return [(random.choice((86_399_999, 86_400_000)), step)]
        if is_own and random.random() < 0.1:
            return [(random.choice((0, 1_000)), replace(step, change="fresh"))] * random.randrange(18, 24)
        if random.random() < 0.15:
            return [(60_000, step)] * random.choice((9, 10, 11))
        return random.choice((*ways[:2], *ways, *ways[-1:] * 3))

    def _interfere(self, step: Step) -> list[tuple[int, Step]]:
        """Return events before a code is entered, the last one first.

        The account is ended in one of several ways, the number passes to another user, or another user enters
        the code.
        """
        random, history = self.random, self.picks.history
        login = None if step.by is None else history.sessions.get(step.by.number)
        holder = history.holder_of(NUMBERS.get(step.change or ""))
        named = next((user for user in history.names.values() if user.username == step.user), None)
        owner = (holder or named) if login is None else history.users.get(login.user_id or "")
        name = "nobody" if owner is None else owner.username
        others = [each for each in history.names if each != name] or ["nobody"]
        done = Step(number=0, at=0, verb=Verb.CHANGE_USER, user=name)
        moved = replace(done, user=random.choice(others), change="awaited-phone")
        endings = (Verb.FORCE_OUT_USER, Verb.RESET_PASSWORD, Verb.FORCE_OUT_ALL, Verb.DISABLE_USER)
        ways = [[replace(done, verb=verb)] for verb in endings]
        ways += [[replace(done, verb=Verb.ENABLE_USER), *ways[-1]], [moved], [moved]]
        if login is None:
            # Only a recovery code outlives the logins; it belongs to the number's present owner.
            ways += [[replace(done, verb=Verb.FORCE_OUT_ALL)], [moved, replace(done, change="no-phone")]] * 3
        others_logins = [one for one in history.logins if one.user_id != (owner and owner.user_id)]
        if login is not None and others_logins:
            by = Ref(Kind.ACCESS, random.choice(others_logins[-3:]).number)
            ways += [[replace(step, verb=Verb.CHANGE_PHONE, by=by)]] * 6
        return [(0, one) for one in random.choice(ways)]
