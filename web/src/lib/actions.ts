// Actions on jobs, the same on all pages: name, when and for which users they are possible, and the confirmation.
// The server has the last word; what stands here is so that nobody presses a button for nothing.
import type { IconName } from "../parts/Icon.svelte";
import { get, send, type Schemas } from "./api";
import type { BriefJob } from "./doc";
import { count } from "./format";
import { t, type Word } from "./i18n";

export type ActionName = "rerun" | "clone" | "hold" | "release" | "pause" | "resume" | "move" | "start" | "preempt" | "kill" | "rm";
export type Actable = Pick<BriefJob, "id" | "user" | "state"> & { preemptible?: boolean };
export type Actor = { user: string; admin: boolean } | null;
export type Select = Partial<Schemas["Select"]> & { node?: string | null; search?: string };
export type Acted = Schemas["Acted"];
type State = BriefJob["state"];

export interface Action {
  name: ActionName;
  word: Word;
  /** What is said when it was done, with `{n}`. */
  done: Word;
  icon: IconName;
  /** Asked about before it is done; `sure` says what will happen. */
  isDangerous: boolean;
  sure?: Word;
  /** It is done to one job at a time, on another page. */
  isForOne: boolean;
  /** In which states a job must be for it. */
  from: readonly State[];
  /** What goes with it over the API. */
  extra: Record<string, unknown>;
  /** Why it cannot be done to that job by that person; null when it can. */
  refusal(job: Actable, me: Actor): Word | null;
  isPossible(job: Actable, me: Actor): boolean;
}

const WAITING: State[] = ["queued", "held"];
/** Of one that nobody knows about it is known that it did not end. */
const UNENDED: State[] = ["queued", "held", "starting", "running", "paused", "stopping", "unknown"];
const ANY: State[] = [...UNENDED, "ended"];

interface Rule {
  from: State[];
  admin?: boolean;
  isOpen?: boolean;
  isForOne?: boolean;
  sure?: Word;
  extra?: Record<string, unknown>;
  unless?: (job: Actable) => Word | null;
}

function action(name: ActionName, icon: IconName, rule: Rule): Action {
  const refusal = (job: Actable, me: Actor): Word | null => {
    if (rule.admin && !me?.admin) return "act.admin_only";
    if (!rule.isOpen && !me?.admin && job.user !== me?.user) return "act.not_yours";
    if (!rule.from.includes(job.state)) return `act.only.${name}` as Word;
    return rule.unless?.(job) ?? null;
  };
  return {
    name, icon, refusal, from: rule.from,
    word: `act.${name}` as Word,
    done: `act.done.${name}` as Word,
    isDangerous: rule.sure !== undefined,
    ...(rule.sure && { sure: rule.sure }),
    isForOne: rule.isForOne ?? false,
    extra: rule.extra ?? {},
    isPossible: (job, me) => refusal(job, me) === null,
  };
}

/** In the order in which they are shown. */
export const ACTIONS: readonly Action[] = [
  action("kill", "stop", { from: UNENDED, sure: "act.sure.kill" }),
  action("rerun", "again", { from: ["ended"] }),
  action("clone", "copy", { from: ANY, isOpen: true, isForOne: true }),
  action("hold", "hold", { from: ["queued"] }),
  action("release", "play", { from: ["held"] }),
  action("pause", "pause", { from: ["running"] }),
  action("resume", "play", { from: ["paused"] }),
  action("move", "first", { from: WAITING, admin: true, extra: { position: 0 } }),
  action("start", "fault", { from: WAITING, admin: true, sure: "act.sure.start" }),
  action("preempt", "drain", {
    from: ["running"], sure: "act.sure.preempt", unless: (job) => (job.preemptible === false ? "act.not_preemptible" : null),
  }),
  action("rm", "trash", { from: ANY, sure: "act.sure.rm" }),
];

export function actionOf(name: ActionName): Action {
  return ACTIONS.find((one) => one.name === name)!;
}

/** Why it can be done to none of these; null when it can be done to some. */
export function refusalOfAll(one: Action, jobs: readonly Actable[], me: Actor): Word | null {
  if (one.isForOne && jobs.length !== 1) return "act.one_only";
  const refusals = jobs.map((job) => one.refusal(job, me));
  return refusals.length && refusals.every((word) => word !== null) ? refusals[0]! : null;
}

/** Of all that are selected those to which it can be done; null when there can be none. */
export function narrowed(one: Action, select: Select): Select | null {
  if (one.from === ANY) return select;
  const isPossible = (state: string): boolean => one.from.includes((UNENDED as string[]).includes(state) ? (state as State) : "ended");
  const states = select.states?.length ? select.states.filter(isPossible) : [...one.from];
  return states.length ? { ...select, states } : null;
}

/** How many those are; null when they are very many. */
export async function numberOf(select: Select, me: Actor): Promise<number | null> {
  const own = me?.admin || select.sweep ? "" : (me?.user ?? "");
  const { total } = await get<{ total: number | null }>("/jobs", {
    brief: true, all: true, limit: 1, ids: select.ids, state: select.states?.join(","), label: select.labels?.join(","),
    user: select.user ?? own, sweep: select.sweep, node: select.node, search: select.search,
  });
  return total;
}

/** Where a job is copied into the form for a new one. */
export function cloneAt(id: number): string {
  return `/submit?clone=${id}`;
}

/** Jobs as the API takes them: `12`, `10-14`, `3,7`. */
export function idsOf(ids: Iterable<number>): string {
  const sorted = [...new Set(ids)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let at = 0; at < sorted.length; ) {
    let end = at;
    while (sorted[end + 1] === sorted[end]! + 1) end++;
    parts.push(end === at ? `${sorted[at]}` : `${sorted[at]}-${sorted[end]}`);
    at = end + 1;
  }
  return parts.join(",");
}

export const selectIds = (...ids: number[]): Select => ({ ids: idsOf(ids) });

/** Do it, without asking back. Raises what the server says when it was done to none because of that. */
export function act(name: ActionName, select: Select, extra: Record<string, unknown> = {}): Promise<Acted> {
  return send<Acted>("POST", "/jobs/actions", { action: name, select, ...actionOf(name).extra, ...extra });
}

/** How many it was done to, and of how many of them nobody can tell the node now. */
export function doneWords(word: Word, acted: Acted): string {
  const done = t(word, { n: count(acted.done.length) });
  return acted.later?.length ? `${done} · ${t("act.later", { n: count(acted.later.length) })}` : done;
}

/** Reasons in which the server names the job: one sentence for all of them. */
const REASONS: Record<string, Word> = { not_permitted: "act.not_yours", not_found: "act.gone" };

/** What was not done, grouped by the reason. */
export function reasonsOf(acted: Acted): { reason: string; ids: number[] }[] {
  const found = new Map<string, number[]>();
  for (const skipped of acted.skipped) {
    const word = REASONS[skipped.code];
    const reason = word ? t(word) : skipped.reason;
    found.set(reason, [...(found.get(reason) ?? []), skipped.id]);
  }
  return [...found].map(([reason, ids]) => ({ reason, ids })).sort((a, b) => b.ids.length - a.ids.length);
}

/** An action that the server did not do to the job, with its reason. */
export class Skipped extends Error {}

/** The same for one job. Raises `Skipped` when it was not done. */
export async function actOn(job: number, action: string, more: Record<string, unknown>): Promise<void> {
  const { skipped } = await send<Acted>("POST", "/jobs/actions", { action, select: { ids: String(job) }, ...more });
  if (skipped[0]) throw new Skipped(skipped[0].reason);
}
