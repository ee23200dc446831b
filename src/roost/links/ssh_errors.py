"""What the `ssh` client says when it fails, as a message that a person can act on: what failed, and what to type.

Pure. Knows the texts of OpenSSH (tested on recorded ones) and which step of a login each of them belongs to.
"""

import re
from dataclasses import dataclass

from roost.links.link import plain as one_line
from roost.messages import Message, hint_of, plain

REACHABLE, HOST_KEY, LOGIN, PYTHON = "reachable", "host key", "login", "python"
"""The steps of a contact, in their order. What failed at one has passed those before it."""

NO_PYTHON = "no Python 3.8 or later"
"""How the line begins that our own shell script prints on the other side when it finds none."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a contact failed: at which step (None: not known), what failed, and what to do."""

    step: str | None
    text: Message
    hint: Message | None


def explain(stderr: str, target: str, node: str) -> tuple[Message, Message | None]:
    """What failed, and what to do."""
    trouble = understand(stderr, target, node)
    return trouble.text, trouble.hint


def understand(stderr: str, target: str, node: str) -> Trouble:
    """The first of the rules that the client's words fit; else the last of its lines that says anything."""
    stderr = stderr[-MAX_READ:]
    for rule in _RULES:
        if found := re.search(rule.words, stderr, re.MULTILINE):
            said = Message(rule.code, line=_line(stderr, found), target=target, node=node, copy_id=_copy_id(target))
            said.params.update({name: one_line(text or "", 100) for name, text in found.groupdict().items()})
            return Trouble(rule.step, said, hint_of(said))
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not re.match(_NOISE, line.strip())]
    text = plain(one_line(lines[-1])) if lines else Message("ssh.silent")
    return Trouble(None, text, Message("ssh.by_hand", target=target))


@dataclass(frozen=True, slots=True)
class _Rule:
    """`words`: what ssh says; its named groups are parameters of the message `code`."""

    step: str | None
    code: str
    words: str


MAX_READ = 8192
"""Characters of what ssh said that are read, from the end."""
_NOISE = r"@|\*\* |debug\d|Warning: Permanently added|Pseudo-terminal will not|ssh_askpass|Could not chdir to home directory"
_CONNECT = r"^ssh: connect to host (?P<host>\S+) port (?P<port>\d+): "

# In this order. The cause comes before what follows from it: "Permission denied" after a key that could not be read; but a
# key that is not there is no cause where no machine answered.
_RULES = (
    _Rule(PYTHON, "ssh.no_python", rf"^.*(?P<found>{NO_PYTHON}.*)$"),
    _Rule(
        None,
        "ssh.bad_config",
        r"^(?P<file>.+?):? line (?P<at>\d+): (?P<why>Bad .+|[Uu]nsupported .+|[Mm]issing .+|.*no argument.*)$",
    ),
    _Rule(None, "ssh.unread_config", r"^(?:Bad owner or permissions on|Can't open user config file) .+?(?:: .*)?$"),
    _Rule(None, "ssh.not_installed", r"^.*(?:\bssh: (?:command )?not found|No such file or directory: '(?:\S*/)?ssh').*$"),
    _Rule(REACHABLE, "ssh.unknown_host", r"(?i)^ssh: Could not resolve hostname (?P<host>\S+?): .*$"),
    _Rule(REACHABLE, "ssh.refused", _CONNECT + "Connection refused"),
    _Rule(REACHABLE, "ssh.timed_out", _CONNECT + ".*timed out"),
    _Rule(REACHABLE, "ssh.no_route", _CONNECT + "(?:No route to host|Network is unreachable|Host is down)"),
    _Rule(REACHABLE, "ssh.timed_out", _CONNECT + ".*"),
    _Rule(
        REACHABLE,
        "ssh.cut",
        r"^(?:Timeout, server .* not responding|client_loop: send disconnect|Connection to .* closed by remote)",
    ),
    _Rule(
        HOST_KEY,
        "ssh.host_key_changed_to",
        r"REMOTE HOST IDENTIFICATION HAS CHANGED(?:.*\n)*?"
        r"The fingerprint for the (?P<kind>\S+) key sent .*\n(?P<host_key>\S+?)\.?\s*$",
    ),
    _Rule(HOST_KEY, "ssh.host_key_changed", r"REMOTE HOST IDENTIFICATION HAS CHANGED"),
    _Rule(HOST_KEY, "ssh.host_key_unknown", r"^No \S+ host key is known for \S+"),
    _Rule(HOST_KEY, "ssh.host_key_wrong", r"^Host key verification failed"),
    _Rule(
        LOGIN,
        "ssh.key_open",
        r"UNPROTECTED PRIVATE KEY FILE(?:.*\n)*?Permissions (?P<mode>\d+) for '(?P<key>.+)' are too open",
    ),
    _Rule(LOGIN, "ssh.no_key", r"(?i)no such identity: (?P<key>.+?): No such file"),
    _Rule(LOGIN, "ssh.no_key", r"(?i)Identity file (?P<key>.+?) not accessible: No such file"),
    _Rule(LOGIN, "ssh.bad_key", r'^Load key "(?P<key>.+?)": (?P<why>.+)$'),
    _Rule(LOGIN, "ssh.too_many_keys", r"Too many authentication failures"),
    _Rule(LOGIN, "ssh.no_ticket", r"^.*Permission denied \(\S*gssapi\S*\)"),
    _Rule(LOGIN, "ssh.denied", r"^.*Permission denied \([^)]*\)"),
    _Rule(
        LOGIN,
        "ssh.no_shell",
        r"^.*(?:account is currently not available|[Pp]assword (?:has expired|change required)|not permitted to log in).*$",
    ),
    _Rule(
        LOGIN,
        "ssh.no_more_sessions",
        r"^.*(?:Session open refused by peer|(?:exec|shell|session) request failed|connect failed: open failed).*$",
    ),
    _Rule(REACHABLE, "ssh.jump_blocked", r"^(?:stdio forwarding failed|channel \d+: open failed: .*)$"),
    _Rule(
        REACHABLE,
        "ssh.nothing_in_common",
        r"^Unable to negotiate with \S+ port \d+: (?P<why>no matching .+? found)\. Their offer: (?P<offer>\S+)",
    ),
    _Rule(REACHABLE, "ssh.jump_failed", r"^Connection (?:closed|reset) by UNKNOWN port 65535"),
    _Rule(REACHABLE, "ssh.no_banner", r"^.*(?:timed out during banner exchange|Connection to .+ timed out).*$"),
    _Rule(REACHABLE, "ssh.closed_early", r"^(?:kex|ssh)_exchange_identification: .*$"),
    _Rule(REACHABLE, "ssh.closed", r"^Connection (?:closed|reset) by (?!remote host).*$"),
)


def _line(stderr: str, found: re.Match[str]) -> str:
    """The line on which the words begin."""
    begin = stderr.rfind("\n", 0, found.start()) + 1
    return one_line(stderr[begin:].split("\n", 1)[0].strip())


def _copy_id(target: str) -> str:
    """The command that puts a public key there."""
    url = re.fullmatch(r"ssh://(.+?)(?::(\d+))?/?", target)
    if url is None:
        return f"ssh-copy-id {target}"
    return f"ssh-copy-id -p {url[2]} {url[1]}" if url[2] else f"ssh-copy-id {url[1]}"
