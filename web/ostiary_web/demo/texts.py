"""What the demonstration's third-party backend says, in both languages."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ostiary_core.http.language import Language

_TEXTS: Final = {
    # name: (English, Chinese)
    "title": ("Demo Shop", "示例商店"),
    "lead": (
        (
            "A third-party backend that signs people in with Ostiary. Everything below is what such a "
            "backend sends and gets; tokens are shown by their ends only."
        ),
        "一个使用 Ostiary 登录的第三方后端。以下是它实际发送与收到的内容；令牌仅显示首尾。",
    ),
    "sign_in": ("Sign in with Ostiary", "使用 Ostiary 登录"),
    "sign_in_hint": (
        "Any of alice, bob, wangfang or liwei; the password is “{password}”.",
        "可用账号：alice、bob、wangfang、liwei；密码为 “{password}”。",
    ),
    "signed_in": ("Signed in as {name}", "已登录：{name}"),
    "state": ("What the server says of the tokens", "服务器返回的令牌状态"),
    "access_token": ("Access token", "访问令牌"),
    "refresh_token": ("Refresh token", "刷新令牌"),
    "spent_token": ("Spent refresh token", "已使用的刷新令牌"),
    "machine_token": ("Machine token", "机器令牌"),
    "active": ("active until {until}", "有效至 {until}"),
    "inactive": ("not active", "无效"),
    "grace": (
        "first used at {used}; a safe retry is answered until {ends}",
        "首次使用于 {used}；{ends} 前可安全重试",
    ),
    "try_it": ("Try it", "动手试试"),
    "do_refresh": ("Refresh", "刷新"),
    "do_refresh_hint": (
        "A new pair; the old access token is dead at once.",
        "获得新令牌；旧访问令牌立即失效。",
    ),
    "do_retry": ("Retry the spent token", "重试已用令牌"),
    "do_retry_hint": (
        "As after a lost answer: within 30 seconds the very same pair comes back, later the session ends.",
        "模拟响应丢失：30 秒内返回完全相同的令牌，之后会话结束。",
    ),
    "do_steal": ("Replay it as a thief", "模拟盗用重放"),
    "do_steal_hint": (
        "The same token from another User-Agent: the session ends.",
        "以其他 User-Agent 使用同一令牌：会话结束。",
    ),
    "do_userinfo": ("Read the profile", "读取用户信息"),
    "do_userinfo_hint": ("User-info with the access token.", "使用访问令牌读取用户信息。"),
    "do_machine": ("Get a machine token", "获取机器令牌"),
    "do_machine_hint": ("client_credentials: it represents no user.", "client_credentials：不代表任何用户。"),
    "do_revoke": ("Sign out (revoke)", "退出（撤销）"),
    "do_revoke_hint": ("The whole session ends; both tokens are dead.", "整个会话结束，两个令牌均失效。"),
    "again": ("Start over", "重新开始"),
    "log": ("What was sent", "请求记录"),
    "log_none": ("Nothing yet.", "暂无。"),
    "same_pair": ("the very same pair as before", "与之前完全相同的令牌"),
    "new_pair": ("a new pair", "新的令牌"),
    "ended": ("the server ended the session", "服务器已结束会话"),
    "denied": ("You declined; nothing was shared.", "您已拒绝，未提供任何信息。"),
    "wrong_state": (
        "The answer does not belong to a request of this browser (state differs). It was ignored.",
        "返回的 state 与本浏览器的请求不符，已忽略。",
    ),
    "look_behind": ("Look behind the counter", "查看服务端"),
    "look_behind_hint": (
        "Sign in to Ostiary as admin, same password: Online shows this session, Audit tells its life.",
        "以 admin（密码相同）登录 Ostiary：「在线用户」可见此会话，「审计」讲述其经过。",
    ),
}

DEMO_TEXTS: Final[Mapping[Language, Mapping[str, str]]] = MappingProxyType(
    {
        Language.EN: MappingProxyType({name: english for name, (english, _) in _TEXTS.items()}),
        Language.ZH: MappingProxyType({name: chinese for name, (_, chinese) in _TEXTS.items()}),
    }
)
