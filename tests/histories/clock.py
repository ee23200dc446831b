"""A wall clock that a test can step: a library that is loaded before all others adds what a file says to the time.

The server and the node program of its machine have it, and the `roost` of the test. Monotonic clocks are left alone, as they
are when an administrator or NTP sets the time.
"""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from pathlib import Path

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *step_ns;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
  real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  const char *path = getenv("STEPPED_CLOCK");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *found = mmap(0, sizeof *step_ns, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (found != MAP_FAILED) step_ns = found;
}

int clock_gettime(clockid_t id, struct timespec *at) {
  if (!real) begin();
  int failed = real(id, at);
  if (failed || !step_ns || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return failed;
  int64_t ns = at->tv_nsec + *step_ns % 1000000000;
  at->tv_sec += *step_ns / 1000000000;
  if (ns < 0) { ns += 1000000000; at->tv_sec--; }
  if (ns >= 1000000000) { ns -= 1000000000; at->tv_sec++; }
  at->tv_nsec = ns;
  return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
"""


class Preloaded:
    """A library that is loaded before all others, and a number in a file that it reads. Without a compiler: `is_missing`."""

    def __init__(self, directory: Path, source: str, variable: str) -> None:
        directory.mkdir(mode=0o755, exist_ok=True)
        self._file = directory / "number"
        self._file.write_bytes(struct.pack("=q", 0))
        self.env: dict[str, str] = {}
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is not None:
            written, library = directory / "library.c", directory / "library.so"
            written.write_text(source)
            command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(written), "-ldl"]
            subprocess.run(command, check=True, capture_output=True, timeout=60)
            self.env = {"LD_PRELOAD": str(library), variable: str(self._file)}

    @property
    def is_missing(self) -> bool:
        """Whether nothing can be changed here."""
        return not self.env

    def set(self, seconds: float) -> None:
        """What it adds from now on."""
        with self._file.open("r+b") as file, mmap.mmap(file.fileno(), 8) as page:
            page[:8] = struct.pack("=q", int(seconds * 1e9))


class SteppedClock(Preloaded):
    """The wall clock, so many seconds ahead of the true one."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, _SOURCE, "STEPPED_CLOCK")
