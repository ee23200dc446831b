"""A copy of every line of the audit for the machine's own log: systemd's journal, else syslog; nothing where neither is.

A line leaves with its number and its hash, so that what is kept there, or where it is sent on, proves the audit of the
database. Never waits: a line that a full log does not take is missing there, and its number shows it.
"""

import contextlib
import os
import socket
from collections.abc import Iterable

from roost.store.rows import AuditRow

JOURNAL, SYSLOG = "/run/systemd/journal/socket", "/dev/log"
NAME = "roost-audit"
_NOTICE = 5
_AUTHPRIV = 10 << 3
_MOST = 16_384


class AuditCopy:
    """Where the copies go."""

    def __init__(self, journal: str = JOURNAL, syslog: str = SYSLOG) -> None:
        self._journal, self._syslog = journal, syslog

    def tell(self, rows: Iterable[AuditRow]) -> None:
        """Send these lines."""
        is_journal = os.path.exists(self._journal)
        path = self._journal if is_journal else self._syslog
        if not is_journal and not os.path.exists(path):
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            to.setblocking(False)
            for row in rows:
                to.sendto(entry(row) if is_journal else line(row), path)


def entry(row: AuditRow) -> bytes:
    """As the journal takes it: a field a line."""
    fields = {"MESSAGE": _words(row), "PRIORITY": _NOTICE, "SYSLOG_IDENTIFIER": NAME, "SYSLOG_FACILITY": _AUTHPRIV >> 3}
    fields |= {"ROOST_AUDIT_ID": row.id, "ROOST_AUDIT_HASH": row.hash, "ROOST_USER": _plain(row.user)}
    return "".join(f"{key}={value}\n" for key, value in fields.items()).encode("utf-8", "replace")


def line(row: AuditRow) -> bytes:
    """As syslog takes it."""
    return f"<{_AUTHPRIV | _NOTICE}>{NAME}[{os.getpid()}]: {_words(row)}".encode("utf-8", "replace")


def _words(row: AuditRow) -> str:
    said = (f"{row.id} {row.hash}", row.at_ms, row.user, row.via, row.address or "-", row.action, row.target, row.detail)
    return _plain(" ".join(map(str, said)))[:_MOST]


def _plain(text: str) -> str:
    """One line that steers nothing."""
    return "".join(each if each.isprintable() else "?" for each in text)
