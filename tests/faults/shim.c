/* Makes one call of a program fail: preloaded into every process of a test, it counts what they do to files under a directory
 * and breaks the call that the control file names. Covers Python, SQLite and shells alike. See shim.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMES 65536

enum { FAIL, SHORT, BYTE, KILL }; /* how: nothing is done; half of it is; one byte is, and the next that needs room fails; SIGKILL */

struct control {            /* shim.py writes the first part */
  uint32_t armed, how, error, lasts; /* lasts: the disk stays full: whatever needs room fails from then on */
  uint32_t nth, occurrence;          /* nth: of all calls; else the occurrence of `call` on `path` */
  char call[16], path[512];
  _Atomic uint32_t fired, total, full, next; /* next: the call that follows a single byte fails */
  _Atomic uint32_t counts[NAMES];
};

static struct control *control;
static char root[PATH_MAX];
static size_t root_length;
static char calls[PATH_MAX];

static void reveal(void);

__attribute__((constructor)) static void begin(void) { reveal(); }

static void reveal(void) {
  static int done;
  const char *path = getenv("FAULTS_CONTROL"), *base = getenv("FAULTS_ROOT");
  if (done || !path || !base) return;
  done = 1;
  int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *at = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  syscall(SYS_close, fd);
  if (at == MAP_FAILED) return;
  snprintf(calls, sizeof calls, "%s.calls", path);
  snprintf(root, sizeof root, "%s/", base);
  root_length = strlen(root);
  control = at;
}

static int is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/* The path below the root, with what differs from one time to the next (pids, hashes, dates) as a star; 0: not below it. */
static int below(const char *path, char *name, size_t size) {
  if (!strncmp(path, "/memfd:roost", 12)) path += 1;
  else if (!strncmp(path, root, root_length)) path += root_length;
  else if (!strncmp(path, root, root_length - 1) && !path[root_length - 1]) path = ".";
  else return 0;
  size_t n = 0;
  if (!strncmp(path, "tmp/", 4)) path = "tmp/*";
  while (*path && n + 8 < size) {
    size_t run = 0, digits = 0;
    while (is_hex(path[run])) digits += path[run] <= '9', run++;
    if (!strncmp(path, ".part-", 6)) { /* a directory for a copy in the making */
      memcpy(name + n, ".part-*", 7), n += 7;
      for (path += 6; *path && *path != '/'; path++) ;
    } else if (!strncmp(path, ".pyz.", 5)) { /* the pid of its maker */
      memcpy(name + n, ".pyz.*", 7), n += 6;
      for (path += 5; *path >= '0' && *path <= '9'; path++) ;
    } else if (run >= 5 && digits) { name[n++] = '*'; path += run; }
    else if (run) { while (run-- && n + 2 < size) name[n++] = *path++; }
    else name[n++] = *path++;
  }
  name[n] = 0;
  return 1;
}

static int of_descriptor(int fd, char *name, size_t size) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return below(path, name, size);
}

static int of_path(int directory, const char *path, char *name, size_t size) {
  char base[PATH_MAX], whole[2 * PATH_MAX], link[64];
  if (path[0] == '/') return below(path, name, size);
  if (directory == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
  else snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, base, sizeof base - 1);
  if (length <= 0) return 0;
  base[length] = 0;
  snprintf(whole, sizeof whole, "%s/%s", base, path);
  return below(whole, name, size);
}

static void note(const char *call, const char *name, uint32_t occurrence, const char *what) {
  char line[1024];
  int length = snprintf(line, sizeof line, "%d\t%s\t%s\t%u\t%s\n", (int)syscall(SYS_getpid), call, name, occurrence, what);
  int saved = errno;
  int report = syscall(SYS_openat, AT_FDCWD, calls, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666); /* a daemon closes all it finds */
  if (report >= 0) syscall(SYS_write, report, line, (size_t)length), syscall(SYS_close, report);
  errno = saved;
}

/* What is to happen to this call: -1 nothing special, else how it fails. `needs_room`: it fails on a full disk. */
static int decide(const char *call, const char *name, int needs_room) {
  uint32_t hash = 2166136261u;
  for (const char *c = call; *c; c++) hash = (hash ^ (uint8_t)*c) * 16777619u;
  for (const char *c = name; *c; c++) hash = (hash ^ (uint8_t)*c) * 16777619u;
  uint32_t occurrence = 1 + atomic_fetch_add(&control->counts[hash % NAMES], 1);
  uint32_t nth = 1 + atomic_fetch_add(&control->total, 1);
  if (control->armed) {
    uint32_t no = 0;
    if (needs_room && atomic_load(&control->full)) {
      note(call, name, occurrence, "full");
      return FAIL;
    }
    if (needs_room && atomic_exchange(&control->next, 0)) {
      note(call, name, occurrence, "failed");
      return FAIL;
    }
    int here = control->nth ? nth == control->nth
                            : occurrence == control->occurrence && !strcmp(call, control->call) && !strcmp(name, control->path);
    if (here && atomic_compare_exchange_strong(&control->fired, &no, 1)) {
      if (control->lasts) atomic_store(&control->full, 1);
      else if (control->how == BYTE) atomic_store(&control->next, 1);
      note(call, name, occurrence, "broken");
      if (control->how == KILL) syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
      return (int)control->how;
    }
  }
  note(call, name, occurrence, needs_room ? "room" : "ok");
  return -1;
}

