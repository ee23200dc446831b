// What was sampled over a span of time, as the plots want it. Pure.

export const SPANS = ["hour", "day", "week", "month", "year"] as const;
export type Span = (typeof SPANS)[number];
type Column = (number | null)[];

export interface Samples {
  step_s: number;
  at: number[];
  util: Column;
  mem_used_mib: Column;
  mem_total_mib: Column;
  power_w: Column;
  temp_c: Column;
  gpus_used: Column;
  gpus_total: Column;
  queued: Column;
}

/** How often it is worth asking again: a step, but never faster than this. */
export const pauseMs = (stepS: number): number => Math.min(300_000, Math.max(15_000, stepS * 1000));

export const hasAny = (column: Column | undefined): boolean => column?.some((value) => value !== null) ?? false;

/** The axis is in round numbers of what people read. */
export const inGib = (column: Column | undefined): Column => (column ?? []).map((mib) => (mib === null ? null : mib / 1024));

/** The largest of a column; undefined when there is none. */
export function most(column: Column | undefined): number | undefined {
  const values = (column ?? []).filter((value) => value !== null);
  return values.length ? Math.max(...values) : undefined;
}
