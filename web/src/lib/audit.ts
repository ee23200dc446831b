// A line of the audit, taken apart for reading: what its target names, and which values were set. Pure.
import type { Schemas } from "./api";

export type Line = Schemas["AuditLine"];

/** Every action that there is a word for; the server may know more, which are shown as they are. */
export const ACTIONS = [
  "submit", "kill", "pause", "resume", "hold", "release", "rerun", "preempt", "move", "start", "edit", "clone", "rm",
  "sweep", "sweep limit",
  "node add", "node trust", "node rm", "node lost", "node login",
  "drain", "undrain", "gpu drain", "gpu undrain", "gpu disable", "gpu enable", "gpu release", "gpu set",
  "set", "scheduler", "notice",
  "user add", "user change", "user set", "user del", "link",
  "login", "login refused", "logout", "password", "token new", "token revoke", "defaults", "notify add", "notify rm",
] as const;
export type Action = (typeof ACTIONS)[number];

/** The name of an action among the words: `audit.action.gpu_set`. */
export const wordOf = (action: string): string => `audit.action.${action.replaceAll(" ", "_")}`;

const JOBS = new Set<string>(["submit", "kill", "pause", "resume", "hold", "release", "rerun", "preempt", "move", "start", "edit", "clone", "rm"]);
const USERS = new Set<string>(["user add", "user change", "user set", "link", "login", "login refused", "logout", "password", "defaults"]);
const NODES = new Set<string>(["node add", "node trust", "node lost"]);
const DANGEROUS = new Set<string>(["login refused", "user del", "kill", "rm", "node rm", "node lost"]);

export const isStrong = (action: string): boolean => DANGEROUS.has(action);

export interface Piece {
  text: string;
  href?: string;
}

/** The target in pieces, some of which lead somewhere. */
export function piecesOf(line: Line): Piece[] {
  if (JOBS.has(line.action)) return jobsOf(line.target);
  if (USERS.has(line.action)) return [{ text: line.target, href: `/users/${encodeURIComponent(line.target)}` }];
  if (NODES.has(line.action)) return [{ text: line.target, href: `/nodes/${encodeURIComponent(line.target)}` }];
  const sweep = /^sweep (\d+)$/.exec(line.target);
  if (sweep) return [{ text: line.target, href: `/sweeps/${sweep[1]}` }];
  return [{ text: line.target }];
}

/** `3-7,9`: a link for each number; a range leads to its first. */
function jobsOf(target: string): Piece[] {
  return target.split(",").flatMap((part, at): Piece[] => {
    const first = /^(\d+)(-\d+)?$/.exec(part);
    const piece: Piece = first ? { text: part, href: `/jobs/${first[1]}` } : { text: part };
    return at ? [{ text: ", " }, piece] : [piece];
  });
}

/** Since when, for a choice of the page. */
export function sinceOf(choice: string, now: number): string | null {
  const hours: Record<string, number> = { hour: 1, day: 24, week: 168, month: 720 };
  const back = hours[choice];
  return back ? new Date(now - back * 3_600_000).toISOString() : null;
}
