"""What stands around every page."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

FRAME: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        # name: (English, Chinese)
        "skip": ("Skip to the content", "跳到正文"),
        "menu": ("Menu", "菜单"),
        "language": ("Language", "语言"),
        "code": ("Code", "代码"),
        "trace": ("Trace id", "追踪编号"),
        "sign_out": ("Sign out", "退出登录"),
        "nav_account": ("My account", "我的账号"),
        "nav_applications": ("Applications", "已授权应用"),
        "nav_sessions": ("Sign-ins", "登录记录"),
        "nav_clients": ("Clients", "客户端"),
        "nav_people": ("People", "用户"),
        "nav_roles": ("Roles", "角色"),
        "nav_online": ("Online", "在线用户"),
        "nav_audit": ("Audit", "审计"),
        "save": ("Save", "保存"),
        "cancel": ("Cancel", "取消"),
        "back": ("Back", "返回"),
        "done": ("Saved.", "已保存。"),
        "expired": ("This page is too old", "页面已过期"),
        "expired_lead": (
            "It was opened in another sign-in, or too long ago. Nothing was changed.",
            "该页面是在另一次登录中打开的，或打开时间过久。未做任何更改。",
        ),
        "start_again": ("Open it again", "重新打开"),
        "not_found": ("There is nothing here", "页面不存在"),
        "not_found_lead": (
            "The address may be mistyped, or what was here is gone.",
            "地址可能有误，或内容已被移除。",
        ),
        "not_yours": ("This is not open to you", "您无权访问此页面"),
        "not_yours_lead": (
            "Your account does not have the permission for it. An administrator can give it to you.",
            "您的账号没有相应权限，可联系管理员授予。",
        ),
        "too_fast": ("Too many requests", "请求过于频繁"),
        "too_fast_lead": ("Wait a moment and try again.", "请稍后再试。"),
        "went_wrong": ("Something went wrong on our side", "服务器出错了"),
        "went_wrong_lead": (
            "It has been written down under the number below. Try again in a moment.",
            "问题已按下方编号记录，请稍后再试。",
        ),
        "home": ("To the first page", "返回首页"),
    }
)
