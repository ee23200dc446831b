"""The table of settings."""

from __future__ import annotations

import pytest

from roost.core.settings import BY_KEY, DEFAULTS, RENAMED, TABLE, BadSetting, check, unit_of
from roost.messages import LANGUAGES, Message, render


def test_every_default_is_a_value_that_may_be_set() -> None:
    assert {row.key: check(row.key, row.default) for row in TABLE} == DEFAULTS


@pytest.mark.parametrize(("value", "kept"), [("7", 7), (7.0, 7), (0, 0)])
def test_a_whole_number_may_come_as_text(value: object, kept: int) -> None:
    assert check("cpu.slots", value) == kept


@pytest.mark.parametrize("value", ["x", 1.5, None, True, -1, 10**9, [], float("nan"), float("inf")])
def test_what_does_not_fit_is_refused_by_name(value: object) -> None:
    with pytest.raises(BadSetting, match=r"cpu\.slots"):
        check("cpu.slots", value)


@pytest.mark.parametrize("value", [float("nan"), "nan", "inf", -0.1, 1])
def test_a_part_is_a_number_between_its_bounds(value: object) -> None:
    with pytest.raises(BadSetting, match=r"safety\.gpu_mem"):
        check("safety.gpu_mem", value)


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(BadSetting, match="no setting named cpu"):
        check("cpu", 1)


def test_an_old_name_says_the_new_one() -> None:
    for old, new in RENAMED.items():
        with pytest.raises(BadSetting) as refused:
            check(old, 1)
        assert refused.value.said == Message("setting.renamed", key=old, new=new) and new in BY_KEY
    assert BY_KEY.keys().isdisjoint(RENAMED)


def test_every_setting_says_what_it_is_for() -> None:
    for row in TABLE:
        english, chinese = (render(row.meaning, language) for language in LANGUAGES)
        assert english != chinese and "setting.about" not in english + chinese


def test_proxies_are_addresses_or_networks() -> None:
    assert check("http.proxies", "127.0.0.1, 10.0.0.0/8") == "127.0.0.1, 10.0.0.0/8"
    assert check("http.proxies", "") == ""
    with pytest.raises(BadSetting, match=r"^http\.proxies: nginx is not an address or a network"):
        check("http.proxies", "nginx")


def test_what_a_setting_is_counted_in_is_the_end_of_its_name() -> None:
    names = ("job.grace_s", "node.sample_ms", "log.max_mib", "audit.keep_days", "job.max_priority", "policy")
    assert [unit_of(name) for name in names] == ["s", "ms", "MiB", "d", None, None]
