import { expect, test } from "vitest";
import type { Node, Tile, TileJob } from "./doc";
import { columnsFor, groupsOf, memoryOf, people, sums } from "./gpus";

const on = (id: number, user: string): TileJob => ({ id, user, name: "", state: "running", mem_mib: 0, since: "2026-01-01T00:00:00Z" });
const gpu = (more: Partial<Tile>): Tile =>
  ({ node: "a", model: "X", state: "free", mem_mib: 1000, mem_used_mib: 0, mem_roost_mib: 0, mem_foreign_mib: 0, util: 0, power_w: null, jobs: [], procs: [], ...more }) as Tile;

test("a drained GPU with a job on it is in use; unknown numbers do not count", () => {
  const all = sums([gpu({}), gpu({ state: "drained", jobs: [on(1, "ana")], util: 80, power_w: 300 }), gpu({ state: "fault", util: null, mem_used_mib: null })]);
  expect(all).toEqual({ total: 3, free: 1, used: 1, out: 1, util: 40, memUsedMib: 0, memMib: 3000, powerW: 300 });
});

test("what was last seen of a GPU whose node is away is not counted, but it is not free and its job is there", () => {
  const all = sums([gpu({ util: 10 }), gpu({ state: "unreachable", util: 90, mem_used_mib: 900, power_w: 300 }), gpu({ state: "unreachable", jobs: [on(1, "ana")], util: 90 })]);
  expect(all).toEqual({ total: 3, free: 1, used: 1, out: 1, util: 10, memUsedMib: 0, memMib: 3000, powerW: null });
});

test("no GPUs have no mean", () => {
  expect(sums([]).util).toBeNull();
});

test("groups are by node, a node without GPUs as well, and say the model once when it is the same", () => {
  const nodes = [{ name: "a" }, { name: "b" }] as Node[];
  const [a, b, c] = groupsOf([gpu({}), gpu({}), gpu({ node: "c" }), gpu({ node: "c", model: "Y" })], nodes);
  expect([a!.name, a!.tiles.length, a!.model]).toEqual(["a", 2, "X"]);
  expect([b!.name, b!.tiles.length]).toEqual(["b", 0]);
  expect([c!.node, c!.model]).toEqual([null, null]);
});

test("the parts of the memory are never more than all of it", () => {
  expect(memoryOf(gpu({ mem_used_mib: 600, mem_roost_mib: 400, mem_foreign_mib: 300 }))).toEqual({ roost: 400, foreign: 200, rest: 0, free: 400 });
  expect(memoryOf(gpu({ mem_used_mib: null }))).toBeNull();
});

test("who has the most GPUs comes first; a job on two counts once", () => {
  const found = people([gpu({ jobs: [on(1, "ana"), on(2, "bob")] }), gpu({ jobs: [on(2, "bob")] })]);
  expect(found).toEqual([{ user: "bob", gpus: 2, jobs: 1 }, { user: "ana", gpus: 1, jobs: 1 }]);
});

test.each([[1, 1], [2, 2], [4, 2], [8, 4], [64, 8]])("%i GPUs stand in %i columns on a wide screen", (count, columns) => {
  expect(columnsFor(count, 1880, 900)).toBe(columns);
});

test("the GPUs of a node stand in a row of their own where that costs little", () => {
  expect(columnsFor(32, 1880, 900, 1.6, 8)).toBe(8);
  expect(columnsFor(24, 900, 1600, 1.6, 8) % 4).toBe(0);
});
