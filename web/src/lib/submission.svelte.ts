// A submission in the making: what is in the form, what the server says would become of it, and sending it. What is typed is
// kept for the length of the browser's session, so that neither a reload nor a wrong click loses it.
import { get, Refused, send, type Json, type Schemas } from "./api";
import { moment } from "./clock.svelte";
import type { Reason } from "./doc";
import { commandLine, commandText, EMPTY, fieldOf, fieldsOf, read, type Fields, type Name, type Spec } from "./jobform";
import { session } from "./session.svelte";
import { commands, spans } from "./parse";
import { t } from "./i18n";

export type Mode = "one" | "many" | "sweep";
export type Instead = Schemas["Instead"];
export interface Would {
  would: "start" | "wait";
  gpus: number[];
  reasons: Reason[];
  node?: string;
  eta?: { p50_s: number; p90_s: number; p50_at: string; from: string } | null;
  not_before?: string | null;
  instead?: Instead[];
}
export type Planned = Schemas["SweepPlanned"];
/** A line of many, and what would become of it. */
export interface Line {
  line: number;
  command: string;
  would: Would | null;
  problem: Pick<Refused, "message"> | null;
}
type Read = Schemas["JobLines"];
interface Points {
  params: { name: string; values: string }[];
  where: string;
  samples: string;
  seed: string;
  max_running: string;
}

const KEPT = "roost-submit";
const MAX_BAD = 12;
/** So many lines are checked while they are typed; more when the button is pressed. */
export const MAX_AT_ONCE = 300;
const NO_POINTS: Points = { params: [{ name: "", values: "" }], where: "", samples: "", seed: "", max_running: "" };

export class Submission {
  mode = $state<Mode>("one");
  fields = $state<Fields>({ ...EMPTY });
  lines = $state("");
  points = $state<Points>(structuredClone(NO_POINTS));
  defaults = $state.raw<Json>({});
  /** Of the job this is a copy of. */
  env = $state.raw<Record<string, string>>({});
  isReady = $state(false);
  isSending = $state(false);
  isChecking = $state(false);
  /** What the server said last of what is in the form now. */
  would = $state.raw<Would | null>(null);
  plan = $state.raw<Planned | null>(null);
  checked = $state.raw<Line[]>([]);
  refusal = $state.raw<Refused | null>(null);
  notes = $state.raw<string[]>([]);
  #key = { of: "", key: "" };
  #clone: string | null = null;

  now = $derived.by(() => {
    void this.fields.begin;
    return new Date(moment());
  });
  read = $derived(read(this.fields, this.defaults, this.now, this.env));
  commands = $derived(commands(this.lines));
  line = $derived(this.mode === "one" ? commandLine(this.fields, this.defaults, this.now) : "");
  /** Whether there is anything to ask for. */
  isSaid = $derived(this.mode === "many" ? this.commands.length > 0 : Boolean((this.fields.isScript ? this.fields.script : this.fields.command).trim()));
  hasErrors = $derived(Object.keys(this.read.problems).some((field) => !(this.mode === "many" && field === "args")));
  /** All of it as one text: when this changes, what was said of it holds no longer. */
  text = $derived(JSON.stringify([this.mode, this.fields, this.mode === "many" ? this.lines : "", this.mode === "sweep" ? this.points : ""]));

  /** What is wrong with a field: what was typed, or what the server says of it. */
  problem(name: Name): string | null {
    const word = this.read.problems[name];
    if (word) return t(word);
    return this.refusal && fieldOf(this.refusal) === name ? this.refusal.message : null;
  }

  /** Fill the form: from a job, from what was left in it, or from the user's defaults. */
  async begin(clone: string | null): Promise<void> {
    this.defaults = (await get<Schemas["Defaults"]>("/defaults")).defaults as Json;
    const kept = recall();
    this.#clone = clone;
    if (kept && (!clone || kept.clone === clone)) {
      Object.assign(this, { mode: kept.mode, fields: { ...EMPTY, ...kept.fields }, lines: kept.lines, points: kept.points });
      if (this.fields.env_of !== null) await this.#takeEnv(this.fields.env_of);
    } else if (clone) await this.copy(Number(clone));
    else this.clear();
    this.isReady = true;
  }

