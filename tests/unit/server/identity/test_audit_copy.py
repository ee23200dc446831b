"""Where copies of the audit go."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

from roost.server.identity.audit_copy import AuditCopy
from roost.store.rows import AuditRow

ROW = AuditRow(7, 12, "ana", "token x\nPRIORITY=0", "192.0.2.1", "kill", "3", "é\x1b[1m", "ab" * 32)


@contextlib.contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as there:
        there.bind(str(path))
        there.settimeout(10)
        yield there


def test_the_journal_gets_each_line_with_its_hash_and_no_field_of_a_users_making(tmp_path: Path) -> None:
    with listening(tmp_path / "journal") as journal, listening(tmp_path / "syslog"):
        AuditCopy(str(tmp_path / "journal"), str(tmp_path / "syslog")).tell([ROW, ROW])
        for _ in range(2):
            fields = dict(one.split("=", 1) for one in journal.recv(1 << 16).decode().splitlines())
            assert fields["ROOST_AUDIT_ID"] == "7" and fields["ROOST_AUDIT_HASH"] == "ab" * 32
            assert fields["PRIORITY"] == "5" and fields["SYSLOG_IDENTIFIER"] == "roost-audit"
            assert fields["MESSAGE"] == f"7 {'ab' * 32} 12 ana token x?PRIORITY=0 192.0.2.1 kill 3 é?[1m"


def test_syslog_where_there_is_no_journal(tmp_path: Path) -> None:
    with listening(tmp_path / "syslog") as syslog:
        AuditCopy(str(tmp_path / "journal"), str(tmp_path / "syslog")).tell([ROW])
        assert syslog.recv(1 << 16).startswith(b"<85>roost-audit[")


def test_nothing_waits_for_a_log_that_is_full_or_gone(tmp_path: Path) -> None:
    with listening(tmp_path / "syslog"):
        AuditCopy(str(tmp_path / "journal"), str(tmp_path / "syslog")).tell([ROW] * 10_000)
    AuditCopy(str(tmp_path / "journal"), str(tmp_path / "syslog")).tell([ROW])
