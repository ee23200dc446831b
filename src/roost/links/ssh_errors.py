"""What the `ssh` client says when it cannot, in words that a person can act on: one clear line, and what to type.

Pure. Knows the texts of OpenSSH (tested on recorded ones) and which step of a login each of them belongs to.
"""

import re
from dataclasses import dataclass

from roost.links.link import plain

REACHABLE, HOST_KEY, LOGIN, PYTHON = "reachable", "host key", "login", "python"
"""The steps of a contact, in their order. What failed at one has passed those before it."""

NO_PYTHON = "no Python 3.8 or later"
"""How the line begins that our own words on the other side say when they find none."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a contact failed: at which step (None: not known), and in words."""

    step: str | None
    text: str
    hint: str | None


def explain(stderr: str, target: str, node: str) -> tuple[str, str | None]:
    """One clear line, and what to type; for whoever needs no more than that."""
    trouble = understand(stderr, target, node)
    return trouble.text, trouble.hint


def understand(stderr: str, target: str, node: str) -> Trouble:
    """The first of the rules that the client's words fit; else the last of its lines that says anything."""
    stderr = stderr[-_MOST:]
    for rule in _RULES:
        if found := re.search(rule.words, stderr, re.MULTILINE):
            values = {"line": _line(stderr, found), "target": target, "node": node, "copy_id": _copy_id(target)}
            values |= {f"g{number}": plain(text or "", 100) for number, text in enumerate(found.groups(), 1)}
            return Trouble(rule.step, rule.text.format(**values), rule.hint.format(**values))
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not re.match(_NOISE, line.strip())]
    text = plain(lines[-1]) if lines else "ssh ended without a word"
    return Trouble(None, text, _BY_HAND.format(target=target))


@dataclass(frozen=True, slots=True)
class _Rule:
    step: str | None
    words: str
    text: str
    hint: str


_MOST = 8192
_NOISE = r"@|\*\* |debug\d|Warning: Permanently added|Pseudo-terminal will not|ssh_askpass|Could not chdir to home directory"
_BY_HAND = "try it by hand on the server's machine, as the account that the server runs as: ssh -v {target} true"
_SILENT = "is it switched on, and does a firewall let port {g2} through? on the server's machine: ping -c 3 {g1}"
_NEW_KEY = "compare it on {node} itself (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub), then: roost node trust {node}"
_TOO_OLD = "its sshd is too old or too new for this ssh; allow what it offers for this host in ~/.ssh/config of the server"

