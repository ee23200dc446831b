import { expect, test } from "vitest";
import { apply, empty, type BriefJob, type Change, type Doc, type Tile } from "./doc";

const gpu = (uuid: string, more: Partial<Tile> = {}): Tile => ({ uuid, node: "box", util: 0, jobs: [], procs: [], ...more }) as Tile;
const job = (id: number, more: Partial<BriefJob> = {}): BriefJob => ({ id, name: `j${id}`, state: "queued", ...more }) as BriefJob;

function begun(): Doc {
  const state = { at: "then", gpus: [gpu("a"), gpu("b")], queue: [1, 2], running: [], ended: [], jobs: [job(1), job(2)], queued_total: 2 };
  return apply(empty(), state as unknown as Change);
}

test("a state is the whole document", () => {
  const doc = begun();
  expect(doc.gpus.map((one) => one.uuid)).toEqual(["a", "b"]);
  expect([...doc.jobs.keys()]).toEqual([1, 2]);
  expect(doc.queued_total).toBe(2);
});

test("a part of a GPU changes that GPU, and the others stay the very same", () => {
  const doc = begun();
  const next = apply(doc, { at: "now", gpus: { b: { util: 80 } } });
  expect(next.gpus[1]).toEqual({ ...doc.gpus[1], util: 80 });
  expect(next.gpus[0]).toBe(doc.gpus[0]);
  expect(next.jobs).toBe(doc.jobs);
  expect(next.queue).toBe(doc.queue);
  expect(next.at).toBe("now");
});

test("a change of anything else leaves the GPUs alone", () => {
  const doc = begun();
  expect(apply(doc, { scheduling: "paused" }).gpus).toBe(doc.gpus);
  expect(doc.scheduling).toBe("on");
});

test("GPUs that came or went come as a new list", () => {
  expect(apply(begun(), { gpu_set: [gpu("c")] }).gpus.map((one) => one.uuid)).toEqual(["c"]);
});

test("a part of a job is put into the row that is there", () => {
  const doc = begun();
  const next = apply(doc, { queue: [2], running: [1], jobs: [{ id: 1, state: "running" }] });
  expect(next.jobs.get(1)).toEqual(job(1, { state: "running" }));
  expect(next.jobs.get(2)).toBe(doc.jobs.get(2));
  expect(doc.jobs.get(1)?.state).toBe("queued");
});

test("rows that no list names are forgotten", () => {
  const next = apply(begun(), { queue: [2, 3], jobs: [job(3), { id: 9, state: "ended" }] });
  expect([...next.jobs.keys()].sort()).toEqual([2, 3]);
});

test("a removed job is gone", () => {
  expect(apply(begun(), { queue: [2], removed: [1] }).jobs.has(1)).toBe(false);
});
