// Settings as the page shows them: in groups, searched, and what somebody typed as a value. Pure.
import type { Schemas } from "./api";

export type Setting = Schemas["Setting"];
export type Value = Setting["value"];

export interface Group {
  /** What stands before the first dot of its keys. */
  name: string;
  rows: Setting[];
}

/** These are shown by themselves, with more words. */
const ELSEWHERE = new Set(["policy"]);

export function groupsOf(settings: Setting[]): Group[] {
  const groups = new Map<string, Setting[]>();
  for (const row of settings) {
    if (ELSEWHERE.has(row.key)) continue;
    const name = row.key.split(".")[0]!;
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return [...groups].map(([name, rows]) => ({ name, rows }));
}

/** Whether every word of the search is in the key, its earlier name, the meaning or the value. */
export function isFound(row: Setting, search: string): boolean {
  const text = `${row.key} ${row.was ?? ""} ${row.meaning} ${String(row.value)}`.toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

export const isChanged = (row: Setting): boolean => row.value !== row.default;

export function shown(value: Value): string {
  return value === null ? "" : String(value);
}

export type Typed = { value: Value } | { wrong: "number" | "whole" | "low" | "high" };

/** The value that was typed, or what is wrong with it. The server has the last word. */
export function typed(row: Setting, text: string): Typed {
  if (row.type === "string") return { value: text.trim() };
  if (row.type === "boolean") return { value: text === "true" };
  const number = Number(text.trim());
  if (text.trim() === "" || !Number.isFinite(number)) return { wrong: "number" };
  if (row.type === "integer" && !Number.isInteger(number)) return { wrong: "whole" };
  if (row.minimum !== null && number < row.minimum) return { wrong: "low" };
  if (row.maximum !== null && number > row.maximum) return { wrong: "high" };
  return { value: number };
}
