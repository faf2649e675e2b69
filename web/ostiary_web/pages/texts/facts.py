"""The kinds of entries of the audit trail, in words."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ostiary_core.model.fact import FactKind
from ostiary_core.model.why import Why

FACT_TEXTS: Final[Mapping[FactKind, tuple[str, str]]] = MappingProxyType(
    {
        # kind: (English, Chinese)
        FactKind.CODE_ISSUED: ("Code issued", "签发授权码"),
        FactKind.CODE_USED: ("Code redeemed", "兑换授权码"),
        FactKind.CODE_VOIDED: ("Code voided", "授权码作废"),
        FactKind.SESSION_STARTED: ("Session started", "会话开始"),
        FactKind.PAIR_ROTATED: ("Tokens refreshed", "刷新令牌"),
        FactKind.PAIR_REPEATED: ("Safe retry answered", "安全重试"),
        FactKind.SESSION_ENDED: ("Session ended", "会话结束"),
        FactKind.SALT_ERASED: ("Salt erased", "清除盐值"),
        FactKind.CONSENT_REMEMBERED: ("Consent given", "用户同意授权"),
        FactKind.CONSENT_DENIED: ("Consent declined", "用户拒绝授权"),
        FactKind.CONSENT_WITHDRAWN: ("Consent withdrawn", "用户撤回授权"),
        FactKind.SIGN_IN_FAILED: ("Sign-in failed", "登录失败"),
        FactKind.CURRENT_PASSWORD_WRONG: ("Current password wrong", "当前密码错误"),
        FactKind.PASSWORD_SET: ("Password set", "设置密码"),
        FactKind.PHONE_SET: ("Telephone set", "设置手机号"),
        FactKind.PREFERENCES_SET: ("Preferences set", "修改偏好"),
        FactKind.TEXT_CODE_SENT: ("Text code sent", "发送短信验证码"),
        FactKind.TEXT_CODE_WRONG: ("Text code wrong", "短信验证码错误"),
        FactKind.USER_SESSIONS_ENDED: ("User signed out everywhere", "用户全部会话结束"),
        FactKind.USER_REGISTERED: ("User registered", "创建用户"),
        FactKind.USER_CHANGED: ("User changed", "修改用户"),
        FactKind.USER_ENABLED: ("User enabled", "启用用户"),
        FactKind.USER_DISABLED: ("User disabled", "停用用户"),
        FactKind.USER_DELETED: ("User deleted", "删除用户"),
        FactKind.ROLE_REGISTERED: ("Role registered", "创建角色"),
        FactKind.ROLE_CHANGED: ("Role changed", "修改角色"),
        FactKind.ROLE_DELETED: ("Role deleted", "删除角色"),
        FactKind.CLIENT_REGISTERED: ("Client registered", "登记客户端"),
        FactKind.CLIENT_CHANGED: ("Client changed", "修改客户端"),
        FactKind.CLIENT_ENABLED: ("Client enabled", "启用客户端"),
        FactKind.CLIENT_DISABLED: ("Client disabled", "停用客户端"),
        FactKind.CLIENT_DELETED: ("Client deleted", "删除客户端"),
        FactKind.CLIENT_SECRET_RESET: ("Client secret reset", "重置客户端密钥"),
        FactKind.CLIENT_SECRET_ADDED: ("Client secret added, the old one kept", "新增客户端密钥，旧密钥暂留"),
        FactKind.CLIENT_OLD_SECRET_ENDED: ("Old client secret ended", "旧客户端密钥失效"),
        FactKind.REFUSED: ("Refused", "拒绝"),
    }
)
"""Every kind has a row; a test says so."""

ENDING_TEXTS: Final[Mapping[Why, tuple[str, str]]] = MappingProxyType(
    {
        Why.CLIENT_DISABLED: ("The client was disabled.", "客户端已被停用"),
        Why.CLIENT_DELETED: ("The client was deleted.", "客户端已被删除"),
        Why.REPLAYED_AFTER_GRACE: (
            "A used refresh token came again, too late for a safe retry.",
            "已使用过的刷新令牌再次出现，超过了允许安全重试的时间",
        ),
        Why.REPLAYED_BY_ANOTHER_USER_AGENT: (
            "A used refresh token came again, with a different User-Agent.",
            "已使用过的刷新令牌以不同的 User-Agent 再次出现",
        ),
        Why.REPLAYED_TWO_GENERATIONS_LATE: (
            "A refresh token came that had been used before the last refresh.",
            "上一次刷新之前就已使用过的刷新令牌再次出现",
        ),
    }
)
"""Endings that a client is told as a failed authentication or a used token, as an administrator reads
them."""
