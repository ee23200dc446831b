/* A libnvidia-ml.so.1 for tests: cards and MIG slices that are not there.
 *
 * FAKE_NVML: the number of slices of each card, like "0,2,0"; 0 is a whole card with MIG off. "fail": it does not list.
 * FAKE_NVML_PROCESSES: a file with a line "UUID PID MIB" for each process on a device.
 * A handle is a number: 1000 * (card + 1), and its slice + 1 in the last digits. No header is needed to build it. */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef struct { u64 total, free, used; } Memory;
typedef struct { u32 gpu, memory; } Utilization;
typedef struct { u32 pid; u64 used; u32 instance, compute; } Process;
typedef struct _IO FILE;
extern char *getenv(const char *);
extern int snprintf(char *, unsigned long, const char *, ...), strcmp(const char *, const char *);
extern long strtol(const char *, char **, int);
extern FILE *fopen(const char *, const char *);
extern int fscanf(FILE *, const char *, ...), fclose(FILE *);

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, UNKNOWN = 999, MAX = 16 };

static const char *spec(void) { const char *text = getenv("FAKE_NVML"); return text ? text : ""; }

static u32 cards(u32 *slices) {
  u32 count = 0;
  char *at = (char *)spec();
  while (*at && count < MAX) {
    slices[count++] = strtol(at, &at, 10);
    if (*at == ',') at++;
  }
  return count;
}

static u32 card_of(u64 handle) { return handle / 1000 - 1; }
static u32 slice_of(u64 handle) { return handle % 1000; }
static u32 slices_of(u64 handle) { u32 all[MAX] = {0}; cards(all); return all[card_of(handle)]; }

int nvmlInitWithFlags(u32 flags) { return OK; }
int nvmlInit_v2(void) { return OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { return code == UNKNOWN ? "Unknown Error" : "Not Supported"; }

int nvmlDeviceGetCount_v2(u32 *count) {
  u32 all[MAX];
  if (!strcmp(spec(), "fail")) return UNKNOWN;
  *count = cards(all);
  return OK;
}
int nvmlDeviceGetHandleByIndex_v2(u32 index, u64 *handle) { *handle = 1000 * (u64)(index + 1); return OK; }
int nvmlDeviceGetMigMode(u64 handle, u32 *now, u32 *pending) { *now = *pending = slices_of(handle) > 0; return OK; }
int nvmlDeviceGetMaxMigDeviceCount(u64 handle, u32 *count) { *count = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(u64 handle, u32 index, u64 *slice) {
  if (index >= slices_of(handle)) return NOT_FOUND;
  *slice = handle + index + 1;
  return OK;
}
int nvmlDeviceGetUUID(u64 handle, char *text, u32 room) {
  if (slice_of(handle)) snprintf(text, room, "MIG-%u-%u", card_of(handle), slice_of(handle) - 1);
  else snprintf(text, room, "GPU-%u", card_of(handle));
  return OK;
}
int nvmlDeviceGetName(u64 handle, char *text, u32 room) {
  snprintf(text, room, slice_of(handle) ? "NVIDIA Fake MIG 1g.10gb" : "NVIDIA Fake");
  return OK;
}

static u32 processes(u64 handle, Process *found, u32 room, u64 *used) {
  char mine[64], uuid[64];
  u32 pid, count = 0;
  u64 mib;
  const char *path = getenv("FAKE_NVML_PROCESSES");
  FILE *file = path ? fopen(path, "r") : 0;
  *used = 0;
  nvmlDeviceGetUUID(handle, mine, sizeof mine);
  while (file && fscanf(file, "%63s %u %llu", uuid, &pid, &mib) == 3) {
    if (strcmp(uuid, mine)) continue;
    *used += mib << 20;
    if (count < room) found[count] = (Process){pid, mib << 20, 0, 0};
    count++;
  }
  if (file) fclose(file);
  return count;
}

int nvmlDeviceGetMemoryInfo(u64 handle, Memory *memory) {
  memory->total = (slice_of(handle) ? 10ull : 80ull) << 30;
  processes(handle, 0, 0, &memory->used);
  memory->free = memory->total - memory->used;
  return OK;
}
int nvmlDeviceGetUtilizationRates(u64 handle, Utilization *rates) {
  if (slice_of(handle)) return NOT_SUPPORTED;
  rates->gpu = rates->memory = 0;
  return OK;
}
int nvmlDeviceGetTemperature(u64 handle, u32 sensor, u32 *celsius) {
  if (slice_of(handle)) return INVALID;
  *celsius = 41;
  return OK;
}
int nvmlDeviceGetPowerUsage(u64 handle, u32 *milliwatts) {
  if (slice_of(handle)) return NOT_SUPPORTED;
  *milliwatts = 70000;
  return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(u64 handle, u32 *count, Process *found) {
  u64 used;
  u32 room = found ? *count : 0;
  *count = processes(handle, found, room, &used);
  return *count > room ? TOO_SMALL : OK;
}
