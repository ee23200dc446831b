// Which jobs a listing is asked for: as it stands in the address, as the API takes it, as one types it. Pure.
import type { Select } from "./actions";
import type { BriefJob } from "./doc";

export const PER_PAGE = 50;
/** The server skips no more than so many. */
const FARTHEST = 100_000;

export interface JobQuery {
  /** Those of these numbers: `12-31,40`. */
  ids: string;
  search: string;
  states: string[];
  user: string;
  label: string;
  node: string;
  sweep: number | null;
  sort: string;
  /** From 1. */
  page: number;
}

/** What people look for, and the states and outcomes that it is; the first of them stands for all in the address. */
export const GROUPS: readonly { name: "active" | "queued" | "held" | "succeeded" | "failed" | "killed"; states: readonly string[] }[] = [
  { name: "active", states: ["running", "starting", "stopping", "paused", "unknown"] },
  { name: "queued", states: ["queued"] },
  { name: "held", states: ["held"] },
  { name: "succeeded", states: ["succeeded"] },
  { name: "failed", states: ["failed", "cannot_start", "out_of_memory", "timed_out", "lost"] },
  { name: "killed", states: ["killed"] },
];
export const KEYS = ["id", "name", "user", "gpus", "submitted", "started", "ended"] as const;
export type SortKey = (typeof KEYS)[number];
const STATES = new Set(GROUPS.flatMap((group) => group.states));
const IDS = /^\d{1,15}(-\d{1,15})?(,\d{1,15}(-\d{1,15})?)*$/;
const SORTS = new Set<string>(["queue", ...KEYS.flatMap((key) => [key, `-${key}`])]);
/** Numbers and times are wanted from the last, names from the first. */
const FROM_THE_FIRST = new Set<string>(["name", "user"]);

export function readQuery(query: URLSearchParams): JobQuery {
  const sweep = Number(query.get("sweep"));
  const sort = query.get("sort") ?? "queue";
  const page = Math.floor(Number(query.get("page")));
  return {
    search: (query.get("search") ?? "").slice(0, 200),
    ids: IDS.test(query.get("ids") ?? "") ? query.get("ids")! : "",
    states: readStates(query.get("state") ?? ""),
    user: query.get("user") ?? "",
    label: query.get("label") ?? "",
    node: query.get("node") ?? "",
    sweep: Number.isSafeInteger(sweep) && sweep > 0 ? sweep : null,
    sort: SORTS.has(sort) ? sort : "queue",
    page: Number.isFinite(page) ? Math.min(Math.max(1, page), 1 + FARTHEST / PER_PAGE) : 1,
  };
}

function readStates(text: string): string[] {
  const names = text.split(",").flatMap((name) => (name === "ended" ? ["succeeded", "failed", "killed"] : [name]));
  const states = names.flatMap((name) => GROUPS.find((group) => group.states[0] === name)?.states ?? [name]);
  return [...new Set(states)].filter((state) => STATES.has(state));
}

/** As it stands in the address. */
export function writeStates(states: readonly string[]): string {
  const whole = GROUPS.filter((group) => group.states.every((state) => states.includes(state)));
  return [...whole.map((group) => group.states[0]!), ...states.filter((state) => !whole.some((group) => group.states.includes(state)))].join(",");
}

export function paramsOf(wanted: JobQuery): Record<string, string | number | boolean | null> {
  return {
    brief: true, all: true, limit: PER_PAGE,
    ids: wanted.ids,
    search: wanted.search.trim(),
    state: wanted.states.join(","),
    user: wanted.user,
    label: wanted.label,
    node: wanted.node,
    sweep: wanted.sweep,
    sort: wanted.sort === "queue" ? null : wanted.sort,
    offset: wanted.page > 1 ? (wanted.page - 1) * PER_PAGE : null,
  };
}

