"""Checks of this machine for `roost doctor`: everything that can be examined with or without a running server.

Each check is one function. It returns `{name, ok, text, hint}` like the checks of a node: `ok` is None for what is unknown
or a matter of taste. Texts are messages of the catalogue `check`.
"""

import contextlib
import fcntl
import os
import sqlite3
import stat
import time

from roost.cli.parse.options import Any, Callable, Json
from roost.messages.terminal import with_hint

LEAST_MIB, LEAST_INODES = 1024, 10_000
BACKUP_DAYS, CERTIFICATE_DAYS = 7, 14
STORE_LIMIT_S = 20.0
_DAY_S = 86_400


def verdict(name: str, ok: bool | None, code: str, /, **params: "Any") -> Json:
    """The result of a check."""
    text, hint = with_hint(code, params)
    return {"name": name, "ok": ok, "text": text, "hint": hint}


def local_checks(home: str, status: Json | None) -> list[Json]:
    """Every check of this machine. `status` is the answer of the server of this home, if it runs."""
    checks: tuple[Callable[[], Json], ...] = (
        lambda: check_home(home),
        lambda: check_disk(home),
        lambda: check_lock(home, is_up=status is not None),
        lambda: check_store(home),
        lambda: check_backup(home),
        lambda: check_certificate(home),
        check_unit,
        check_driver,
        check_cgroups,
    )
    return [check() for check in checks]


def check_home(home: str) -> Json:
    """Whether the home belongs to this account, and no other account can change it."""
    try:
        held = os.stat(home)
    except OSError as error:
        return verdict("home", None, "check.doctor_no_home", home=home, why=error.strerror)
    if held.st_uid != os.geteuid() and os.geteuid() != 0:
        return verdict("home", None, "check.doctor_home_of_another", home=home)
    if held.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return verdict("home", False, "check.doctor_home_writable", home=home)
    return verdict("home", True, "check.doctor_home", home=home)


def check_disk(home: str) -> Json:
    """Free space and inodes of the file system of the home."""
    place = home
    while not os.path.isdir(place) and place != "/":
        place = os.path.dirname(place)
    room = os.statvfs(place)
    mib = room.f_bavail * room.f_frsize >> 20
    if mib < LEAST_MIB:
        return verdict("disk", False, "check.doctor_disk_full", mib=mib, home=home)
    if room.f_files and room.f_favail < LEAST_INODES:
        return verdict("disk", False, "check.doctor_no_inodes", files=room.f_favail, home=home)
    return verdict("disk", True, "check.doctor_disk", mib=mib, home=home)