  clear(): void {
    this.fields = fieldsOf({ gpus: 1, ...this.defaults });
    this.lines = "";
    this.points = structuredClone(NO_POINTS);
    this.refusal = null;
    this.notes = [];
    this.env = {};
    this.#clone = null;
  }

  async copy(id: number): Promise<void> {
    this.mode = "one";
    this.notes = [];
    try {
      this.fields = fieldsOf((await get<Schemas["AskedFor"]>(`/jobs/${id}/spec`)).spec as unknown as Json);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 403) throw error;
      this.fields = fieldsOf(ofView(await get<Schemas["JobShown"]>(`/jobs/${id}`)));
      this.notes = [t("submit.note_partial", { id })];
    }
    this.fields.hold = false;
    if (this.fields.begin && new Date(this.fields.begin).getTime() < moment()) this.fields.begin = "";
    for (const name of ["after", "after_any", "after_fail"] as const) this.fields[name] = "";
    await this.#takeEnv(id);
  }

  async #takeEnv(id: number): Promise<void> {
    try {
      this.env = (await get<{ env: Record<string, string> }>(`/jobs/${id}/env`)).env;
      this.fields.env_of = Object.keys(this.env).length ? id : null;
    } catch {
      this.fields.env_of = null;
      this.env = {};
      this.notes = [...this.notes, t("submit.note_no_env", { id })];
    }
  }

  dropEnv(): void {
    this.fields.env_of = null;
    this.env = {};
  }

  keep(): void {
    const { mode, fields, lines, points } = this;
    try {
      sessionStorage.setItem(KEPT, JSON.stringify({ user: session.me?.user, clone: this.#clone, mode, fields, lines, points }));
    } catch {
      // full, or a private window: what is typed is then only here
    }
  }

  /** Ask what would become of it. What was said before stays until the answer is here. */
  async check(signal: AbortSignal): Promise<void> {
    if (!this.isSaid || this.hasErrors) return this.#said({});
    this.isChecking = true;
    try {
      if (this.mode === "many") this.#said({ checked: await checkLines(this.commands, (await this.#readLines(signal)).lines, (some) => this.#ask(some, signal)) });
      else if (this.mode === "sweep") this.#said(await this.#checkSweep(signal));
      else this.#said({ would: (await this.#ask([this.read.spec], signal))[0]! });
    } catch (error) {
      if (error instanceof Refused) this.#said({ refusal: error });
      else if (!signal.aborted) this.#said({});
    } finally {
      if (!signal.aborted) this.isChecking = false;
    }
  }

  #said(what: { would?: Would; plan?: Planned; checked?: Line[]; refusal?: Refused }): void {
    this.would = what.would ?? null;
    this.plan = what.plan ?? null;
    this.checked = what.checked ?? [];
    const first = what.checked?.every((line) => line.problem) ? what.checked[0]?.problem : null;
    this.refusal = what.refusal ?? (first instanceof Refused ? first : null);
    this.isChecking = false;
  }

  async #ask(some: Spec[], signal: AbortSignal): Promise<Would[]> {
    const jobs = some.map((job) => ({ ...job, env: null }));
    return (await send<{ jobs: Would[] }>("POST", "/jobs", { jobs, dry_run: true }, signal)).jobs;
  }

  async #checkSweep(signal: AbortSignal): Promise<{ plan: Planned; would?: Would }> {
    const plan = await send<Planned>("POST", "/sweeps", { ...this.#sweepBody(), dry_run: true }, signal);
    const first = plan.points[0];
    const would = first && (await this.#ask([{ ...this.read.spec, command: first.command, name: null, stdout: null, stderr: null }], signal))[0];
    return would ? { plan, would } : { plan };
  }

  /** What `roost submit --from` makes of the lines, with what the form says as its options: the server reads them. */
  #readLines(signal?: AbortSignal): Promise<Read> {
    const { command: _, script: __, ...job } = this.read.spec;
    return send<Read>("POST", "/jobs/lines", { text: this.lines, job }, signal);
  }

  async #many(): Promise<Json> {
    const { lines, envs } = await this.#readLines();
    const bad = lines.find((line) => line.problem);
    if (bad) throw new Refused(400, "bad_request", t("submit.line_problem", { line: bad.line, problem: bad.problem! }), null);
    return { jobs: lines.map((line) => line.job), envs };
  }

  #sweepBody(): Json {
    const params = Object.fromEntries(this.points.params.filter((one) => one.name.trim()).map((one) => [one.name.trim(), one.values.trim()]));
    const numbers = Object.fromEntries((["samples", "seed", "max_running"] as const).filter((key) => /^\d+$/.test(this.points[key].trim())).map((key) => [key, Number(this.points[key])]));
    return { job: this.read.spec, params, ...(this.points.where.trim() && { where: this.points.where.trim() }), ...numbers };
  }

  /** Send it; says where to look at what came of it. The same sent twice is queued once. */
  async send(): Promise<{ path: string; ids: number[] }> {
    this.isSending = true;
    this.refusal = null;
    try {
      return await this.#send();
    } catch (error) {
      if (error instanceof Refused) this.refusal = error;
      throw error;
    } finally {
      this.isSending = false;
    }
  }

  async #send(): Promise<{ path: string; ids: number[] }> {
    if (this.mode === "sweep") {
      const made = await send<{ sweep: number; ids: number[] }>("POST", "/sweeps", this.#keyed(this.#sweepBody()));
      this.#done();
      return { path: `/sweeps/${made.sweep}`, ids: made.ids };
    }
    const body = this.mode === "many" ? await this.#many() : { jobs: [this.read.spec] };
    const { ids } = await send<{ ids: number[] }>("POST", "/jobs", this.#keyed(body));
    this.#done();
    return { path: ids.length === 1 ? `/jobs/${ids[0]}` : `/jobs?ids=${spans(ids)}`, ids };
  }

  /** Under one key for as long as it is the same that is asked: a second press, or a try after a lost answer, makes nothing twice. */
  #keyed(body: Json): Json {
    const of = JSON.stringify(body);
    if (this.#key.of !== of) this.#key = { of, key: randomKey() };
    return { ...body, key: this.#key.key };
  }

  #done(): void {
    this.#key = { of: "", key: "" };
    try {
      sessionStorage.removeItem(KEPT);
    } catch {
      // as above
    }
  }
}

