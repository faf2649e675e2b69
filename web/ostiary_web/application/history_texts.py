"""The history of a session in words: a sentence for each step and for the retries.

Times are ISO-8601 in UTC, unless a page writes them in its visitor's zone. A User-Agent is what a client
sent, so it is quoted, cut to a line's length, and without characters that would control a terminal.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, assert_never

from ostiary_core.history.explain import Explanation, HistoryStep, StepKind
from ostiary_core.model.instant import MINUTE_MS, SECOND_MS, Instant, iso_time
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.model.why import Why
from ostiary_core.texts.language import Language
from ostiary_web.application.browsers import browser_name
from ostiary_web.texts import LANGUAGES

_LONGEST_SHOWN: Final = 200

Names = Mapping[str, str]
"""Known user names by identifier."""

_SAY_SO: Final = (
    *(Why.REVOKED_BY_CLIENT, Why.PERSONAL_TOKEN_ENDED, Why.SESSION_FORCED_OUT),
    *(Why.CLIENT_FORCED_OUT, Why.EVERYBODY_FORCED_OUT),
)
"""Endings whose text says by itself that they ended a session."""

AgentText = Callable[[str | None, Language], str]
"""Function that writes a User-Agent, or that there was none."""

TimeText = Callable[[Instant], str]
"""Function that writes a time."""

ENDINGS: Final = tuple(why for why in Why if f"ending.{why}" in LANGUAGES.default.texts)
"""Reasons of all endings of sessions, which have a text each; a test compares them with the rules."""


def step_text(
    step: HistoryStep,
    of: Explanation,
    language: Language,
    names: Names = MappingProxyType({}),
    policy: Policy = SPECIFICATION,
    agent_text: AgentText | None = None,
    say_time: TimeText = iso_time,
) -> str:
    """Write one step as a sentence; `agent_text` replaces a User-Agent's name and text by another."""
    say = agent_text or whole_agent_text
    match step.kind:
        case StepKind.ISSUED:
            text = _issued_text(of, language) + _request_text(step, language, say)
        case StepKind.ROTATED if step.why is Why.SCOPE_TOO_WIDE:
            text = language.text("history.rotated_and_refused") + _request_text(step, language, say)
        case StepKind.ROTATED:
            text = language.text("history.rotated") + _request_text(step, language, say)
        case StepKind.RETRIED:
            text = language.text("history.retried", delay=_delay_text(step, language))
            text += _request_text(step, language, say)
        case StepKind.NOTED:
            fact = "" if step.fact is None else step.fact.value
            text = language.text("history.noted", fact=fact) + _request_text(step, language, say)
        case StepKind.ENDED:
            text = _ended_text(step, language, names, policy, say, say_time)
        case StepKind.MAXIMUM_REACHED:
            duration = duration_text(of.session.expires_at - of.session.started_at, language)
            text = language.text("history.maximum_reached", duration=duration)
        case StepKind.RUNNING:
            text = _running_text(step, of, language, say_time)
        case _:
            assert_never(step.kind)
    return language.text("history.sentence", text=text)


def safe_retries_text(of: Explanation, language: Language) -> str:
    """Write how often and how late safe retries saved the session."""
    delays = of.safe_retry_delays_ms
    if not delays:
        return language.text("history.no_near_misses")
    latest, longest = duration_text(delays[-1], language), duration_text(max(delays), language)
    return language.text("history.near_misses", count=len(delays), latest=latest, longest=longest)