#define REAL(name, ...) \
  static __typeof__(name) *real; \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define BROKEN (errno = (int)control->error, -1)

static size_t part(int how, size_t size) { return how == BYTE ? 1 : size > 1 ? size / 2 : 1; }

#define WRITES(function, call, offset_parameter, offset)                                      \
  ssize_t function(int fd, const void *data, size_t size offset_parameter) {                  \
    REAL(function);                                                                           \
    char name[PATH_MAX];                                                                      \
    int how = control && size && of_descriptor(fd, name, sizeof name) ? decide(call, name, 1) : -1; \
    if (how < 0) return real(fd, data, size offset);                                          \
    return how == FAIL ? BROKEN : real(fd, data, part(how, size) offset);                     \
  }
#define NOTHING
#define COMMA ,
WRITES(write, "write", NOTHING, NOTHING)
WRITES(pwrite, "write", COMMA off_t at, COMMA at)
WRITES(pwrite64, "write", COMMA off64_t at, COMMA at)

#define COPIES(function, first, second, fd, ...)                                              \
  ssize_t function(first, second, __VA_ARGS__) {                                              \
    REAL(function);                                                                           \
    char name[PATH_MAX];                                                                      \
    int how = control && of_descriptor(fd, name, sizeof name) ? decide("write", name, 1) : -1; \
    if (how == FAIL) return BROKEN;                                                           \
    if (how >= 0) size = part(how, size > 4096 ? 4096 : size);                                \
    return real ARGUMENTS;                                                                    \
  }
#define ARGUMENTS (out, in, at, size)
COPIES(sendfile, int out, int in, out, off_t *at, size_t size)
COPIES(sendfile64, int out, int in, out, off64_t *at, size_t size)
#undef ARGUMENTS
#define ARGUMENTS (in, from, out, to, size, flags)
COPIES(copy_file_range, int in, off64_t *from, out, int out, off64_t *to, size_t size, unsigned flags)

#define ON_DESCRIPTOR(function, parameters, arguments, call, room)                            \
  int function parameters {                                                                   \
    REAL(function);                                                                           \
    char name[PATH_MAX];                                                                      \
    int how = control && of_descriptor(fd, name, sizeof name) ? decide(call, name, room) : -1; \
    return how < 0 ? real arguments : BROKEN;                                                 \
  }
ON_DESCRIPTOR(fsync, (int fd), (fd), "fsync", 0)
ON_DESCRIPTOR(fdatasync, (int fd), (fd), "fsync", 0)
ON_DESCRIPTOR(ftruncate, (int fd, off_t size), (fd, size), "ftruncate", 0)
ON_DESCRIPTOR(ftruncate64, (int fd, off64_t size), (fd, size), "ftruncate", 0)
ON_DESCRIPTOR(fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size), "write", 1)

#define ON_PATH(function, parameters, arguments, directory, path, call, room)                 \
  int function parameters {                                                                   \
    REAL(function);                                                                           \
    char name[PATH_MAX];                                                                      \
    int how = control && of_path(directory, path, name, sizeof name) ? decide(call, name, room) : -1; \
    return how < 0 ? real arguments : BROKEN;                                                 \
  }
ON_PATH(rename, (const char *old, const char *new), (old, new), AT_FDCWD, new, "rename", 0)
ON_PATH(renameat, (int from, const char *old, int to, const char *new), (from, old, to, new), to, new, "rename", 0)
ON_PATH(link, (const char *old, const char *new), (old, new), AT_FDCWD, new, "link", 1)
ON_PATH(linkat, (int from, const char *old, int to, const char *new, int flags), (from, old, to, new, flags), to, new, "link", 1)
ON_PATH(unlink, (const char *path), (path), AT_FDCWD, path, "unlink", 0)
ON_PATH(unlinkat, (int directory, const char *path, int flags), (directory, path, flags), directory, path, "unlink", 0)
ON_PATH(rmdir, (const char *path), (path), AT_FDCWD, path, "unlink", 0)
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path, "mkdir", 1)
ON_PATH(mkdirat, (int directory, const char *path, mode_t mode), (directory, path, mode), directory, path, "mkdir", 1)

/* Only what is opened to be written counts, and directories that are opened to be synced. */
static int opening(int directory, const char *path, int flags, char *name) {
  if (!control || !of_path(directory, path, name, PATH_MAX)) return -1;
  if ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT)) return -1;
  struct stat64 found;
  int is_new = (flags & O_CREAT) && syscall(SYS_newfstatat, directory, path, &found, 0) < 0;
  return decide(is_new ? "create" : "open", name, is_new);
}
#define OPENS(function, parameters, directory, arguments)                                     \
  int function parameters {                                                                   \
    REAL(function);                                                                           \
    mode_t mode = 0;                                                                          \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                      \
      va_list more;                                                                           \
      va_start(more, flags);                                                                  \
      mode = va_arg(more, mode_t);                                                            \
      va_end(more);                                                                           \
    }                                                                                         \
    char name[PATH_MAX];                                                                      \
    int how = opening(directory, path, flags, name);                                          \
    return how < 0 ? real arguments : BROKEN;                                                 \
  }
OPENS(open, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPENS(openat, (int directory, const char *path, int flags, ...), directory, (directory, path, flags, mode))
OPENS(openat64, (int directory, const char *path, int flags, ...), directory, (directory, path, flags, mode))
