"""Translate a user's defaults between the command line (`mem=8G time=2h`) and JobSpec keys.

Pure. `DEFAULT_OPTIONS` of `job_options` lists the options that can be defaults.
"""

from roost.cli.parse import job_options, values
from roost.cli.parse.options import FLAG, Any, Iterable, Json, Mapping, UsageError, Verb, parse

_YES, _NO = ("on", "yes", "true", "1", ""), ("off", "no", "false", "0")
_EXCLUDE = {"mem_mib": ("mem_auto", "exclusive"), "mem_auto": ("mem_mib", "exclusive"), "exclusive": ("mem_mib", "mem_auto")}


def assigned(pairs: "Iterable[str]") -> Json:
    """`mem=8G preemptible=on` as JobSpec keys; None for what is switched off."""
    words: list[str] = []
    off: Json = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        option = job_options.option_of(name)
        if option.kind is FLAG:
            if text.lower() not in (*_YES, *_NO):
                raise UsageError("cli.on_or_off", pair=pair)
            if text.lower() in _NO:
                off |= dict.fromkeys(job_options.API_KEYS[option.dest])
            else:
                words.append(option.names[-1])
        elif not equals or not text:
            raise UsageError("cli.default_form", pair=pair, name=name, metavar=option.metavar)
        else:
            words.append(f"{option.names[-1]}={text}")
    verb = Verb("defaults set", "", options=job_options.JOB_OPTIONS)
    return {**off, **job_options.spec_of(parse(verb, words))}


def merged(current: "Mapping[str, Any]", new: "Mapping[str, Any]") -> Json:
    """The current defaults with the new ones; what conflicts with a new one is removed."""
    gone = {other for key in new if new[key] for other in _EXCLUDE.get(key, ())}
    kept = {key: value for key, value in current.items() if key not in gone or key in new}
    return {key: value for key, value in {**kept, **new}.items() if value is not None}


def typed(defaults: "Mapping[str, Any]") -> list[str]:
    """Defaults as they would be typed, one text for each."""
    found = []
    for key, value in defaults.items():
        if key == "open":
            found.append(f"{value}=on")
        elif key == "stderr" and value == "stdout":
            found.append("merge=on")
        else:
            found.append(f"{_name_of(key)}={_text(key, value)}")
    return found


def _name_of(key: str) -> str:
    for name, option in job_options.DEFAULT_OPTIONS.items():
        if key in job_options.API_KEYS[option.dest]:
            return name
    return key


def _text(key: str, value: "Any") -> str:
    if key == "mem_auto":
        return values.AUTO
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ",".join(map(str, value))
    if key.endswith("_mib"):
        return f"{value // 1024}G" if value % 1024 == 0 else f"{value}M"
    if key.endswith("_s"):
        return "".join(f"{count}{name[0]}" for count, name in values.in_units(value)) or "0s"
    return str(value)