/** All that match, for an action. */
export function selectOf(wanted: JobQuery): Select {
  return {
    all: true,
    ...(wanted.ids && { ids: wanted.ids }),
    ...(wanted.search.trim() && { search: wanted.search.trim() }),
    ...(wanted.states.length && { states: wanted.states as NonNullable<Select["states"]> }),
    ...(wanted.user && { user: wanted.user }),
    ...(wanted.label && { labels: [wanted.label] }),
    ...(wanted.node && { node: wanted.node }),
    ...(wanted.sweep !== null && { sweep: wanted.sweep }),
  };
}

/** The same on the command line. */
export function commandOf(wanted: JobQuery): string {
  const words = ["roost", "ls", ...(wanted.ids ? [wanted.ids] : ["--all"])];
  if (wanted.states.length) words.push("--state", wanted.states.join(","));
  if (wanted.user) words.push(option("--user", wanted.user));
  if (wanted.label) words.push(option("--label", wanted.label));
  if (wanted.sweep !== null) words.push("--sweep", String(wanted.sweep));
  if (wanted.node) words.push(option("--node", wanted.node));
  if (wanted.search.trim()) words.push(option("--search", wanted.search.trim()));
  if (wanted.sort !== "queue") words.push("--sort", wanted.sort.replace("-", ""), ...(wanted.sort.startsWith("-") ? ["--reverse"] : []));
  return words.join(" ");
}

function option(name: string, word: string): string {
  const quoted = /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
  return word.startsWith("-") ? `${name}=${quoted}` : `${name} ${quoted}`;
}

export function isNarrowed(wanted: JobQuery, besidesState = false): boolean {
  const others = Boolean(wanted.ids || wanted.search.trim() || wanted.user || wanted.label || wanted.node || wanted.sweep !== null);
  return others || (!besidesState && wanted.states.length > 0);
}

/** After a click on the head of a column: its usual end first, then the other, then the order of the queue. */
export function nextSort(now: string, key: SortKey): string {
  const first = FROM_THE_FIRST.has(key) ? key : `-${key}`;
  const second = FROM_THE_FIRST.has(key) ? `-${key}` : key;
  return now === first ? second : now === second ? "queue" : first;
}

/** Whether a job may be among those wanted: the server knows for sure. */
export function mayMatch(wanted: JobQuery, job: BriefJob): boolean {
  if (wanted.states.length && !isIn(wanted.states, job)) return false;
  if (wanted.ids && !isAmong(wanted.ids, job.id)) return false;
  if (wanted.user && job.user !== wanted.user) return false;
  if (wanted.label && !job.labels.includes(wanted.label)) return false;
  if (wanted.node && job.node !== wanted.node) return false;
  if (wanted.sweep !== null && job.sweep !== wanted.sweep) return false;
  const search = wanted.search.trim().toLowerCase();
  if (!search || job.command_line.length >= 200) return true;
  return search === String(job.id) || [job.name, job.command_line, job.user, ...job.labels].some((text) => text.toLowerCase().includes(search));
}

function isIn(states: readonly string[], job: BriefJob): boolean {
  return states.includes(job.state) || states.includes(job.outcome ?? "");
}

function isAmong(ids: string, id: number): boolean {
  return ids.split(",").some((part) => {
    const [first, last] = part.split("-").map(Number);
    return id >= first! && id <= (last ?? first!);
  });
}

const FIELDS: Record<string, (keyof BriefJob)[]> = {
  queue: ["state", "priority", "queue_position"], name: ["name"], gpus: ["gpus"], started: ["started_at"], ended: ["ended_at"],
};

/** Whether a change of these fields can take a job to another place of the listing, or out of it. */
export function moves(wanted: JobQuery, changed: object): boolean {
  const fields = [...(FIELDS[wanted.sort.replace("-", "")] ?? [])];
  if (wanted.states.length) fields.push("state", "outcome");
  if (wanted.node) fields.push("node");
  if (wanted.label) fields.push("labels");
  if (wanted.search.trim()) fields.push("name", "command_line", "labels");
  return fields.some((field) => field in changed);
}
