"""Large answers are compressed for clients that accept it, and have the same content."""

from __future__ import annotations

import json
import zlib

from tests.contract.browser import Browser, add_user
from tests.contract.conftest import Api


async def test_a_long_list_is_packed_for_a_browser_that_takes_it_so(api: Api) -> None:
    for n in range(20):
        await api.submit(gpus=0, name=f"job {n}", hold=True)
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    plain = await browser.ask("GET", "/api/v1/jobs?all=true&sort=id")
    packed = await browser.ask("GET", "/api/v1/jobs?all=true&sort=id", accept_encoding="gzip, br")
    assert "content-encoding" not in dict(plain.headers) and packed.header("content-encoding") == "gzip"
    assert int(packed.header("content-length")) == len(packed.body) < len(plain.body) / 2
    assert json.loads(zlib.decompress(packed.body, wbits=31))["jobs"] == json.loads(plain.body)["jobs"]


async def test_what_is_small_is_left_as_it_is(api: Api) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    seen = await browser.ask("GET", "/api/v1/notice", accept_encoding="gzip")
    assert seen.status == 200 and "content-encoding" not in dict(seen.headers)
