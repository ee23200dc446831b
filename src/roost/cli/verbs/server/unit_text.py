"""The text of the systemd unit that `roost install` writes. Pure: words in, text out; runs nothing, reads nothing."""

from roost.cli.parse.options import Mapping, Sequence

MARK = "# Written by `roost install`, taken away by `roost uninstall`."

_HEAD = """\
{mark} Changes of your own: `systemctl{user} edit roost`.
[Unit]
Description=Roost, a queue for the GPUs of this machine
{after}
[Service]
Type=notify
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
{environment}\
Restart=on-failure
RestartSec=2
# 2: it was told nonsense; 75: another server has this state. Neither gets better by trying again.
RestartPreventExitStatus=2 75
TimeoutStartSec=10min
TimeoutStopSec=1min

# Jobs and the node program that watches them live in this unit and outlive the server. A stop or restart ends the server
# alone (killed after a minute if it hangs: its state is on disk), and the next one finds them all.
KillMode=process
Delegate=yes
# A job that runs out of memory is no reason to stop the server.
OOMPolicy=continue
TasksMax=infinity
LimitNOFILE=65536:524288
"""
_LAST = """
# No ProtectHome=, PrivateTmp=, NoNewPrivileges=, OOMScoreAdjust= and the like: jobs inherit them, and jobs are to find the
# machine as their owners know it.

[Install]
WantedBy={target}
"""
_SYSTEM_ONLY = "LimitMEMLOCK=infinity\n"
_SYSTEM_DIRECTORIES = """
StateDirectory=roost
StateDirectoryMode=0711
RuntimeDirectory=roost
RuntimeDirectoryMode=0755
RuntimeDirectoryPreserve=yes
"""
_AFTER_BOOT = """\
After=network-online.target nss-user-lookup.target nvidia-persistenced.service
Wants=network-online.target
"""


def unit_text(command: "Sequence[str]", environment: "Mapping[str, str]", *, is_system: bool) -> str:
    """The unit of a server that is started by `command`. With `ROOST_HOME` in the environment, all state is there."""
    text = _HEAD.format(
        mark=MARK,
        user="" if is_system else " --user",
        after=_AFTER_BOOT if is_system else "",
        command=exec_line(command),
        environment="".join(f"Environment={quoted(f'{name}={value}')}\n" for name, value in environment.items()),
    )
    if is_system:
        text += _SYSTEM_ONLY
        if "ROOST_HOME" not in environment:
            text += _SYSTEM_DIRECTORIES
    return text + _LAST.format(target="multi-user.target" if is_system else "default.target")


def exec_line(words: "Sequence[str]") -> str:
    """A command as `ExecStart=` takes it. Variables are replaced everywhere but in the program's own name."""
    program, *rest = words
    return " ".join([quoted(program), *(quoted(word.replace("$", "$$")) for word in rest)])


def quoted(word: str) -> str:
    """One word for a unit file: specifiers off, quoted where it must be."""
    word = word.replace("%", "%%")
    if word and all(char.isalnum() or char in "/._-=:,+@%$[]" for char in word):
        return word
    return '"' + "".join(_ESCAPES.get(char, char) for char in word) + '"'


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