def check_lock(home: str, *, is_up: bool) -> Json:
    """Whether a server holds the home although none answers, or none holds it although one answers."""
    try:
        descriptor = os.open(home + "/server.lock", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return verdict("lock", None if is_up else True, "check.doctor_no_lock", home=home)
    except OSError as error:
        return verdict("lock", None, "check.doctor_unreadable", path=home + "/server.lock", why=error.strerror)
    try:
        pid = os.read(descriptor, 20).decode("ascii", "replace").strip()
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return verdict("lock", is_up, "check.doctor_locked" if is_up else "check.doctor_silent", pid=pid)
    finally:
        os.close(descriptor)
    return verdict("lock", not is_up, "check.doctor_not_locked" if is_up else "check.doctor_lock_free", home=home)


def check_store(home: str) -> Json:
    """Whether the database is whole, as far as SQLite finds within `STORE_LIMIT_S`. It is only read."""
    path = home + "/roost.db"
    if not os.path.exists(path):
        return verdict("store", None, "check.doctor_no_store", path=path)
    deadline = time.monotonic() + STORE_LIMIT_S
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as store:
            store.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
            found = str(store.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.OperationalError as error:
        if time.monotonic() > deadline:
            return verdict("store", None, "check.doctor_store_large", s=round(STORE_LIMIT_S), path=path)
        return verdict("store", None, "check.doctor_unreadable", path=path, why=str(error))
    except sqlite3.DatabaseError as error:
        found = str(error)
    if found != "ok":
        return verdict("store", False, "check.doctor_store_damaged", path=path, why=" ".join(found.split()))
    return verdict("store", True, "check.doctor_store", path=path, mib=os.path.getsize(path) >> 20)


def check_backup(home: str) -> Json:
    """How long ago the server wrote its last backup: it notes each one in `last-backup`."""
    try:
        with open(home + "/last-backup", encoding="utf-8", errors="replace") as file:
            path = file.read().strip()
            age_s = max(0, int(time.time() - os.fstat(file.fileno()).st_mtime))
    except OSError:
        return verdict("backup", None, "check.doctor_no_backup")
    if not os.path.exists(path):
        return verdict("backup", None, "check.doctor_backup_moved", path=path, age=age_s)
    is_old = age_s > BACKUP_DAYS * _DAY_S
    return verdict(
        "backup", not is_old, "check.doctor_backup_old" if is_old else "check.doctor_backup", path=path, age=age_s
    )


def check_certificate(home: str) -> Json:
    """When the certificate of the last `roost up` or unit of this home expires."""
    import json

    from roost.cli.verbs.server.certificate_dates import expiry

    try:
        with open(home + "/up.json", encoding="utf-8") as file:
            path = json.load(file).get("tls_cert")
    except (OSError, ValueError):
        path = None
    if not path or path == "off":
        return verdict("certificate", True, "check.doctor_no_tls")
    try:
        left_s = int(expiry(path) - time.time())
    except (OSError, ValueError) as error:
        return verdict("certificate", False, "check.doctor_bad_certificate", path=path, why=str(error))
    if left_s <= 0:
        return verdict("certificate", False, "check.doctor_expired", path=path)
    is_near = left_s < CERTIFICATE_DAYS * _DAY_S
    return verdict(
        "certificate", not is_near, "check.doctor_expires" if is_near else "check.doctor_certificate", path=path, left=left_s
    )


def check_unit() -> Json:
    """Whether systemd starts the server at boot, and whether the unit has failed."""
    from roost.cli.verbs.server.systemd import BOOTED, UNIT, Manager

    if not os.path.isdir(BOOTED):
        return verdict("unit", None, "check.doctor_no_systemd")
    for manager in (Manager(is_system=True), Manager(is_system=False)):
        if os.path.exists(manager.path):
            systemctl = " ".join(manager.prefix)
            if (state := manager.says("is-active", UNIT)) == "failed":
                return verdict("unit", False, "check.doctor_unit_failed", systemctl=systemctl, journal=manager.journal)
            if manager.says("is-enabled", UNIT) != "enabled":
                return verdict("unit", False, "check.doctor_unit_disabled", systemctl=systemctl, unit=UNIT)
            return verdict("unit", True, "check.doctor_unit", unit=UNIT, state=state or "?")
    return verdict("unit", None, "check.doctor_no_unit")


def check_driver() -> Json:
    """Whether the driver lists GPUs on this machine."""
    from roost.node.gpus.sampler import find_real_gpus

    found = find_real_gpus()
    if found.gpus:
        return verdict("driver", True, "check.doctor_driver", gpus=len(found.gpus), source=found.source)
    if os.path.exists("/proc/driver/nvidia") or os.path.exists("/dev/nvidiactl"):
        return verdict("driver", False, "check.doctor_driver_fails", why=found.error or "?")
    return verdict("driver", None, "check.doctor_no_driver")


def check_cgroups() -> Json:
    """Whether each run can have a cgroup."""
    from roost.node.system.cgroup import open_cgroups

    found = open_cgroups(f"doctor-{os.getpid()}")
    if found is None:
        return verdict("cgroups", None, "check.doctor_no_cgroups")
    found.leave()
    return verdict("cgroups", True, "check.doctor_cgroups")
