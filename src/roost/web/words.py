"""Every word of the pages before a login, in English and in Chinese; and which of the two a browser wants. Pure."""

from roost.messages import LANGUAGES, Language, languages_accepted

WORDS: dict[str, tuple[str, str]] = {
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
    "password rule": ("At least ten characters; several unrelated words are good.", "至少十个字符，几个互不相关的词为佳。"),
    "differ": ("The two passwords differ.", "两次输入的密码不一致。"),
    "set password": ("Set the password", "设置密码"),
    "make admin": ("Become administrator", "成为管理员"),
    "logout": ("Log out", "退出登录"),
    "home": ("Overview", "概览"),
    "refused": ("That did not work", "操作未完成"),
    "not found": ("There is nothing here", "页面不存在"),
    "back": ("Back to the overview", "返回概览"),
}


class Words:
    """The words of one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._at = LANGUAGES.index(language)

    def __call__(self, key: str) -> str:
        return WORDS[key][self._at]


def chosen(asked: str | None, remembered: str | None, accepted: str) -> Language:
    """The language: the one asked for, else the one of last time, else what the browser likes best."""
    for language in LANGUAGES:
        if language == (asked if asked in LANGUAGES else remembered):
            return language
    return languages_accepted(accepted)
