"""Mistakes with second factors: what signs in, how often, and who takes one away."""

from typing import Final

from fuzz.faults.planting import mistakes_in

FAULTS: Final = (
    *mistakes_in(
        "ostiary_core.model.one_time_password.find_step",
        (
            *("codes-work-twice", "a code of a second factor works twice"),
            *("max(present - _STEPS_ASIDE, used_step + 1)", "present - _STEPS_ASIDE"),
        ),
        (
            *("codes-of-two-steps", "a code of a second factor works two steps early and late"),
            *("present - _STEPS_ASIDE", "present - 2", "present + _STEPS_ASIDE + 1", "present + 3"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.second_factor._spend",
        (
            *("recovery-codes-work-twice", "a recovery code works twice"),
            *("if each != digest", ""),
        ),
        (
            *("factors-guessed", "codes of a second factor may be tried without end"),
            *("if len(wrong_at) >= policy.wrong_codes_until_wait:", "if False:"),
        ),
        (
            *("recovery-code-confirms", "a recovery code confirms a second factor that no authenticator has"),
            *("and not is_new", ""),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.own_account.sign_in",
        (
            *("password-alone", "a password alone signs in a user who has a second factor"),
            *("if user.has_second_factor or", "if"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.second_factor._find_by_ticket",
        (
            *("tickets-immortal", "a ticket is good for ever"),
            *("snapshot.now < later(ticket.issued_at, policy.ticket_seconds)", "True"),
        ),
        (
            *("tickets-work-twice", "a ticket signs in twice"),
            *("ticket.issued_at > stored.ticket_used_at", "True"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.model.sign_in_ticket._sign",
        (
            *("tickets-outlive-endings", "a ticket outlives the endings of its user"),
            *("{epochs.user}:{epochs.client}", "-"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.second_factor.remove",
        (
            *("factor-removed-alone", "to remove a second factor ends nothing"),
            *("with_next_epoch(who.user, why, snapshot.now,", "revise(who.user,"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.second_factor._check_both",
        (
            *("factor-removed-without-password", "a second factor is removed without the password"),
            *("if wrong is not None:", "if False:"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.user_administration.reset_second_factor",
        (
            *("own-factor-reset", "an administrator resets their own second factor"),
            *("if actor_id_of(who) == user.user_id:", "if False:"),
        ),
    ),
)
