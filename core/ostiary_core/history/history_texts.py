"""The history of a session in words, in both languages: a sentence for each step and for the retries.

Times are ISO-8601 in UTC. A User-Agent is whatever a client sent, so it is quoted, cut to a line's length,
and shown without the characters that would command a terminal.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, assert_never

from ostiary_core.history.explain import Explanation, Step, StepKind
from ostiary_core.http.language import Language
from ostiary_core.model.instant import MINUTE_MS, SECOND_MS, Instant, iso_time
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.records import SessionKind
from ostiary_core.model.why import Why

_LONGEST_SHOWN: Final = 200

Names = Mapping[str, str]
"""User names by identifier, as far as they are known."""

Both = tuple[str, str]
"""A text in English and in Chinese."""

ENDINGS: Final[Mapping[Why, Both]] = MappingProxyType(
    {
        Why.REVOKED_BY_CLIENT: ("The client revoked the session", "客户端撤销了会话"),
        Why.CODE_REPLAYED: (
            "The authorization code that the session came from was presented again",
            "产生该会话的授权码被再次提交",
        ),
        Why.SIGNED_OUT: ("The user signed out", "用户退出登录"),
        Why.SESSION_FORCED_OUT: ("{actor} ended this one session", "{actor}强制下线了该会话"),
        Why.REPLAYED_AFTER_GRACE: (
            (
                "A refresh token that had been used came again {delay} after its first use, past the "
                "{grace} s in which a safe retry is answered"
            ),
            "已使用过的刷新令牌在首次使用 {delay}后再次出现，超过了允许安全重试的 {grace} 秒",
        ),
        Why.REPLAYED_BY_ANOTHER_USER_AGENT: (
            (
                "A refresh token that had been used came again {delay} after its first use, with a different "
                "User-Agent"
            ),
            "已使用过的刷新令牌在首次使用 {delay}后以不同的 User-Agent 再次出现",
        ),
        Why.REPLAYED_TWO_GENERATIONS_LATE: (
            "A refresh token came that had been used before the last rotation, {delay} after that rotation",
            "上一次轮换之前就已使用过的刷新令牌再次出现，距上一次轮换 {delay}",
        ),
        Why.CONSENT_WITHDRAWN: (
            "The user withdrew what the client was allowed",
            "用户撤回了对该客户端的授权",
        ),
        Why.PASSWORD_CHANGED: ("The user changed the password", "用户修改了密码"),
        Why.PHONE_CHANGED: ("{user} changed the telephone number", "{user}修改了手机号"),
        Why.PASSWORD_RESET_BY_ADMINISTRATOR: ("{actor} reset the user's password", "{actor}重置了用户的密码"),
        Why.PASSWORD_RESET_BY_TEXT_MESSAGE: (
            "The user's password was reset by text message",
            "用户通过短信重置了密码",
        ),
        Why.CURRENT_PASSWORD_WRONG_REPEATEDLY: (
            "The current password was entered wrongly too often",
            "当前密码多次输入错误",
        ),
        Why.USER_DISABLED: ("{actor} disabled the user", "{actor}停用了用户"),
        Why.USER_DELETED: ("{actor} deleted the user", "{actor}删除了用户"),
        Why.USER_FORCED_OUT: ("{actor} signed the user out everywhere", "{actor}强制用户全部下线"),
        Why.CLIENT_DISABLED: ("{actor} disabled the client", "{actor}停用了客户端"),
        Why.CLIENT_DELETED: ("{actor} deleted the client", "{actor}删除了客户端"),
    }
)
"""How a session can end; a test says that there is no other way."""


def step_text(
    step: Step,
    of: Explanation,
    language: Language,
    names: Names = MappingProxyType({}),
    policy: Policy = SPECIFICATION,
) -> str:
    """Write one step as a sentence."""
    match step.kind:
        case StepKind.ISSUED:
            text = _issued_text(of, language) + _request_text(step, language)
        case StepKind.ROTATED if step.why is Why.SCOPE_TOO_WIDE:
            text = _choose(
                language,
                "The pair of tokens was rotated, and the client refused all the same: it asked for a scope "
                "beyond the grant",
                "令牌对已轮换，但客户端请求的权限范围超出授权，请求被拒绝",
            ) + _request_text(step, language)
        case StepKind.ROTATED:
            text = _choose(language, "The pair of tokens was rotated", "令牌对已轮换") + _request_text(
                step, language
            )
        case StepKind.RETRIED:
            text = _choose(
                language,
                "A safe retry: the spent refresh token came again {delay} after its first use, and got the "
                "same pair",
                "安全重试：已使用的刷新令牌在首次使用 {delay}后再次出现，返回了同一令牌对",
            ).format(delay=_delay_text(step, language)) + _request_text(step, language)
        case StepKind.NOTED:
            text = _choose(language, "On record: {fact}", "记录：{fact}").format(
                fact="" if step.fact is None else step.fact.value
            ) + _request_text(step, language)
        case StepKind.ENDED:
            text = _ended_text(step, language, names, policy)
        case StepKind.MAXIMUM_REACHED:
            text = _choose(
                language,
                "It reached its maximum duration of {duration}, which refreshing does not extend",
                "已达到最长有效期 {duration}，刷新不会延长该期限",
            ).format(duration=duration_text(of.session.expires_at - of.session.started_at, language))
        case StepKind.RUNNING:
            text = _running_text(step, of, language)
        case _:
            assert_never(step.kind)
    return text + _choose(language, ".", "。")


def near_misses_text(of: Explanation, language: Language) -> str:
    """Write how often, and how late, a safe retry saved the client."""
    delays = of.near_misses_ms
    if not delays:
        return _choose(language, "No safe retry was needed.", "未发生安全重试。")
    return _choose(
        language,
        "Safe retries that saved the client: {count}; the latest came {latest} after the first use, the "
        "slowest {longest}.",
        "安全重试挽救客户端的次数：{count}；最近一次在首次使用 {latest}后，最迟一次在 {longest}后。",
    ).format(
        count=len(delays),
        latest=duration_text(delays[-1], language),
        longest=duration_text(max(delays), language),
    )


def duration_text(milliseconds: int, language: Language) -> str:
    """Write a duration in its two largest units; below a minute, in seconds to the millisecond.

    >>> duration_text(31_000, Language.EN), duration_text(90_061_000, Language.EN)
    ('31.000 s', '1 d 1 h')
    """
    if milliseconds < MINUTE_MS:
        return f"{milliseconds / SECOND_MS:.3f} {_choose(language, 's', '秒')}"
    seconds = milliseconds // SECOND_MS
    counted = (
        (seconds // 86_400, _choose(language, "d", "天")),
        (seconds // 3_600 % 24, _choose(language, "h", "小时")),
        (seconds // 60 % 60, _choose(language, "min", "分")),
        (seconds % 60, _choose(language, "s", "秒")),
    )
    largest = next(place for place, (number, _) in enumerate(counted) if number)
    return " ".join(f"{number} {unit}" for number, unit in counted[largest : largest + 2] if number)


def time_text(at: Instant | None, language: Language) -> str:
    """Write the time of a step."""
    return _choose(language, "(unknown)", "（未知）") if at is None else iso_time(at)


def shown(text: str) -> str:
    """Quote a text from a client so that it can be shown on one line.

    >>> shown("curl\\x1b[31m")
    '"curl\\\\x1b[31m"'
    """
    cut = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)
    return f'"{plain}"'


# --- the sentences that need more than a line


def _issued_text(of: Explanation, language: Language) -> str:
    session = of.session
    client = session.client_id if of.client is None else f"{session.client_id} ({of.client.name})"
    user = session.user_id if of.user is None else f"{of.user.username} ({of.user.name})"
    match session.kind:
        case SessionKind.LOGIN:
            text = _choose(language, "The user {user} signed in", "用户 {user} 登录")
        case SessionKind.AUTHORIZATION_CODE:
            text = _choose(
                language,
                "The client {client} redeemed an authorization code of the user {user}, for {scopes}",
                "客户端 {client} 兑换了用户 {user} 的授权码，权限范围 {scopes}",
            )
        case SessionKind.CLIENT_CREDENTIALS:
            text = _choose(
                language,
                "The client {client} took a token for itself, for {scopes}",
                "客户端 {client} 以自身凭据获取令牌，权限范围 {scopes}",
            )
        case _:
            assert_never(session.kind)
    return text.format(client=client, user=user, scopes=" ".join(session.scopes))


def _running_text(step: Step, of: Explanation, language: Language) -> str:
    session = of.session
    if step.at is not None and step.at >= session.access_expires_at:
        text = _choose(
            language,
            "It is running until {end} at the latest; its access token expired at {access}",
            "会话有效，最迟至 {end}；访问令牌已于 {access} 过期",
        )
    else:
        text = _choose(
            language,
            "It is running until {end} at the latest; its access token is good until {access}",
            "会话有效，最迟至 {end}；访问令牌有效至 {access}",
        )
    return text.format(end=iso_time(session.expires_at), access=iso_time(session.access_expires_at))


def _ended_text(step: Step, language: Language, names: Names, policy: Policy) -> str:
    english, chinese = ENDINGS.get(step.why, _ENDED) if step.why is not None else _ENDED
    text = _choose(language, english, chinese).format(
        actor=_actor_text(step, language, names),
        user=_choose(language, "The user", "用户")
        if step.actor_id is None
        else _actor_text(step, language, names),
        delay=_delay_text(step, language),
        grace=policy.grace_seconds,
    )
    if step.at is None:
        return text + _choose(language, ", at a time that is not on record", "，时间未记录")
    if step.earlier_at is None:
        return text + _request_text(step, language)
    both = _choose(
        language,
        "{text}. {first}: {earlier_at}, {earlier_agent}. Again: {at}, {agent}{source}",
        "{text}。{first}：{earlier_at}，{earlier_agent}。再次：{at}，{agent}{source}",
    )
    if step.why is Why.REPLAYED_TWO_GENERATIONS_LATE:
        first = _choose(language, "Last rotation", "上一次轮换")
    else:
        first = _choose(language, "First use", "首次使用")
    return both.format(
        text=text,
        first=first,
        earlier_at=iso_time(step.earlier_at),
        earlier_agent=_agent_text(step.earlier_user_agent, language),
        at=iso_time(step.at),
        agent=_agent_text(step.user_agent, language),
        source=_source_text(step, language),
    )


_ENDED: Final[Both] = ("It ended", "会话已结束")


# --- parts of a sentence


def _choose(language: Language, english: str, chinese: str) -> str:
    return chinese if language is Language.ZH else english


def _actor_text(step: Step, language: Language, names: Names) -> str:
    """Name who did a step: an administrator, or the operator; the trail has no identifier of the latter."""
    if step.actor_id is not None:
        name = names.get(step.actor_id, step.actor_id)
        return _choose(language, f"The administrator {name}", f"管理员 {name} ")
    if step.trace_id is None and step.at is not None:
        return _choose(language, "The operator, on the command line,", "运维人员通过命令行")
    return _choose(language, "An administrator", "管理员")


def _delay_text(step: Step, language: Language) -> str:
    unknown = _choose(language, "some time", "一段时间")
    return unknown if step.delay_ms is None else duration_text(step.delay_ms, language)


def _request_text(step: Step, language: Language) -> str:
    """Write the source and User-Agent of a step's request, if there was one."""
    if step.source is None:
        return ""
    comma = _choose(language, ", ", "，")
    return f"{_source_text(step, language)}{comma}{_agent_text(step.user_agent, language)}"


def _source_text(step: Step, language: Language) -> str:
    if step.source is None:
        return ""
    return _choose(language, ", from ", "，来自 ") + step.source


def _agent_text(user_agent: str | None, language: Language) -> str:
    if user_agent is None:
        return _choose(language, "without a User-Agent", "无 User-Agent")
    return f"User-Agent {shown(user_agent)}"