# In this order. The cause comes before what follows from it: "Permission denied" after a key that could not be read; but a
# key that is not there is no cause where no machine answered.
_RULES = (
    _Rule(
        PYTHON,
        rf"^.*({NO_PYTHON}.*)$",
        "{g1}",
        "install one there (apt install python3), or name it: roost node add {node} --python PATH",
    ),
    _Rule(
        None,
        r"^(.+?):? line (\d+): (Bad .+|[Uu]nsupported .+|[Mm]issing .+|.*no argument.*)$",
        "the server's ssh configuration is wrong: {g1}, line {g2}: {g3}",
        "mend that line; ssh -G {target} says whether it is right",
    ),
    _Rule(
        None,
        r"^(?:Bad owner or permissions on|Can't open user config file) (.+?)(?:: .*)?$",
        "ssh does not read its configuration: {line}",
        "on the server's machine: it must exist, be its account's own and be closed to others (chmod 600)",
    ),
    _Rule(
        None,
        r"^.*(?:\bssh: (?:command )?not found|No such file or directory: '(?:\S*/)?ssh').*$",
        "there is no ssh on the server's machine",
        "apt install openssh-client",
    ),
    _Rule(
        REACHABLE,
        r"(?i)^ssh: Could not resolve hostname (\S+?): .*$",
        "{line}",
        "is the name right? on the server's machine: getent hosts {g1}; or give the address: ssh://USER@10.0.0.3",
    ),
    _Rule(
        REACHABLE,
        r"^ssh: connect to host (\S+) port (\d+): Connection refused",
        "{line}",
        "the machine is there, sshd is not at port {g2}: systemctl status ssh there; is the port right?",
    ),
    _Rule(REACHABLE, r"^ssh: connect to host (\S+) port (\d+): .*timed out", "{line}", _SILENT),
    _Rule(
        REACHABLE,
        r"^ssh: connect to host (\S+) port (\d+): (?:No route to host|Network is unreachable|Host is down)",
        "{line}",
        "nothing answers there: is it switched on, is the address right? on the server's machine: ip route get {g1}",
    ),
    _Rule(REACHABLE, r"^ssh: connect to host (\S+) port (\d+): .*", "{line}", _SILENT),
    _Rule(
        REACHABLE,
        r"^(?:Timeout, server .* not responding|client_loop: send disconnect|Connection to .* closed by remote)",
        "the connection to {node} was cut",
        "another try follows by itself; roost node check {node} says what it finds",
    ),
    _Rule(
        HOST_KEY,
        r"REMOTE HOST IDENTIFICATION HAS CHANGED(?:.*\n)*?The fingerprint for the (\S+) key sent .*\n(\S+?)\.?\s*$",
        "the host key of {node} has changed: it is {g2} ({g1}) now, so nothing was sent there",
        _NEW_KEY,
    ),
    _Rule(HOST_KEY, r"REMOTE HOST IDENTIFICATION HAS CHANGED", "the host key of {node} has changed", _NEW_KEY),
    _Rule(
        HOST_KEY,
        r"^No (\S+) host key is known for (\S+)",
        "nobody has said yet which host key {node} has",
        "roost node trust {node}",
    ),
    _Rule(HOST_KEY, r"^Host key verification failed", "the host key of {node} is not the one that is known", _NEW_KEY),
    _Rule(
        LOGIN,
        r"UNPROTECTED PRIVATE KEY FILE(?:.*\n)*?Permissions (\d+) for '(.+)' are too open",
        "the key file {g2} can be read by others (mode {g1}), so ssh does not use it",
        "on the server's machine: chmod 600 {g2}",
    ),
    _Rule(
        LOGIN,
        r"(?i)(?:no such identity: (.+?): |Identity file (.+?) not accessible: )No such file",
        "there is no key file {g1}{g2} on the server's machine",
        "name the right one: roost node add {node} {target} --key FILE",
    ),
    _Rule(
        LOGIN,
        r'^Load key "(.+?)": (.+)$',
        "the key file {g1} cannot be used: {g2}",
        "on the server's machine: ssh-keygen -y -f {g1} must print its public half without asking",
    ),
    _Rule(
        LOGIN,
        r"Too many authentication failures",
        "{node} hung up after too many wrong keys",
        "the agent offers all it has; name the right one: roost node add {node} {target} --key FILE",
    ),
    _Rule(
        LOGIN,
        r"^.*Permission denied \((\S*gssapi\S*)\)",
        "{line}",
        "no valid ticket or key: on the server's machine, as its account: klist, then kinit; or a key: {copy_id}",
    ),
    _Rule(
        LOGIN,
        r"^.*Permission denied \(([^)]*)\)",
        "{line}",
        "ssh must get in without being asked for anything (a passphrase: in the agent); --key FILE, or: {copy_id}",
    ),
    _Rule(
        LOGIN,
        r"^.*(?:account is currently not available|[Pp]assword (?:has expired|change required)|not permitted to log in).*$",
        "{line}",
        "the login exists and may not run commands: give it a shell there (chsh), or log in as another",
    ),
    _Rule(
        LOGIN,
        r"^.*(?:Session open refused by peer|(?:exec|shell|session) request failed|connect failed: open failed).*$",
        "{node} lets this login open no more sessions",
        "raise MaxSessions in its sshd_config, or let ssh use a connection for each (ControlMaster no)",
    ),
    _Rule(
        REACHABLE,
        r"^(?:stdio forwarding failed|channel \d+: open failed: (.*))$",
        "the jump host lets nothing through to {node}: {line}",
        "is {node} up, and reachable from the jump host? ssh -v {target} true shows each step",
    ),
    _Rule(
        REACHABLE,
        r"^Unable to negotiate with (\S+) port (\d+): (no matching .+? found)\. Their offer: (\S+)",
        "{node} and this ssh have nothing in common: {g3} (it offers {g4})",
        _TOO_OLD,
    ),
    _Rule(
        REACHABLE,
        r"^Connection (?:closed|reset) by UNKNOWN port 65535",
        "the jump host or ProxyCommand on the way to {node} gave up",
        "what does it say? ssh -v {target} true, on the server's machine",
    ),
    _Rule(
        REACHABLE,
        r"^.*(?:timed out during banner exchange|Connection to .+ timed out).*$",
        "{node} took the connection and says nothing: overloaded, or no sshd",
        "look at its load there (uptime); another try follows by itself",
    ),
    _Rule(
        REACHABLE,
        r"^(?:kex|ssh)_exchange_identification: .*$",
        "{node} hung up before the login",
        "too many logins at once (MaxStartups in its sshd_config), or it bars this address: journalctl -u ssh there",
    ),
    _Rule(
        REACHABLE,
        r"^Connection (?:closed|reset) by (?!remote host).*$",
        "{node} hung up: {line}",
        "its sshd may bar this address or have too many logins at once (MaxStartups): journalctl -u ssh there",
    ),
)


def _line(stderr: str, found: re.Match[str]) -> str:
    """The line on which the words begin."""
    begin = stderr.rfind("\n", 0, found.start()) + 1
    return plain(stderr[begin:].split("\n", 1)[0].strip())


def _copy_id(target: str) -> str:
    """The command that puts a public key there."""
    url = re.fullmatch(r"ssh://(.+?)(?::(\d+))?/?", target)
    if url is None:
        return f"ssh-copy-id {target}"
    return f"ssh-copy-id -p {url[2]} {url[1]}" if url[2] else f"ssh-copy-id {url[1]}"
