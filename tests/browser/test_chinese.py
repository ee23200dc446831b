"""What the server says is Chinese on Chinese pages: a refusal, a node in trouble, a bad start, a weak password."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect
from tests.box import until
from tests.browser.site import Site

CHINESE = "zh-CN"


def window(site: Site, user: str | None = None) -> Page:
    """A browser that wants Chinese."""
    return site.window(user, locale=CHINESE)


def test_a_job_that_can_never_run_is_refused_in_chinese(site: Site) -> None:
    site.allow("status of 422", "status of 400")
    page = window(site, "ada")
    page.goto("/submit")
    page.get_by_role("textbox", name="命令", exact=True).fill("python train.py")
    page.locator("input[id$=-gpus]").fill("9")
    expect(page.locator("main")).to_contain_text("申请了 9 块 GPU，本机只有 4 块")
    page.get_by_role("button", name="English").click()  # the same refusal, in the other language
    expect(page.locator("main")).to_contain_text("9 GPUs requested; this machine has 4")


def test_a_setting_that_is_wrong_and_a_node_that_does_not_answer(site: Site) -> None:
    site.allow("status of 400", "status of 503")
    page = window(site, "ada")
    page.goto("/settings")
    proxies = page.locator('[data-setting="http.proxies"]')
    proxies.locator("input").fill("nonsense")
    proxies.locator("input").press("Enter")
    expect(proxies.get_by_role("alert")).to_have_text("http.proxies：nonsense 不是地址，也不是网段（例如 10.0.0.0/8）")
    page = site.owners_window(locale=CHINESE)
    page.goto("/nodes")
    page.get_by_role("button", name="添加节点").click()
    dialog = page.get_by_role("dialog", name="添加节点")
    dialog.get_by_label("名称").fill("p1")
    dialog.get_by_label("地址").fill("ssh://root@127.0.0.1:1")
    dialog.get_by_role("button", name="添加节点").click()
    expect(dialog.get_by_role("alert")).to_contain_text("机器已开机，但端口 1 上没有 sshd：请检查端口")
    expect(dialog.get_by_role("alert")).to_contain_text("systemctl status ssh")


def test_a_job_that_could_not_start_says_so_in_chinese(site: Site) -> None:
    job = site.box.submit("--gpus", 0, "--cwd", "/nowhere/at/all", "--", "true", cwd=site.box.work)
    until("it has ended", lambda: site.box.http("GET", f"/jobs/{job}").json["state"] == "ended", within_s=60)
    page = window(site, "ada")
    page.goto(f"/jobs/{job}")
    expect(page.get_by_test_id("job-error")).to_have_text("目录不存在：/nowhere/at/all")


def test_a_password_that_is_too_easy_and_a_link_that_is_too_old(site: Site) -> None:
    site.allow("status of 400", "status of 404")
    page = window(site)
    page.goto(site.box.json("user", "add", "carl", "--unix", "none")["users"][0]["link"])
    for name in ("new", "again"):
        page.locator(f"input[name={name}]").fill("carl carl carl")
    page.get_by_role("button", name="设置密码").click()
    expect(page.get_by_role("alert")).to_have_text("密码强度不够：其中含有用户名")
    page.goto("/welcome/nothing")
    expect(page.locator("main")).to_contain_text(re.compile("此链接已使用或已过期.*请重新获取：运行 roost web"))
