// GPU hours a week, and quotas as they are typed. Pure.

export interface Usage {
  weeks: string[];
  users: { user: string; gpu_hours: number[]; jobs: number[]; waited_s_mean: number | null }[];
}

/** The most that anybody used in a week: what all the columns are measured against. */
export function mostHours(usage: Usage | null): number {
  return Math.max(0, ...(usage?.users.flatMap((one) => one.gpu_hours) ?? []));
}

export function hours(value: number): string {
  return value === 0 ? "0" : value < 10 ? value.toFixed(1) : String(Math.round(value));
}

/** A quota as it was typed: empty or "none" is no limit; undefined: it is no quota. */
export function quotaOf(text: string): number | null | undefined {
  if (/^(none|无|-|–|)$/i.test(text.trim())) return null;
  const number = Number(text);
  return Number.isInteger(number) && number >= 0 && number <= 1_000_000_000 ? number : undefined;
}

/** A weight as it was typed; undefined: it is none. */
export function weightOf(text: string): number | undefined {
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) && Math.abs(number) <= 1_000_000 ? number : undefined;
}
