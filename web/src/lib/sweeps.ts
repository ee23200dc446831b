// Sweeps as tables: their columns, the order of their points, and which point is best. Pure.
import type { Schemas } from "./api";

export type Sweep = Schemas["Sweep"];
export type SweepShown = Schemas["SweepShown"];
export type Point = Schemas["Point"];
export type Cell = string | number | boolean | null | undefined;

export const FAILED = ["failed", "cannot_start", "out_of_memory", "timed_out", "lost"] as const;
export const UNENDED = ["running", "starting", "stopping", "paused", "unknown", "queued", "held"] as const;

/** What a sweep is made of, in the order in which a bar shows it, each with its tone and the states it is. */
export const SHARES = [
  { name: "succeeded", tone: "bg-success", states: ["succeeded"] },
  { name: "active", tone: "bg-info", states: ["running", "starting", "stopping", "paused", "unknown"] },
  { name: "failed", tone: "bg-error", states: [...FAILED] },
  { name: "killed", tone: "bg-[var(--roost-soft)]", states: ["killed"] },
  { name: "queued", tone: "", states: ["queued"] },
  { name: "held", tone: "", states: ["held"] },
] as const;

export function numberOf(counts: Record<string, number>, states: readonly string[]): number {
  return states.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
}

export function partsOf(sweep: Sweep): { share: number; tone: string }[] {
  return SHARES.filter((share) => share.tone).map((share) => ({ tone: share.tone, share: sweep.jobs ? numberOf(sweep.counts, share.states) / sweep.jobs : 0 }));
}

export function endedOf(sweep: Sweep): number {
  return sweep.jobs - numberOf(sweep.counts, UNENDED);
}

/** A column of the points: `job`, `state`, `time`, or a parameter or a result. */
export type Column = "job" | "state" | "time" | `param:${string}` | `result:${string}`;

export function cell(point: Point, column: Column, now: number): Cell {
  if (column === "job") return point.job;
  if (column === "state") return point.outcome ?? point.state;
  if (column === "time") return secondsOf(point, now);
  const [kind, name] = [column.slice(0, column.indexOf(":")), column.slice(column.indexOf(":") + 1)];
  return (kind === "param" ? (point.point as Record<string, Cell>)[name] : (point.results as Record<string, Cell>)[name]) ?? null;
}

export function secondsOf(point: Point, now: number): number | null {
  if (!point.started_at) return null;
  return ((point.ended_at ? Date.parse(point.ended_at) : now) - Date.parse(point.started_at)) / 1000;
}

/** Numbers by size, also those written as text; then texts; what is not there comes last from either end. */
export function sorted(points: readonly Point[], column: Column, isDown: boolean, now: number): Point[] {
  const keyed = points.map((point) => ({ point, key: cell(point, column, now) }));
  keyed.sort((a, b) => {
    const lacks = Number(isLacking(a.key)) - Number(isLacking(b.key));
    return lacks || (isDown ? -1 : 1) * compare(a.key, b.key) || a.point.job - b.point.job;
  });
  return keyed.map(({ point }) => point);
}

const isLacking = (value: Cell): boolean => value === null || value === undefined || value === "";

function compare(a: Cell, b: Cell): number {
  const [x, y] = [asNumber(a), asNumber(b)];
  if (x !== null && y !== null) return x - y;
  if (x !== null || y !== null) return x !== null ? -1 : 1;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

export function asNumber(value: Cell): number | null {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "string" || !value.trim()) return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

/** Keys of results that have numbers: only of those one is best. */
export function numericKeys(sweep: SweepShown): string[] {
  return sweep.keys.filter((key) => sweep.points.some((point) => asNumber(point.results[key]) !== null));
}

/** Less is better of a loss or an error; more of anything else. */
export function isLessBetter(key: string): boolean {
  return /loss|err|mse|mae|rmse|perplex|ppl|latency|time|seconds|dist|fid|wer|cer|nll/i.test(key);
}

export function best(sweep: SweepShown, key: string, isLess: boolean): Point | null {
  let found: Point | null = null;
  for (const point of sweep.points) {
    const value = asNumber(point.results[key]);
    const most = found && asNumber(found.results[key]);
    if (value !== null && (most === null || (isLess ? value < most : value > most))) found = point;
  }
  return found;
}

/** A value for people: six digits of a number that has more. */
export function valueText(value: Cell): string {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(6)));
}