def duration_text(milliseconds: int, language: Language) -> str:
    """Write a duration in its two largest units; below a minute, in seconds to the millisecond.

    >>> from ostiary_web.texts import LANGUAGES
    >>> duration_text(31_000, LANGUAGES.default), duration_text(90_061_000, LANGUAGES.default)
    ('31.000 s', '1 d 1 h')
    """
    if milliseconds < MINUTE_MS:
        return language.text("duration.exact_seconds", seconds=f"{milliseconds / SECOND_MS:.3f}")
    seconds = milliseconds // SECOND_MS
    counted = (
        ("duration.days", seconds // 86_400),
        ("duration.hours", seconds // 3_600 % 24),
        ("duration.minutes", seconds // 60 % 60),
        ("duration.seconds", seconds % 60),
    )
    largest = next(place for place, (_, count) in enumerate(counted) if count)
    return " ".join(language.text(key, count=count) for key, count in counted[largest : largest + 2] if count)


def time_text(at: Instant | None, language: Language) -> str:
    """Write the time of a step."""
    return language.text("history.time_unknown") if at is None else iso_time(at)


def quote(text: str) -> str:
    r"""Quote a text from a client on one line, without control characters.

    >>> quote("curl\x1b[31m")
    '"curl\\x1b[31m"'
    """
    cut = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)
    return f'"{plain}"'


def whole_agent_text(user_agent: str | None, language: Language) -> str:
    """Write a User-Agent in full, after a browser's name."""
    if user_agent is None:
        return language.text("history.no_user_agent")
    text = language.text("history.user_agent", user_agent=quote(user_agent))
    name = browser_name(user_agent, language)
    return text if name is None else language.text("history.named_agent", name=name, agent=text)


# --- the sentences that need more than a line


def _issued_text(of: Explanation, language: Language) -> str:
    session = of.session
    client = session.client_id if of.client is None else f"{session.client_id} ({of.client.name})"
    user = session.user_id if of.user is None else f"{of.user.username} ({of.user.name})"
    scopes = " ".join(session.scopes)
    if isinstance(session.kind, UnknownWord):
        return language.text("history.issued_unknown", kind=session.kind, client=client, scopes=scopes)
    return language.text(f"history.issued.{session.kind}", client=client, user=user, scopes=scopes)


def _running_text(step: HistoryStep, of: Explanation, language: Language, say_time: TimeText) -> str:
    session = of.session
    is_good = step.at is None or step.at < session.access_expires_at
    return language.text(
        "history.running" if is_good else "history.running_to_be_refreshed",
        end=say_time(session.expires_at),
        access=say_time(session.access_expires_at),
    )


def _ended_text(
    step: HistoryStep, language: Language, names: Names, policy: Policy, say: AgentText, say_time: TimeText
) -> str:
    ending = reason_text(step, language, names, policy)
    if step.why in ENDINGS and step.why not in _SAY_SO:
        ending = language.text("history.which_ended", reason=ending)
    if step.at is None:
        return language.text("history.ended_at_unknown_time", ending=ending)
    if step.earlier_at is None:
        return ending + _request_text(step, language, say)
    is_late = step.why is Why.REPLAYED_TWO_GENERATIONS_LATE
    return language.text(
        "history.ended_by_replay",
        ending=ending,
        first=language.text("history.last_rotation" if is_late else "history.first_use"),
        earlier_at=say_time(step.earlier_at),
        earlier_agent=say(step.earlier_user_agent, language),
        at=say_time(step.at),
        agent=say(step.user_agent, language),
        source=_source_text(step, language),
    )


# --- parts of a sentence


def reason_text(step: HistoryStep, language: Language, names: Names, policy: Policy = SPECIFICATION) -> str:
    """Write what was done that ends sessions, and who did it."""
    actor = actor_text(step, language, names)
    is_by_user = step.actor_id is None and not step.is_by_operator
    return language.text(
        f"ending.{step.why}" if step.why in ENDINGS else "history.ended",
        actor=actor,
        user=language.text("history.by_user") if is_by_user else actor,
        delay=_delay_text(step, language),
        grace=policy.grace_seconds,
    )


def actor_text(step: HistoryStep, language: Language, names: Names) -> str:
    """Write who did a step: an administrator, by a token or not, or the operator."""
    if step.is_by_operator:
        is_named = step.actor_name is not None
        return language.text(
            "history.by_named_operator" if is_named else "history.by_operator", name=step.actor_name or ""
        )
    if step.actor_id is None:
        return language.text("history.by_an_administrator")
    name = step.actor_name or names.get(step.actor_id, step.actor_id)
    if step.actor_token is None:
        return language.text("history.by_administrator", name=name)
    return language.text("history.by_token", name=name, token=quote(step.actor_token))


def _delay_text(step: HistoryStep, language: Language) -> str:
    if step.delay_ms is None:
        return language.text("history.delay_unknown")
    return duration_text(step.delay_ms, language)


def _request_text(step: HistoryStep, language: Language, say: AgentText) -> str:
    """Write the source and User-Agent of a step's request, if there was one."""
    if step.source is None:
        return ""
    source, agent = _source_text(step, language), say(step.user_agent, language)
    return language.text("history.request", source=source, agent=agent)


def _source_text(step: HistoryStep, language: Language) -> str:
    return "" if step.source is None else language.text("history.source", source=step.source)
