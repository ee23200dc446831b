// The document that the live stream keeps true, and how a change is put into it. Pure.
import type { Schemas } from "./api";

export type Reason = Schemas["Reason"];
export type BriefJob = Schemas["BriefJob"];
export type TileJob = Schemas["TileJob"];
export type Tile = Schemas["Tile"];
export type Node = Schemas["Node"];
export type Notice = Schemas["Notice"];
/** All that a dashboard shows, with the jobs by their ids. */
export type Doc = Omit<Schemas["LiveState"], "jobs"> & { jobs: Map<number, BriefJob> };
/** What changed, or the whole state, which changes all of it. */
export type Change = Partial<Omit<Schemas["LiveChange"], "gpus">> & {
  all?: true;
  gpus?: Schemas["LiveChange"]["gpus"] | Schemas["LiveState"]["gpus"];
};

const WHOLE = [
  "at", "server", "scheduling", "policy", "health", "notice", "private", "counts", "cpu", "nodes", "queue", "queued_total",
  "running", "ended",
] as const;

export function empty(): Doc {
  return {
    at: "", server: { version: "", since: "", boot: "" }, scheduling: "on", policy: "", health: [], notice: null, private: false,
    counts: {}, cpu: { slots: 0, used: 0 }, nodes: [], gpus: [], queue: [], queued_total: 0, running: [], ended: [], jobs: new Map(),
  };
}

/** The document after the change: a new one, in which what did not change is the very same. */
export function apply(doc: Doc, change: Change): Doc {
  const next: Doc = { ...doc };
  for (const key of WHOLE) {
    if (key in change) (next as unknown as Record<string, unknown>)[key] = change[key];
  }
  next.gpus = gpusAfter(doc.gpus, change);
  next.jobs = jobsAfter(next, change);
  return next;
}

function gpusAfter(gpus: Tile[], change: Change): Tile[] {
  const whole = change.gpu_set ?? (Array.isArray(change.gpus) ? change.gpus : null);
  if (whole) return whole;
  const parts = change.gpus as Schemas["LiveChange"]["gpus"];
  return parts ? gpus.map((gpu) => (parts[gpu.uuid] ? { ...gpu, ...parts[gpu.uuid] } : gpu)) : gpus;
}

/** Only the rows that the lists name are kept: a page that shows others listens for their changes itself. */
function jobsAfter(next: Doc, change: Change): Map<number, BriefJob> {
  const lists = "queue" in change || "running" in change || "ended" in change;
  if (!change.jobs && !change.removed && !lists) return next.jobs;
  const jobs = new Map(next.jobs);
  for (const job of change.jobs ?? []) jobs.set(job.id, { ...jobs.get(job.id), ...job } as BriefJob);
  for (const id of change.removed ?? []) jobs.delete(id);
  const named = new Set([...next.queue, ...next.running, ...next.ended]);
  for (const id of jobs.keys()) if (!named.has(id)) jobs.delete(id);
  return jobs;
}
