"""Every word of the pages, in English and in Chinese; and which of the two a browser wants. Pure."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")

WORDS: dict[str, tuple[str, str]] = {
    "tagline": ("A GPU queue", "GPU 任务队列"),
    "other": ("中文", "English"),
    "login": ("Log in", "登录"),
    "login lead": ("With your name here and your password.", "请输入用户名和密码。"),
    "user": ("User", "用户名"),
    "password": ("Password", "密码"),
    "no password": (
        "No password? On the server's machine, {} makes a link to log in with.",
        "没有密码？在服务器上运行 {}，即可得到登录链接。",
    ),
    "wrong": ("User or password is wrong.", "用户名或密码错误。"),
    "wait": ("Too many tries. Please wait {} s.", "尝试次数过多，请等待 {} 秒。"),
    "locked": ("This account is locked. Ask an administrator.", "该账号已被锁定，请联系管理员。"),
    "welcome": ("Welcome to Roost", "欢迎使用 Roost"),
    "link login": ("This link logs this browser in as {}, once.", "此链接可让本浏览器以 {} 的身份登录，仅限一次。"),
    "link password": (
        "This link lets {} choose a password, once, and logs this browser in.",
        "此链接供 {} 设置密码并登录本浏览器，仅限一次。",
    ),
    "link first": (
        "This link makes the first administrator of this server, once.",
        "此链接用于创建本服务器的第一位管理员，仅限一次。",
    ),
    "go on as": ("Log in as {}", "以 {} 的身份登录"),
    "name": ("Your name here", "用户名"),
    "new password": ("New password", "新密码"),
    "again": ("The same again", "再次输入"),
    "old password": ("Present password", "当前密码"),
    "password rule": ("At least ten characters; several unrelated words are good.", "至少十个字符，几个互不相关的词为佳。"),
    "differ": ("The two passwords differ.", "两次输入的密码不一致。"),
    "set password": ("Set the password", "设置密码"),
    "make admin": ("Become administrator", "成为管理员"),
    "logout": ("Log out", "退出登录"),
    "account": ("Account", "账号"),
    "home": ("Overview", "概览"),
    "logged in as": ("Logged in as {}", "当前用户：{}"),
    "administrator": ("administrator", "管理员"),
    "runs as": ("Jobs run as {}", "任务以 {} 的身份运行"),
    "runs as nobody": (
        "No UNIX account is tied to you: an administrator ties one before you can run jobs.",
        "您尚未绑定系统账号，请管理员绑定后再运行任务。",
    ),
    "notice": ("Notice by {}", "{} 的公告"),
    "gpus": ("GPUs", "GPU"),
    "gpus free": ("{} of {} free", "共 {1} 块，空闲 {0} 块"),
    "no gpus": ("There is no GPU.", "没有 GPU。"),
    "your jobs": ("Your jobs", "我的任务"),
    "no jobs": ("You have no jobs. The first one: {}", "您还没有任务。提交第一个：{}"),
    "waiting": ("waiting", "排队"),
    "job": ("Job", "任务"),
    "job name": ("Name", "名称"),
    "state": ("State", "状态"),
    "command": ("Command", "命令"),
    "memory": ("Memory", "显存"),
    "used by": ("Used by", "使用者"),
    "change password": ("Change the password", "修改密码"),
    "choose password": ("Choose a password", "设置密码"),
    "password done": (
        "The password is set. Other browsers are logged out.",
        "密码已设置，其他浏览器已退出登录。",
    ),
    "tokens": ("Tokens", "访问令牌"),
    "tokens lead": (
        "For programs and for {}. A token is shown once, when it is made.",
        "供程序和 {} 使用。令牌仅在创建时显示一次。",
    ),
    "no tokens": ("You have none.", "暂无令牌。"),
    "label": ("What it is for", "用途"),
    "made": ("Made", "创建时间"),
    "used": ("Last used", "最近使用"),
    "expires": ("Ends", "到期"),
    "never": ("never", "从不"),
    "days": ("Days that it lives; empty: until revoked", "有效天数；留空则直至撤销"),
    "new token": ("Make a token", "创建令牌"),
    "token done": ("This is the token {}. Copy it now: it is not shown again.", "令牌 {} 如下，请立即复制，之后不再显示。"),
    "revoke": ("Revoke", "撤销"),
    "revoked": ("The token has ended.", "令牌已撤销。"),
    "hint": ("More by the command line: {}", "更多操作请使用命令行：{}"),
    "refused": ("That did not work", "操作未完成"),
    "not found": ("There is nothing here", "页面不存在"),
    "back": ("Back to the overview", "返回概览"),
    "state free": ("free", "空闲"),
    "state used": ("in use", "使用中"),
    "state foreign": ("used by others", "被占用"),
    "state drained": ("drained", "已排空"),
    "state disabled": ("disabled", "已停用"),
    "state fault": ("fault", "故障"),
    "state unreachable": ("unreachable", "无法连接"),
    "state unknown": ("unknown", "未知"),
    "state held": ("held", "已挂起"),
    "state queued": ("queued", "排队中"),
    "state starting": ("starting", "启动中"),
    "state running": ("running", "运行中"),
    "state paused": ("paused", "已暂停"),
    "state stopping": ("stopping", "停止中"),
    "state succeeded": ("succeeded", "成功"),
    "state failed": ("failed", "失败"),
    "state cannot_start": ("could not start", "无法启动"),
    "state out_of_memory": ("out of memory", "内存不足"),
    "state timed_out": ("timed out", "超时"),
    "state killed": ("killed", "已终止"),
    "state lost": ("lost", "丢失"),
}


class Words:
    """The words of one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._at = LANGUAGES.index(language)

    def __call__(self, key: str) -> str:
        return WORDS[key][self._at]

    def state(self, state: str) -> str:
        """A state or an outcome; one without a word stands for itself."""
        found = WORDS.get(f"state {state}")
        return found[self._at] if found else state.replace("_", " ")


def chosen(asked: str | None, remembered: str | None, accepted: str) -> Language:
    """The language: the one asked for, else the one of last time, else what the browser likes best."""
    for wish in (asked, remembered):
        if wish in LANGUAGES:
            return wish
    return _liked(accepted[:500])


def _liked(accepted: str) -> Language:
    """The first of ours in `Accept-Language`, by weight."""
    ranked: list[tuple[float, int, str]] = []
    for at, part in enumerate(accepted.split(",")):
        name, _, weight = part.strip().partition(";q=")
        try:
            ranked.append((-float(weight or 1), at, name.strip().lower()))
        except ValueError:
            continue
    for _, _, name in sorted(ranked):
        for language in LANGUAGES:
            if name.partition("-")[0] == language:
                return language
    return "en"
