"""What people see and change of their own account."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ACCOUNT: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        # name: (English, Chinese)
        "account": ("My account", "我的账号"),
        "account_lead": (
            "What other systems see of you is your user name, display name, picture and language.",
            "其他系统能看到的只有您的用户名、姓名、头像与语言。",
        ),
        "profile": ("Profile", "基本资料"),
        "display_name": ("Name", "姓名"),
        "display_name_hint": ("An administrator can change it.", "如需修改请联系管理员。"),
        "picture": ("Picture", "头像"),
        "picture_hint": ("PNG, JPEG or WebP, at most 2 MiB", "PNG、JPEG 或 WebP，不超过 2 MiB"),
        "picture_none": ("No picture yet", "尚未设置头像"),
        "upload": ("Upload", "上传"),
        "picture_remove": ("Remove", "移除"),
        "chosen_language": ("Language", "语言"),
        "chosen_language_none": ("as the browser says", "跟随浏览器"),
        "chosen_zone": ("Time zone", "时区"),
        "security": ("Security", "安全"),
        "phone_none": ("none", "未设置"),
        "change_phone": ("Change telephone number", "修改手机号"),
        "new_phone": ("New telephone number", "新手机号"),
        "phone_ends": (
            "Everywhere else you are signed in, you will be signed out.",
            "修改后，您在其他位置的登录都会退出。",
        ),
        "phone_code_sent": (
            "If the number is free, a code of six digits is on its way to it.",
            "如果该号码可用，六位验证码正在发送。",
        ),
        "applications": ("Applications", "已授权应用"),
        "applications_lead": (
            "Systems that you allowed to sign you in, and what they may see.",
            "您允许使用您的账号登录的系统，以及它们可查看的内容。",
        ),
        "applications_none": ("No application may sign you in yet.", "尚无已授权的应用。"),
        "applications_none_lead": (
            "When you sign in to another system with this account, it appears here.",
            "当您使用此账号登录其他系统后，会显示在此处。",
        ),
        "allowed_since": ("Allowed since", "授权时间"),
        "not_remembered": ("Approved automatically", "自动授权"),
        "running": ("Running sign-ins", "进行中的登录"),
        "may_see": ("May see", "可查看"),
        "withdraw": ("Withdraw", "撤回授权"),
        "withdraw_sure": ("Withdraw from {name}?", "撤回对 {name} 的授权？"),
        "withdraw_will": (
            "It is signed out of your account at once ({count} running), and must ask you again.",
            "它会立即退出您的账号（{count} 个进行中的登录），下次需要重新征得您的同意。",
        ),
        "sessions": ("Where you are signed in", "登录位置"),
        "sessions_lead": (
            "Each line is one browser or one application. Sign out what you do not know.",
            "每一行是一个浏览器或应用。请退出您不认识的登录。",
        ),
        "this_session": ("this one", "当前"),
        "browser_session": ("This server's pages", "本服务页面"),
        "signed_in_at": ("Since", "开始时间"),
        "last_seen": ("Last seen", "最近活动"),
        "until": ("Until", "截止"),
        "address": ("Address", "地址"),
        "device": ("Browser or program", "浏览器或程序"),
        "end_session": ("Sign out", "退出"),
    }
)
