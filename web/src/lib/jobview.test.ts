import { expect, test } from "vitest";
import { adviceOf, storyOf, useOf, type Attempt, type JobView } from "./jobview";

const attempt = (more: Partial<Attempt> = {}): Attempt => ({
  attempt: 1, run: "7.1", state: "ended", outcome: "succeeded", node: "lab", gpu_uuids: ["a"], gpu_indices: [0], pid: 1, intended_at: "2026-01-01T00:01:00Z",
  started_at: "2026-01-01T00:01:00Z", ended_at: "2026-01-01T01:01:00Z", exit_code: 0, error: null, peak_mem_mib: 3072, granted_mib: null, peak_rss_mib: 1, cpu_s: 1,
  util_mean: 80, ...more,
});
const job = (more: Record<string, unknown> = {}): JobView => ({
  id: 7, user: "ana", submitter: "ana", state: "ended", outcome: "succeeded", gpus: 1, request: { mem_mib: 24_576 }, time_limit_s: null, attempts: [attempt()], story: [],
  submitted_at: "2026-01-01T00:00:00Z", ended_at: "2026-01-01T01:01:00Z", ...more,
}) as unknown as JobView;
const advised = (one: JobView, of: Attempt, card: number | null = null): string[] => adviceOf(one, of, useOf(one, of, card, 0)).map((advice) => advice.word);

test("a job that requested much more memory than it used is told how much is enough", () => {
  const [advice] = adviceOf(job(), attempt(), useOf(job(), attempt(), null, 0));
  expect(advice).toEqual({ word: "job.advice_mem", values: { asked: "24 GiB", peak: "3 GiB", enough: "4G" } });
  expect(advised(job({ request: { mem_mib: null } }), attempt(), 24_576)).toEqual(["job.advice_whole"]);
  expect(advised(job({ request: { mem_mib: null } }), attempt(), null)).toEqual([]);
  expect(advised(job({ request: { mem_mib: 4096 } }), attempt())).toEqual([]);
});

test("the memory is that of the GPU on which it had most", () => {
  const two = attempt({ gpu_uuids: ["a", "b"], gpu_indices: [0, 1], peak_mem_mib: 3072 });
  expect(useOf(job(), two, null, 0)).toMatchObject({ memPeak: 3072 });
  expect(useOf(job(), two, null, 0, { mem: 5000, util: 1, rss: 1 })).toMatchObject({ memPeak: 5000, util: 80 });
});

test("nothing is said of what ran a moment, runs still, or had no GPU", () => {
  expect(advised(job(), attempt({ ended_at: "2026-01-01T00:01:05Z" }))).toEqual([]);
  expect(advised(job(), attempt({ ended_at: null, util_mean: 1 }))).toEqual([]);
  expect(advised(job({ gpus: 0 }), attempt({ util_mean: 0 }))).toEqual([]);
});

test("an idle GPU, a limit far too long, too little memory", () => {
  expect(advised(job({ request: { mem_mib: 4096 } }), attempt({ util_mean: 3 }))).toEqual(["job.advice_util"]);
  expect(advised(job({ request: { mem_mib: 4096 }, time_limit_s: 86_400 }), attempt())).toEqual(["job.advice_time"]);
  expect(advised(job({ request: { mem_mib: 4096 } }), attempt({ outcome: "out_of_memory" }))).toEqual(["job.advice_oom"]);
});

test("a story in order, with who did what", () => {
  const story = [
    { at: "2026-01-01T00:00:10Z", kind: "JobHeld", actor: "bob" },
    { at: "2026-01-01T00:00:20Z", kind: "Released", actor: "bob" },
    { at: "2026-01-01T00:30:00Z", kind: "StopAsked", actor: "ana", why: "kill" },
    { at: "2026-01-01T00:40:00Z", kind: "SomethingNew", actor: null },
  ];
  const steps = storyOf(job({ story }));
  expect(steps.map((step) => [step.word, step.actor])).toEqual([
    ["job.story_submitted", "ana"], ["job.story_held", "bob"], ["job.story_released", "bob"], ["job.story_started", null], ["job.story_kill", "ana"], ["job.story_ended", null],
  ]);
});

test("an attempt ends before its job is back in the queue", () => {
  const story = [{ at: "2026-01-01T01:01:00Z", kind: "Requeued", actor: null, why: "retry", attempt: 1 }];
  expect(storyOf(job({ story })).map((step) => step.word).slice(-2)).toEqual(["job.story_ended", "job.story_retry"]);
});

test("a job that ended while it waited has an end too", () => {
  const steps = storyOf(job({ attempts: [], outcome: "killed", ended_at: "2026-01-01T00:05:00Z" }));
  expect(steps.map((step) => step.word)).toEqual(["job.story_submitted", "job.story_ended_waiting"]);
});
