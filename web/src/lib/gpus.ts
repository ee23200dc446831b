// What the overview and the wall say of GPUs, put together from their tiles. Pure: tiles in, sums and groups out.
import type { Node, Tile } from "./doc";

export interface Group {
  name: string;
  /** Null while the server has not said anything of the node itself. */
  node: Node | null;
  tiles: Tile[];
  /** The model of all of them, or null when they differ: then each says its own. */
  model: string | null;
}

export interface Sums {
  total: number;
  free: number;
  used: number;
  /** Neither free nor used by Roost: foreign, drained, broken, away. */
  out: number;
  /** In percent, of those that report it. */
  util: number | null;
  memUsedMib: number;
  memMib: number;
  powerW: number | null;
}

/** Somebody whose jobs have GPUs. */
export interface Person {
  user: string;
  gpus: number;
  jobs: number;
}

export function sums(gpus: Tile[]): Sums {
  const found: Sums = { total: gpus.length, free: 0, used: 0, out: 0, util: null, memUsedMib: 0, memMib: 0, powerW: null };
  let util = 0;
  let reports = 0;
  for (const gpu of gpus) {
    if (gpu.jobs.length) found.used++;
    else if (gpu.state === "free") found.free++;
    else found.out++;
    found.memMib += gpu.mem_mib;
    if (gpu.state === "unreachable") continue; // what was last seen of it
    found.memUsedMib += gpu.mem_used_mib ?? 0;
    if (gpu.power_w !== null) found.powerW = (found.powerW ?? 0) + gpu.power_w;
    if (gpu.util !== null) {
      util += gpu.util;
      reports++;
    }
  }
  if (reports) found.util = util / reports;
  return found;
}

/** By node, in the order in which they come. */
export function groupsOf(gpus: Tile[], nodes: Node[]): Group[] {
  const groups = new Map<string, Group>();
  for (const node of nodes) groups.set(node.name, { name: node.name, node, tiles: [], model: null });
  for (const gpu of gpus) {
    let group = groups.get(gpu.node);
    if (!group) groups.set(gpu.node, (group = { name: gpu.node, node: null, tiles: [], model: null }));
    if (group.tiles.length === 0) group.model = gpu.model;
    else if (group.model !== gpu.model) group.model = null;
    group.tiles.push(gpu);
  }
  return [...groups.values()];
}

/** Whose the memory is, in MiB. The rest is what no process is seen to have: the driver's own part. */
export function memoryOf(gpu: Tile): { roost: number; foreign: number; rest: number; free: number } | null {
  if (gpu.mem_used_mib === null) return null;
  const roost = Math.min(gpu.mem_roost_mib ?? 0, gpu.mem_used_mib);
  const foreign = Math.min(gpu.mem_foreign_mib ?? 0, gpu.mem_used_mib - roost);
  return { roost, foreign, rest: gpu.mem_used_mib - roost - foreign, free: Math.max(0, gpu.mem_mib - gpu.mem_used_mib) };
}

/** Who has GPUs now, the most first. */
export function people(gpus: Tile[]): Person[] {
  const found = new Map<string, { gpus: number; jobs: Set<number> }>();
  for (const gpu of gpus) {
    for (const user of new Set(gpu.jobs.map((job) => job.user))) {
      let person = found.get(user);
      if (!person) found.set(user, (person = { gpus: 0, jobs: new Set() }));
      person.gpus++;
    }
    for (const job of gpu.jobs) found.get(job.user)!.jobs.add(job.id);
  }
  const all = [...found].map(([user, has]) => ({ user, gpus: has.gpus, jobs: has.jobs.size }));
  return all.sort((a, b) => b.gpus - a.gpus || (a.user < b.user ? -1 : 1));
}

/** How many columns fill a screen best: tiles that are large, in rows that are full, `together` of them not torn apart. */
export function columnsFor(count: number, width: number, height: number, shape = 1.6, together = 1): number {
  let best = 1;
  let largest = 0;
  for (let columns = 1; columns <= count; columns++) {
    const wide = width / columns;
    const rows = Math.ceil(count / columns);
    const isWhole = columns % together === 0 || together % columns === 0;
    const size = ((Math.min(wide, (height / rows) * shape) * count) / (rows * columns)) * (isWhole ? 1 : 0.6);
    if (size > largest) [best, largest] = [columns, size];
  }
  return best;
}