function randomKey(): string {
  return "web-" + Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

interface Kept {
  user: string;
  clone: string | null;
  mode: Mode;
  fields: Partial<Fields>;
  lines: string;
  points: Points;
}

function recall(): Kept | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null") as Kept | null;
    return kept && kept.user === session.me?.user ? kept : null;
  } catch {
    return null;
  }
}

/** What each line would do. A bad one is left out and the others are asked of again; when many are bad, one word is for all. */
async function checkLines(typed: { line: number; command: string }[], read: Read["lines"], ask: (jobs: Spec[]) => Promise<Would[]>): Promise<Line[]> {
  const texts = new Map(typed.map(({ line, command }) => [line, command]));
  const jobs = new Map(read.filter((one) => one.job).map((one) => [one.line, one.job as unknown as Spec]));
  const found: Line[] = read.map(({ line, job, problem }) => ({
    line, command: job ? commandText((job as unknown as Spec).command) : (texts.get(line) ?? ""), would: null, problem: problem ? { message: problem } : null,
  }));
  for (let bad = 0; ; bad++) {
    const open = found.filter((line) => !line.problem);
    if (!open.length) return found;
    try {
      const answers = await ask(open.map((line) => jobs.get(line.line)!));
      open.forEach((line, at) => (line.would = answers[at]!));
      return found;
    } catch (error) {
      if (!(error instanceof Refused) || error.index === null) throw error;
      const line = open[error.index]!;
      line.problem = error;
      const isOfAll = found.filter((other) => other.problem?.message === error.message).length > 2;
      if (bad >= MAX_BAD || isOfAll) throw error;
    }
  }
}

/** A job's view in the shape of what was asked for, as far as it is shown. */
function ofView(job: Schemas["JobShown"]): Json {
  const { name, desc, cwd, labels, priority, retries, retry_oom, preemptible, time_limit_s, stdout, stderr, command, request } = job;
  return { ...request, name, desc, cwd, labels, priority, retries, retry_oom, preemptible, time_limit_s, stdout, stderr, command };
}
