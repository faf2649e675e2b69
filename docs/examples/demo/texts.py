"""The texts of the demonstration's shop, beside those of the server."""

from typing import Final

from ostiary_core.texts import Language, Languages

TEXTS: Final = {
    "en-US": {
        "demo.title": "Demo Shop",
        "demo.lead": (
            "A third-party backend that signs users in with Ostiary. Everything below is what such a backend "
            "sends and gets; tokens are shown by their ends only."
        ),
        "demo.sign_in": "Sign in with Ostiary",
        "demo.sign_in_hint": "Any of alice, bob, wangfang or liwei; the password is “{password}”.",
        "demo.signed_in": "Signed in as {name}",
        "demo.state": "What the server says of the tokens",
        "demo.access_token": "Access token",
        "demo.refresh_token": "Refresh token",
        "demo.spent_token": "Spent refresh token",
        "demo.machine_token": "Machine token",
        "demo.active": "active until {until}",
        "demo.inactive": "not active",
        "demo.grace": "first used at {used}; a safe retry is answered until {ends}",
        "demo.try_it": "Try it",
        "demo.do_refresh": "Refresh",
        "demo.do_refresh_hint": "A new pair; the old access token is dead at once.",
        "demo.do_retry": "Retry the spent token",
        "demo.do_retry_hint": (
            "As after a lost answer: within 30 seconds the very same pair comes back, later the session ends."
        ),
        "demo.do_steal": "Replay it as a thief",
        "demo.do_steal_hint": "The same token from another User-Agent: the session ends.",
        "demo.do_userinfo": "Read the profile",
        "demo.do_userinfo_hint": "User-info with the access token.",
        "demo.do_machine": "Get a machine token",
        "demo.do_machine_hint": "client_credentials: it represents no user.",
        "demo.do_revoke": "Sign out (revoke)",
        "demo.do_revoke_hint": "The whole session ends; both tokens are dead.",
        "demo.again": "Start over",
        "demo.log": "What was sent",
        "demo.log_none": "Nothing yet.",
        "demo.led": "the browser is sent there",
        "demo.same_pair": "the very same pair as before",
        "demo.new_pair": "a new pair",
        "demo.ended": "the server ended the session",
        "demo.denied": "You declined; nothing was shared.",
        "demo.wrong_state": (
            "The answer does not belong to a request of this browser (state differs). It was ignored."
        ),
        "demo.look_behind": "See it on the server",
        "demo.look_behind_hint": (
            "Sign in to Ostiary as admin, same password: Online shows this session, Audit tells its history."
        ),
    },
    "zh-CN": {
        "demo.title": "示例商店",
        "demo.lead": "一个使用 Ostiary 登录的第三方后端。以下是它实际发送与收到的内容；令牌仅显示首尾。",
        "demo.sign_in": "使用 Ostiary 登录",
        "demo.sign_in_hint": "可用账号：alice、bob、wangfang、liwei；密码为 “{password}”。",
        "demo.signed_in": "已登录：{name}",
        "demo.state": "服务器返回的令牌状态",
        "demo.access_token": "访问令牌",
        "demo.refresh_token": "刷新令牌",
        "demo.spent_token": "已使用的刷新令牌",
        "demo.machine_token": "机器令牌",
        "demo.active": "有效至 {until}",
        "demo.inactive": "无效",
        "demo.grace": "首次使用于 {used}；{ends} 前可安全重试",
        "demo.try_it": "动手试试",
        "demo.do_refresh": "刷新",
        "demo.do_refresh_hint": "获得新令牌；旧访问令牌立即失效。",
        "demo.do_retry": "重试已用令牌",
        "demo.do_retry_hint": "模拟响应丢失：30 秒内返回完全相同的令牌，之后会话结束。",
        "demo.do_steal": "模拟盗用重放",
        "demo.do_steal_hint": "以其他 User-Agent 使用同一令牌：会话结束。",
        "demo.do_userinfo": "读取用户信息",
        "demo.do_userinfo_hint": "使用访问令牌读取用户信息。",
        "demo.do_machine": "获取机器令牌",
        "demo.do_machine_hint": "client_credentials：不代表任何用户。",
        "demo.do_revoke": "退出（撤销）",
        "demo.do_revoke_hint": "整个会话结束，两个令牌均失效。",
        "demo.again": "重新开始",
        "demo.log": "请求记录",
        "demo.log_none": "暂无。",
        "demo.led": "浏览器被引导至此地址",
        "demo.same_pair": "与之前完全相同的令牌",
        "demo.new_pair": "新的令牌",
        "demo.ended": "服务器已结束会话",
        "demo.denied": "您已拒绝，未提供任何信息。",
        "demo.wrong_state": "返回的 state 与本浏览器的请求不符，已忽略。",
        "demo.look_behind": "在服务器上查看",
        "demo.look_behind_hint": (
            "以 admin（密码相同）登录 Ostiary：「活跃会话」可见此会话，「审计」可查看其历史。"
        ),
    },
}


def add_texts(languages: Languages) -> Languages:
    """Return the server's languages with the shop's texts, in English for a language that has none here."""
    return Languages([_extend(language) for language in languages])


def _extend(language: Language) -> Language:
    return language.with_texts(TEXTS.get(language.tag, TEXTS["en-US"]))
