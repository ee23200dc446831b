// A job as its page shows it: what was asked against what was used, what to say about that, and its story. Pure.
import type { Schemas } from "./api";
import { memory, span } from "./format";
import { sizeText } from "./parse";
import { type Word } from "./i18n";

export type Attempt = Schemas["Attempt"];
export type JobView = Schemas["JobShown"];

export interface Use {
  /** Memory of a GPU that it had: of its share, else of the whole card; null when that is not known. */
  memAsked: number | null;
  isWhole: boolean;
  /** The most that it used of one GPU. */
  memPeak: number | null;
  /** Mean utilization of its GPUs, in percent. */
  util: number | null;
  ranS: number | null;
  limitS: number | null;
  rssPeak: number | null;
  cpuS: number | null;
}

/** What samples saw of an attempt: the most memory of one GPU, the mean utilization, the most memory of the host. */
export interface Seen {
  mem: number | null;
  util: number | null;
  rss: number | null;
}

const UNSEEN: Seen = { mem: null, util: null, rss: null };

/** What an attempt had and used. `cardMib` is the memory of the smallest of its GPUs, `now` is for one that runs. */
export function useOf(job: JobView, attempt: Attempt, cardMib: number | null, now: number, seen: Seen = UNSEEN): Use {
  const counted = attempt.peak_mem_mib;
  const share = attempt.granted_mib ?? job.request.mem_mib;
  const end = attempt.ended_at ? Date.parse(attempt.ended_at) : now;
  return {
    memAsked: job.gpus === 0 ? null : (share ?? cardMib),
    isWhole: share === null,
    memPeak: counted !== null && seen.mem !== null ? Math.max(counted, seen.mem) : (counted ?? seen.mem),
    util: attempt.util_mean ?? seen.util,
    ranS: attempt.started_at ? Math.max(0, (end - Date.parse(attempt.started_at)) / 1000) : null,
    limitS: job.time_limit_s,
    rssPeak: attempt.peak_rss_mib ?? seen.rss,
    cpuS: attempt.cpu_s,
  };
}

export interface Advice {
  word: Word;
  values: Record<string, string | number>;
}

const MIB_WORTH = 2048;
const LONG_S = 120;

/** What is plain to see, of an attempt that has ended and ran long enough to tell. */
export function adviceOf(job: JobView, attempt: Attempt, use: Use): Advice[] {
  const found: Advice[] = [];
  if (!attempt.ended_at || job.gpus === 0) return found;
  const asked = use.memAsked;
  if (attempt.outcome === "out_of_memory" && asked !== null && !use.isWhole) found.push({ word: "job.advice_oom", values: { asked: memory(asked) } });
  if ((use.ranS ?? 0) < LONG_S) return found;
  if (asked !== null && use.memPeak && asked - use.memPeak >= MIB_WORTH && use.memPeak < asked / 2 && attempt.outcome !== "out_of_memory") {
    const enough = sizeText(Math.ceil((use.memPeak * 1.15) / 1024) * 1024);
    found.push({ word: use.isWhole ? "job.advice_whole" : "job.advice_mem", values: { asked: memory(asked), peak: memory(use.memPeak), enough } });
  }
  if (use.util !== null && use.util < 10) found.push({ word: "job.advice_util", values: { util: Math.round(use.util) } });
  if (use.limitS !== null && use.ranS !== null && attempt.outcome === "succeeded" && use.limitS - use.ranS > 1800 && use.ranS < use.limitS / 4) {
    found.push({ word: "job.advice_time", values: { asked: span(use.limitS), ran: span(use.ranS) } });
  }
  return found;
}

export interface Step {
  at: string;
  word: Word;
  values: Record<string, string | number>;
  actor: string | null;
  /** How it ended, for its colour. */
  outcome?: string | null;
}

const KINDS: Record<string, Word> = {
  JobHeld: "job.story_held", Released: "job.story_released", Moved: "job.story_moved", Edited: "job.story_edited", StartRefused: "job.story_refused",
  Paused: "job.story_paused", Resumed: "job.story_resumed", StopAsked: "job.story_stop", Requeued: "job.story_requeued", Rerun: "job.story_rerun",
};
const STOPS: Record<string, Word> = { kill: "job.story_kill", rm: "job.story_rm", timeout: "job.story_timeout" };
const REQUEUED: Record<string, Word> = { retry: "job.story_retry", oom: "job.story_retry_oom", preempt: "job.story_preempted" };

/** What happened to a job, in order: what people did, and what its attempts went through. */
export function storyOf(job: JobView): Step[] {
  const steps: Step[] = [{ at: job.submitted_at, word: "job.story_submitted", values: {}, actor: job.submitter }];
  for (const attempt of job.attempts) steps.push(...stepsOf(attempt));
  for (const event of job.story) {
    const why = event.why ?? "";
    const word = event.kind === "StopAsked" ? (STOPS[why] ?? (why.startsWith("preempt") ? "job.story_preempt" : "job.story_stop"))
      : event.kind === "Requeued" ? (REQUEUED[why] ?? "job.story_requeued") : KINDS[event.kind];
    if (word) steps.push({ at: event.at, word, values: { reason: event.reason ?? "", attempt: event.attempt ?? 0 }, actor: event.actor });
  }
  const isOver = job.ended_at && !job.attempts.some((attempt) => attempt.ended_at && attempt.started_at && Math.abs(Date.parse(attempt.ended_at) - Date.parse(job.ended_at!)) < 2000);
  if (isOver) steps.push({ at: job.ended_at!, word: "job.story_ended_waiting", values: {}, actor: null, outcome: job.outcome });
  // Of what happened in one moment, what an attempt went through stands before what followed of it.
  return steps.map((step, n) => ({ step, n })).sort((a, b) => Date.parse(a.step.at) - Date.parse(b.step.at) || a.n - b.n).map(({ step }) => step);
}

function stepsOf(attempt: Attempt): Step[] {
  if (!attempt.started_at) return [];
  const gpus = attempt.gpu_indices.join(", ");
  const values = { attempt: attempt.attempt, node: attempt.node, gpus };
  const steps: Step[] = [{ at: attempt.started_at, word: gpus ? "job.story_started" : "job.story_started_cpu", values, actor: null }];
  if (attempt.ended_at) steps.push({ at: attempt.ended_at, word: "job.story_ended", values, actor: null, outcome: attempt.outcome });
  return steps;
}
