import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Reason } from "./doc";
import { wording } from "./reasons";
import { speech } from "./words.svelte";

beforeAll(async () => {
  vi.stubGlobal("document", { documentElement: {} });
  await speech.choose("zh");
  await speech.saying();
});
afterAll(() => vi.unstubAllGlobals());

const holders = [1, 2, 3, 4, 5].map((job) => ({ job, user: "running", state: "running" }));
const procs = [{ pid: 7, user: "eve", command: "python x.py", mem_mib: 2048 }];

// One for every wording: what the server says of it, and a piece that must be in the Chinese.
const CASES: [Record<string, unknown> & { code: string }, string][] = [
  [{ code: "held" }, "挂起"],
  [{ code: "scheduling_paused" }, "调度已暂停"],
  [{ code: "waits_for_job", job: 3, wants: "any", state: "running" }, "任务 3 结束（当前运行中）"],
  [{ code: "waits_for_job", job: 3, wants: "success", state: "queued" }, "任务 3 成功（当前排队中）"],
  [{ code: "waits_for_job", job: 3, wants: "failure", state: "held" }, "任务 3 失败"],
  [{ code: "not_before", begin_ms: 1, left_s: 7200, attempts: 0 }, "2 小时 00 分"],
  [{ code: "not_before", begin_ms: 1, left_s: 30, attempts: 1 }, "第 2 次"],
  [{ code: "node_unreachable", node: "n1", why: "timeout" }, "n1：timeout"],
  [{ code: "node_unreachable", node: "n1", why: "the connection to n1 was cut" }, "n1：与节点 n1 的连接已中断"],
  [{ code: "node_drained", node: "n1" }, "roost undrain n1"],
  [{ code: "node_kept", node: "n1", job: 9, until_ms: 5 }, "任务 9"],
  [{ code: "quota", user: "ana", what: "GPUs", has: 4, most: 4, asked: 2 }, "4 个 GPU，上限为 4"],
  [{ code: "quota", user: "ana", what: "jobs", has: 0, most: 4, asked: 5 }, "5 个任务"],
  [{ code: "sweep_limit", sweep: 2, running: 3, most: 3 }, "最多 3 个"],
  [{ code: "nobody_else", user: "ana" }, "ana 的任务"],
  [{ code: "host_memory", node: "n1", available_mib: 512, floor_mib: 2048 }, "512 MiB，低于下限 2 GiB"],
  [{ code: "cpu_slots", node: "n1", slots: 2, holders: [] }, "2 个 CPU 槽位已全部占用"],
  [{ code: "gpus_busy", node: "n1", asked: 4, free: 1, total: 8 }, "4 个 GPU，目前 1/8"],
  [{ code: "gpu_taken", gpu: "n1:0", slots: 1, holders }, "任务 1（running）、"],
  [{ code: "gpu_taken", gpu: "n1:0", slots: 3, holders }, "另有 1 个"],
  [{ code: "gpu_foreign", gpu: "n1:0", procs }, "进程 7（eve，2 GiB，python x.py）"],
  [{ code: "gpu_memory", gpu: "n1:0", asked_mib: 2048, free_mib: 1024, total_mib: 4096, holders, procs }, "空闲 1 GiB，需要 2 GiB"],
  [{ code: "gpu_utilization", gpu: "n1:0", util: 90, max_util: 10 }, "90 %"],
  [{ code: "gpu_utilization", gpu: "n1:0", util: null, max_util: 10 }, "不报告利用率"],
  [{ code: "gpu_fault", gpu: "n1:0", fault: "ECC" }, "ECC"],
  [{ code: "gpu_claimed", gpu: "n1:0", by: { user: "bob", pid: 12 } }, "bob 的 Roost 占用（进程 12）"],
  [{ code: "gpu_claimed", gpu: "n1:0", by: { user: "bob", pid: null } }, "bob 的 Roost 占用"],
  [{ code: "gpu_unknown", gpu: "n1:0" }, "尚未读取"],
  [{ code: "gpu_drained", gpu: "n1:0", how: "drained" }, "roost undrain n1:0"],
  [{ code: "gpu_drained", gpu: "n1:0", how: "disabled" }, "roost gpu enable n1:0"],
  [{ code: "gpu_not_asked", gpu: "n1:0", asked: ["1", "2"] }, "--gpu-id 1,2"],
  [{ code: "no_nodes" }, "节点"],
  [{ code: "behind", jobs: 3 }, "3 个任务"],
  [{ code: "behind", jobs: 0 }, "马上启动"],
  [{ code: "behind", jobs: null }, "很多任务"],
];

test.each(CASES)("%j", (reason, piece) => {
  const said = wording({ text: "in English", ...reason } as Reason);
  expect(said).toContain(piece);
  expect(said).not.toMatch(/[{}]|undefined/);
});

test("a reason of a newer server is shown in its own words", () => {
  expect(wording({ code: "brand_new", text: "it is new" })).toBe("it is new");
});
