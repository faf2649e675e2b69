"""Generate the steps of a world at random, with a preference for trouble.

The generator uses the history, to find tokens to present, and no rule, so that it expects no particular
answer. Each world has a mix of its own (swarm testing): some never end a session, some do little else.
"""

from itertools import accumulate
from random import Random

from msgspec.structs import replace

from fuzz.shared.calls import AT_THE_CONSENT_PAGE, AT_THE_TOKEN_SERVICE, BY_LOGIN, Verb
from fuzz.shared.history import History
from fuzz.shared.initial_states import (
    ADMINISTRATOR,
    BEGINNING_OF_TIME_MS,
    KEEP_SECONDS,
    end_of_day,
    format_day,
)
from fuzz.shared.knowledge import KnownCode, KnownSession
from fuzz.shared.odd_fields import ODD_FIELDS
from fuzz.shared.steps import Kind, Ref, Step, Twist
from fuzz.workload import weights
from fuzz.workload.administration import Administration
from fuzz.workload.clock import advance
from fuzz.workload.invitations import steps_after_invitation
from fuzz.workload.lives import Lives
from fuzz.workload.own_accounts import OwnAccounts
from fuzz.workload.picks import Picks
from fuzz.workload.proofs import Proofs


class Workload:
    """The generator of one world's steps."""

    def __init__(self, random: Random, history: History, *, is_of_the_rules: bool = False) -> None:
        self.random = random
        self.is_of_the_rules = is_of_the_rules
        """Whether operations that the interface lacks are generated, too."""
        self.history = history
        self.at = 0
        self.number = 0
        self.clients = tuple(history.initial_state.clients)
        self.people = history.initial_state.people
        endings = random.choice((0.0, 0.3, 1.0, 1.0, 3.0))
        verbs = weights.WEIGHTS | weights.BEYOND_THE_INTERFACE if is_of_the_rules else weights.WEIGHTS
        self.verbs = tuple(verbs)
        self.deputed = random.random() < 0.2
        """Whether users administer one another."""
        focus: frozenset[Verb] = random.choice(weights.FOCUSES) if is_of_the_rules else frozenset()
        weighted = (
            weight
            * (endings if verb in weights.ENDINGS else 1.0)
            * (3.0 if self.deputed and verb is Verb.SIGN_IN else 1.0)
            * (weights.FOCUS if verb in focus else 1.0)
            * random.choice((0.5, 1.0, 1.0, 2.0))
            for verb, weight in verbs.items()
        )
        self.summed_weights = list(accumulate(weighted))
        self.trouble = random.choice((0.02, 0.08, 0.2))
        """Share of steps with a mistake."""
        self.picks = Picks(random, history, self.trouble)
        self.administration = Administration(random, self.picks, is_of_the_rules=is_of_the_rules)
        self.own_accounts = OwnAccounts(random, self.picks, is_of_the_rules=is_of_the_rules)
        self.proofs = Proofs(random, self.picks)
        self.lives = Lives(random, self.picks, history)
        shares = weights.PROOF_SHARES_OF_THE_RULES
        self.proof_share = random.choice(shares) if is_of_the_rules else weights.PROOF_SHARE
        self.crowding = random.choice((0.0, 0.03, 0.15))
        """Share of turns with several steps."""
        story: list[tuple[int, Step]] = []
        if not is_of_the_rules and random.random() < 0.4:
            story = self.own_accounts.begin_with_forgiven_failures()
        elif not is_of_the_rules and random.random() < 0.4:
            story = self.own_accounts.begin_with_forgiven_codes()
        elif is_of_the_rules and random.random() < 0.25:
            own = self.own_accounts
            others = (own.begin_with_many_tokens, own.begin_with_token_of_superior)
            stories = (own.begin_with_code_of_another, *others)
            is_of_administrators = history.initial_state.settings.second_factor_of == "administrators"
            story = (own.begin_with_appointment if is_of_administrators else random.choice(stories))()
        self.calm_steps = len(story)
        """Number of first steps that are kept free of other mistakes, so that they show what they should."""
        appointments = self.administration.appointments() if self.deputed else []
        self.again: list[tuple[int, Step]] = [*story, *((0, step) for step in appointments)][::-1]
        """Steps to insist on, the next one last, each with the wait before it."""

    def turn(self) -> list[Step]:
        """Return the steps of the next turn, one or several."""
        random = self.random
        while self.again:
            self.number += 1
            wait, step = self.again.pop()
            if not self.is_of_the_rules and self._is_about_nothing(step):
                continue
            self.at += wait
            return [replace(step, number=self.number, at=self.at)]
        if not self.is_of_the_rules and random.random() < weights.LIFE_SHARE:
            self.again = self.lives.begin(self.number + 1)
            if self.again:
                return self.turn()
        step = self._step(self._verb())
        self.again = self._insist_on(step)
        if random.random() < 0.012:
            step = replace(step, restart=random.random() < 0.5, crash=random.random() < 0.6)
        if step.verb in weights.ALONE or random.random() >= self.crowding:
            return [step]
        steps = [step]
        for _ in range(random.choice((1, 1, 2))):
            if random.random() < 0.6:
                # The same request again: the second one of a race.
                self.number += 1
                agent = random.choice((step.agent, step.agent, "desk"))
                other = replace(step, number=self.number, agent=agent)
            else:
                other = self._step(self._verb(), still=True)
            if other.verb not in weights.ALONE:
                steps.append(replace(other, at=step.at, joined=True, restart=False, crash=False))
        return steps

    def _insist_on(self, step: Step) -> list[tuple[int, Step]]:
        """Return repetitions and follow-ups of a step.

        A wrong password is tried again at once, a refresh with a lost answer a little later. A user with a
        new role tries its limits; a client with a new secret tries whether its tokens are still valid.
        """
        random = self.random
        if step.verb is Verb.INVITE_USER:
            return steps_after_invitation(random, step)
        if step.verb is Verb.UNLOCK_USER and step.user in self.history.names:
            return self.own_accounts.steps_after_unlock(step)
        if step.verb is Verb.SIGN_IN and step.twist is None and random.random() < self.proof_share:
            return self.proofs.steps_after_sign_in(step)
        is_given_role = step.change in ("role", "another-role")
        if is_given_role and self.history.initial_state.settings.second_factor_of == "administrators":
            return self.own_accounts.set_up_when_appointed(step)
        if step.verb is Verb.SIGN_IN or is_given_role:
            actions = self._actions_of_role_holder(step)
            if actions:
                return [(0, action) for action in actions]
        if step.verb in (Verb.SIGN_IN, Verb.BEGIN_FACTOR):
            entered = self.own_accounts.with_factor(step)
            if entered:
                return entered
        if step.odd is not None:
            return self._more_of(step)
        if step.verb is Verb.REDEEM and random.random() < 0.1:
            return [(0, step)]
        if step.verb is Verb.REQUEST_TEXT_CODE:
            return self.own_accounts.entries(step)
        if step.verb is Verb.CREATE_TOKEN:
            return self.own_accounts.use_token(step)
        with_old = replace(step, verb=Verb.CLIENT_CREDENTIALS, by=None, change=None, twist=Twist.OLD_SECRET)
        if step.change in KEEP_SECONDS and self.is_of_the_rules and random.random() < 0.4:
            noted = replace(with_old, verb=Verb.NOTE_SECRET_USE)
            shown = replace(step, verb=Verb.SHOW_CLIENT, change=None)
            return [(0, shown), *((wait, noted) for wait in (60_000, 59_999, 0))]
        if step.change in KEEP_SECONDS and random.random() < 0.3:
            return [(0, with_old), (random.choice((0, 200)), step)]
        if step.change == "today" and step.verb is Verb.CHANGE_CLIENT and random.random() < 0.7:
            return self._end_of_last_day(step, with_old)
        if step.change == "many-uris" and self.is_of_the_rules:
            return [(0, replace(step, change="most-uris"))]
        if step.change in ("keep-shortly", "keep") and random.random() < 0.3:
            return [(1, with_old), (KEEP_SECONDS[step.change] * 1_000 - 1, with_old)]
        if step.verb in (Verb.GIVE_SECRET, Verb.FORCE_OUT_CLIENT) and random.random() < 0.5:
            return [(0, with_old)]
        if step.verb is Verb.RESET_SECRET and random.random() < 0.5:
            asked = replace(step, verb=Verb.INTROSPECT, by=None, change=None)
            tokens = [Ref(Kind.REFRESH, one.number) for one in self._find_live_sessions(step.client)]
            shown = replace(step, verb=Verb.SHOW_CLIENT, by=None, change=None)
            before = [(0, shown)] if self.is_of_the_rules else []
            return [*before, *((0, replace(asked, token=token)) for token in tokens)]
        if step.twist is Twist.WRONG_PASSWORD and random.random() < 0.3:
            return [(0, step)] * random.randrange(2, 6)
        session = self.history.sessions.get(step.token.number) if step.token is not None else None
        if step.verb is Verb.INTROSPECT and session is not None and random.random() < 0.04:
            pair = session.pairs[-1]
            left = pair.at + pair.expires_in * 1_000 - BEGINNING_OF_TIME_MS - self.at
            return [(left, step)] if left > 0 else []
        if step.verb in weights.UNDONE_BY:
            undone = (random.choice((0, 1)), replace(step, verb=weights.UNDONE_BY[step.verb], by=None))
            client = self.history.clients.get(step.client or "")
            if client is not None and client.old_until:
                return [(0, with_old), undone]
            return [undone] if random.random() < 0.5 else []
        refreshes = step.verb in (Verb.REFRESH, Verb.REFRESH_LOGIN)
        if not refreshes or step.token is None or random.random() > 0.12:
            return []
        spent = replace(step, token=replace(step.token, back=max(1, step.token.back)))
        again = [(wait, spent) for wait in reversed(random.choice(weights.WAITS_MS))]
        if random.random() < 0.4:
            wait, first = again.pop()
            waited = random.choice(weights.WAITED_MS)
            unseen = random.choice(weights.UNSEEN_MS)
            again.append((wait + waited, replace(first, waited=waited, unseen=unseen)))
        if random.random() < 0.3:
            again.append((random.choice((0, 1_000)), Step(number=0, at=0, verb=Verb.SWEEP, token=step.token)))
        return again

    def _end_of_last_day(self, step: Step, with_old: Step) -> list[tuple[int, Step]]:
        """Return steps that use a secret up to the end of its last day, as current or as old secret."""
        now = BEGINNING_OF_TIME_MS + self.at
        left = end_of_day(format_day(now)) - now
        reset = replace(step, verb=Verb.RESET_SECRET, by=None, change="keep-long")
        resets = [(0, reset)] * self.random.choice((0, 1, 2))
        used = with_old if resets else replace(with_old, twist=None)
        return [(1, used), (left - 1, used), *resets]

    def _more_of(self, step: Step) -> list[tuple[int, Step]]:
        """Return steps with other odd fields in the same record, then the record without any."""
        others = self.random.sample(tuple(ODD_FIELDS[step.verb]), 3)
        return [(0, replace(step, odd=None, seen=None)), *((0, replace(step, odd=other)) for other in others)]

    def _actions_of_role_holder(self, step: Step) -> list[Step]:
        """Return actions of a signed-in user who gets a role, or of a user with a role who signs in."""
        name = step.user or ""
        if step.verb is Verb.SIGN_IN:
            is_asked = self.own_accounts.is_asked_for_factor(name)
            is_deputy = name in self.picks.deputies()
            signed_in = [step.number] if is_deputy and not is_asked and step.twist is None else []
        else:
            logins = self.history.logins
            signed_in = [one.number for one in logins if one.username == name and not one.seems_over]
        if not signed_in:
            return []
        return self.administration.actions_of_deputy(name, Ref(Kind.ACCESS, signed_in[-1]))

    def _is_about_nothing(self, step: Step) -> bool:
        """Whether a step presents a token of a code or session that never began."""
        token = step.token
        if token is None or token.kind not in (Kind.CODE, Kind.REFRESH):
            return False
        return token.number not in (self.history.codes if token.kind is Kind.CODE else self.history.sessions)

    def _find_live_sessions(self, client: str | None) -> list[KnownSession]:
        """Return the latest sessions of a client that seem to be live."""
        return [one for one in self.history.grants[-8:] if one.client_id == client and not one.seems_over]

    def _verb(self) -> Verb:
        """Choose an operation by this world's weights; a fresh code is mostly redeemed soon."""
        issued = self.history.issued
        if issued and not issued[-1].tried and self.random.random() < 0.6:
            others = (Verb.CHANGE_CLIENT, Verb.FORCE_OUT_USER, Verb.WITHDRAW)
            return self.random.choice((Verb.REDEEM,) * 7 + others)
        verb = self.random.choices(self.verbs, cum_weights=self.summed_weights)[0]
        if verb in (Verb.REFRESH, Verb.INTROSPECT, Verb.USER_INFO, Verb.REVOKE):
            goes_on = any(not one.seems_over and one.pairs[-1].refresh for one in self.history.grants[-8:])
            if not goes_on and self.random.random() < 0.8:
                return Verb.APPROVE
        return verb

    def _step(self, verb: Verb, *, still: bool = False) -> Step:
        """Return a step of this kind, or the sign-in that it needs first."""
        step = self._choose_step(verb)
        subject = self._subject(step)
        if not still:
            self.at = advance(self.random, self.at, () if subject is None else limits_of(subject))
        self.number += 1
        return replace(step, number=self.number, at=self.at)

    def _choose_step(self, verb: Verb) -> Step:
        random = self.random
        step = Step(number=0, at=0, verb=verb)
        if verb in AT_THE_TOKEN_SERVICE:
            return self._at_the_token_service(step)
        if verb is Verb.USER_INFO:
            pool = self.history.logins if random.random() < 0.1 else self.history.grants
            kind = Kind.REFRESH if random.random() < 0.1 else Kind.ACCESS
            return replace(step, token=self.picks.pick_token(self.picks.session(pool), kind))
        if verb is Verb.REFRESH_LOGIN:
            return self._make_refresh(step, self.picks.session(self.history.logins))
        if verb is Verb.SIGN_IN:
            return self._sign_in(step)
        if verb in BY_LOGIN or (verb is Verb.REQUEST_TEXT_CODE and random.random() < 0.7):
            return self._by_person(step)
        if verb in weights.ABOUT_AN_OWN_ACCOUNT:
            return self.own_accounts.step(step)
        return self.administration.step(step)

    # --- the token service

    def _at_the_token_service(self, step: Step) -> Step:
        random, history = self.random, self.history
        step = replace(step, agent=random.choice(weights.AGENTS))
        if step.verb is Verb.CLIENT_CREDENTIALS:
            return self._credentials(replace(step, client=self.picks.client(), scope=self.picks.scope()))
        if step.verb is Verb.REDEEM:
            return self._redemption(step, self.picks.code())
        if step.verb is Verb.REFRESH:
            return self._make_refresh(step, self.picks.session(history.grants, refreshable=True))
        session = self.picks.session(history.grants)
        kind = random.choice((Kind.ACCESS, Kind.REFRESH))
        if random.random() < 0.06:
            session = self.picks.session(history.logins)
        client = None if session is None or random.random() < 0.07 else session.client_id
        client = client or self.picks.client()
        step = self._credentials(replace(step, client=client, token=self.picks.pick_token(session, kind)))
        is_empty = step.twist is None and random.random() < self.trouble * 0.1
        return replace(step, twist=Twist.WITHOUT_TOKEN) if is_empty else step

    def _redemption(self, step: Step, code: KnownCode | None) -> Step:
        client = self.picks.client() if code is None else code.client_id
        token = None if code is None else Ref(Kind.CODE, code.number)
        step = self._credentials(replace(step, client=client, token=token))
        if step.twist is None and self.random.random() < self.trouble * 1.5:
            step = replace(step, twist=self.random.choice(weights.EXCHANGE_TWISTS))
        return self._replace_token(step)

    def _make_refresh(self, step: Step, session: KnownSession | None) -> Step:
        """Return a refresh: with the current token, as a retry, or as one of several kinds of replay."""
        random = self.random
        if session is None:
            return self._credentials(replace(step, client=self.picks.client()))
        client, agent, back = session.client_id, session.pairs[-1].agent, 0
        chance = random.random()
        latest = len(session.pairs) - 1
        if chance < 0.35 and session.spent_at:
            generation = max(session.spent_at)
            agent = session.spent_at[generation][1]
            back = latest - generation
            if chance < 0.06:
                agent = random.choice(weights.AGENTS)
            elif chance < 0.09:
                back = min(latest, back + 1)
        step = replace(step, client=client, agent=agent, token=Ref(Kind.REFRESH, session.number, back))
        if step.verb is Verb.REFRESH:
            scope = self.picks.scope() if random.random() < 0.3 else None
            step = self._credentials(replace(step, scope=scope))
        return self._replace_token(step)

    def _credentials(self, step: Step) -> Step:
        """Add credentials: mostly the client's own; sometimes another client's or made-up ones."""
        chance = self.random.random()
        if chance < self.trouble * 0.8:
            others = [name for name in self.clients if name != step.client]
            return replace(step, client=self.random.choice(others) if others else self.picks.client())
        if chance < self.trouble * 1.2:
            return replace(step, twist=self.random.choice((Twist.WRONG_SECRET, Twist.OLD_SECRET)))
        client = self.history.clients.get(step.client or "")
        if client is not None and client.old_until and self.random.random() < 0.3:
            return replace(step, twist=Twist.OLD_SECRET)
        return step

    def _replace_token(self, step: Step) -> Step:
        """Replace the token, sometimes, by one of another kind or session, or by none."""
        random = self.random
        if random.random() >= self.trouble * 0.3:
            return step
        pool = random.choice((self.history.grants, self.history.logins))
        kind = random.choice(tuple(Kind))
        if kind is Kind.CODE:
            code = self.picks.code()
            return replace(step, token=None if code is None else Ref(kind, code.number))
        return replace(step, token=self.picks.pick_token(self.picks.session(pool), kind))

    # --- users

    def _by_person(self, step: Step) -> Step:
        random = self.random
        login = self.picks.session(self.history.logins)
        if login is None or login.seems_over:
            return self._sign_in(replace(step, verb=Verb.SIGN_IN))
        if self._is_stale(login) and random.random() < 0.9:
            return self._make_refresh(replace(step, verb=Verb.REFRESH_LOGIN), login)
        by = Ref(Kind.ACCESS, login.number)
        if random.random() < self.trouble * 0.3:
            session = self.picks.session(random.choice((self.history.grants, self.history.logins)))
            by = self.picks.pick_token(session, Kind.ACCESS) or by
        twist = None
        if random.random() < weights.WRONG_PASSWORDS.get(step.verb, 0):
            twist = Twist.WRONG_PASSWORD
        elif step.verb in weights.WRONG_PASSWORDS and self._is_overtaken(1.0):
            twist = Twist.OVERTAKEN
        elif step.verb in AT_THE_CONSENT_PAGE and random.random() < self.trouble:
            beyond = weights.CONSENT_TWISTS_BEYOND if self.is_of_the_rules else ()
            twist = random.choice((*weights.CONSENT_TWISTS, *beyond))
        step = replace(step, by=by, user=login.username, twist=twist)
        if step.verb in weights.ABOUT_AN_OWN_ACCOUNT:
            return self.own_accounts.step(step)
        if step.verb in AT_THE_CONSENT_PAGE:
            scope = None if random.random() < 0.6 else self.picks.scope()
            return replace(step, client=self.picks.client(), scope=scope, uri=random.randrange(2))
        return replace(step, client=self.picks.client()) if step.verb is Verb.WITHDRAW else step

    def _sign_in(self, step: Step) -> Step:
        user = ADMINISTRATOR if self.random.random() < 0.1 else self.picks.person()
        deputies = self.picks.deputies()
        if deputies and self.random.random() < 0.4:
            user = self.random.choice(deputies)
        wrong = Twist.WRONG_PASSWORD if self.random.random() < self.trouble else None
        if wrong is None and self._is_overtaken(0.3):
            wrong = Twist.OVERTAKEN
        return replace(step, user=user, agent=self.random.choice(weights.AGENTS), twist=wrong)

    def _is_overtaken(self, often: float) -> bool:
        return self.is_of_the_rules and self.random.random() < self.trouble * often

    def _is_stale(self, login: KnownSession) -> bool:
        return BEGINNING_OF_TIME_MS + self.at >= login.pairs[-1].at + weights.LOGIN_MS

    def _subject(self, step: Step) -> KnownSession | KnownCode | None:
        ref = step.token or step.by
        if ref is None:
            return None
        if ref.kind is Kind.CODE:
            return self.history.codes.get(ref.number)
        return self.history.sessions.get(ref.number)


def limits_of(subject: KnownSession | KnownCode) -> list[int]:
    """Return the instants that matter to a session or code, in milliseconds since the world began."""
    if isinstance(subject, KnownCode):
        return [subject.at + 300_000 - BEGINNING_OF_TIME_MS]
    limits = [subject.until, subject.until - 999, subject.pairs[-1].at + subject.pairs[-1].expires_in * 1_000]
    if subject.spent_at:
        limits.append(subject.spent_at[max(subject.spent_at)][0] + 30_000)
    return [limit - BEGINNING_OF_TIME_MS for limit in limits]
