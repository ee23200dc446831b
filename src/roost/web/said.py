"""What a page before a login may be refused with, in Chinese. The dashboard's own words know all that the server says.

Pure. A text that is not here stays as it is.
"""

import re
from functools import cache

from roost.messages import Language

CHINESE: dict[str, str] = {
    "user or password is wrong": "用户名或密码错误",
    "{} is locked": "{} 已被锁定",
    "ask an administrator": "请联系管理员",
    "ask an administrator: roost user unlock {}": "请联系管理员：roost user unlock {}",
    "too many logins at once": "同时登录的请求过多",
    "too many wrong passwords": "密码错误次数过多",
    "try again in {} s": "请在 {} 秒后重试",
    "the first administrator needs a name": "第一位管理员需要用户名",
    "name, and a password of your choice": "请填写用户名和自选的密码",
    "a password is needed": "需要密码",
    "choose one of at least ten characters": "请设置至少十个字符的密码",
    "this password cannot be set: {}": "不能使用此密码：{}",
    "several words that do not belong together are good": "几个互不相关的词为佳",
    "it has {} characters, at least {} are needed": "只有 {} 个字符，至少需要 {} 个",
    "it has {} characters, at most {} are taken": "有 {} 个字符，最多 {} 个",
    "it holds the user's own name": "其中含有用户名",
    "it repeats a few characters": "只是重复几个字符",
    "it is one of the most common passwords, with at most some digits around it": "属于最常见的密码，至多加了几个数字",
    "it is a row of keys or letters": "是一串相邻的按键或字母",
    "this link was used already, or is too old": "此链接已被使用，或已过期",
    "ask for a new one: roost web, or an administrator": "请重新获取：运行 roost web，或联系管理员",
    "there is an administrator already": "已有管理员",
    "log in, or ask for a link: roost web": "请登录，或运行 roost web 获取链接",
    "a user name has at most {} characters, not {}": "用户名最多 {} 个字符，而不是 {} 个",
    "not a name of a user: {}": "不是有效的用户名：{}",
    "letters, digits and _ . - + @, like ana": "可用字母、数字和 _ . - + @，例如 ana",
    "{} is there already": "{} 已存在",
    "there is nothing at {}": "{} 处没有内容",
    "see /api/v1/openapi.json": "见 /api/v1/openapi.json",
    "internal error: {}": "内部错误：{}",
    "this is not the form of a page": "这不是页面的表单",
    "this page was open for too long, or was not ours": "页面打开时间过长，或不是本站的页面",
    "open it again": "请重新打开",
    "a field of the form came twice": "表单的一个字段重复出现",
    "more than {} requests a second": "每秒请求超过 {} 个",
    "more than {} requests at once": "同时请求超过 {} 个",
    "the header {} came twice": "请求头 {} 重复出现",
    "the header Host is missing or makes no sense": "缺少 Host 请求头，或其内容无效",
    "a page of another site asked for this": "此请求来自其他网站的页面",
    "a page of {} asked for this": "此请求来自 {} 的页面",
    "open Roost's own page": "请打开 Roost 自己的页面",
    "the request has {} bytes, at most {} are taken": "请求有 {} 字节，最多接受 {} 字节",
    "the request is longer than {} bytes": "请求超过 {} 字节",
    "send it in parts": "请分批发送",
    "the request broke off": "请求中途断开",
    "the request came too slowly": "请求发送过慢",
    "send it again": "请重新发送",
    "the disk is full": "磁盘已满",
    "free some space": "请清理空间",
    "the server leaves": "服务器正在退出",
    "try again in a moment": "请稍后重试",
}
"""Each `{}` is taken over, in the same order."""
OWN: dict[str, str] = {
    "there is no such file: the page is of an older server": "没有此文件：页面来自旧版服务器",
    "load it again": "请重新加载",
    "the pages are not built": "页面尚未构建",
    "there is no such stylesheet": "没有此样式表",
}
"""What only these pages say."""


def said(text: str, language: Language) -> str:
    """The text in that language; what stands in it is said in that language too, where it is known."""
    if language == "en":
        return text
    for pattern, chinese in _patterns():
        if found := pattern.fullmatch(text):
            return chinese.format(*(said(value, language) for value in found.groups()))
    return text


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """What has most words of its own comes first."""
    ranked = sorted((CHINESE | OWN).items(), key=lambda pair: -len(pair[0].replace("{}", "")))
    return [
        (re.compile("(.*?)".join(map(re.escape, english.split("{}"))), re.DOTALL), chinese) for english, chinese in ranked
    ]
