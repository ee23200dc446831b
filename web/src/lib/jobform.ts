// The form of a job: what is typed into it, the job that it asks for, and the command line that asks for the same. Pure.
import type { Json, Refused, Schemas } from "./api";
import * as typed from "./parse";
import type { Word } from "./i18n";

export type Spec = Partial<Schemas["JobSpec"]> & Pick<Schemas["JobSpec"], "command">;

/** Every field as it is typed; empty is "not said". */
export interface Fields {
  command: string;
  /** A script in place of a line; its name and arguments are then the command. */
  isScript: boolean;
  script: string;
  args: string;
  /** The words of the job this was taken from, for as long as the command reads the same. */
  argv: string[] | null;
  name: string;
  cwd: string;
  labels: string;
  desc: string;
  user: string;
  gpus: string;
  mem: string;
  max_util: string;
  exclusive: boolean;
  gpu_ids: string;
  prefer_gpus: string;
  nodes: string;
  prefer_nodes: string;
  gpu_models: string;
  min_gpu_mem: string;
  begin: string;
  after: string;
  after_any: string;
  after_fail: string;
  priority: string;
  hold: boolean;
  time: string;
  warn: string;
  warn_signal: string;
  grace: string;
  retries: string;
  retry_oom: string;
  preemptible: boolean;
  stdout: string;
  stderr: string;
  merge: boolean;
  open: "new" | "append" | "overwrite";
  notify: string[];
  fill: boolean;
  umask: string;
  env: string;
  /** The job whose environment it has, besides what is in `env`. */
  env_of: number | null;
}
export type Name = keyof Fields;

export const EMPTY: Fields = {
  command: "", isScript: false, script: "", args: "", argv: null, name: "", cwd: "", labels: "", desc: "", user: "",
  gpus: "1", mem: "", max_util: "", exclusive: false, gpu_ids: "", prefer_gpus: "", nodes: "", prefer_nodes: "", gpu_models: "", min_gpu_mem: "",
  begin: "", after: "", after_any: "", after_fail: "", priority: "", hold: false, time: "", warn: "", warn_signal: "", grace: "", retries: "", retry_oom: "",
  preemptible: false, stdout: "", stderr: "", merge: false, open: "new", notify: [], fill: false, umask: "", env: "", env_of: null,
};

export const EVENTS = ["start", "end", "fail", "kill", "timeout", "lost", "oom", "idle"] as const;
export const SIGNALS = ["HUP", "INT", "QUIT", "USR1", "USR2", "TERM", "CONT", "ABRT", "ALRM"];
/** What belongs to one job and is never a default. */
export const OF_ONE_JOB = ["command", "script", "env", "hold", "after", "after_any", "after_fail", "begin_at", "user", "sweep", "point"];

/** A field, its key in a job, its option, how it is read, and how it is written. */
interface Row {
  field: Name;
  key: string;
  option: string;
  read: (text: string, now: Date) => unknown;
  show: (value: never) => string;
  /** What Roost does where nothing is said, for a default that is taken back. */
  plain: unknown;
}

const text = (value: unknown): string => String(value);
const list = (value: unknown[]): string => value.join(", ");
const same = (value: string): string => value;
const count = (most: number) => (value: string): number => typed.whole(value, 0, most);

const row = (field: Name, key: string, option: string, read: Row["read"], show: (value: never) => string = text, plain: unknown = null): Row => ({ field, key, option, read, show, plain });
const ROWS: Row[] = [
  row("gpus", "gpus", "--gpus", count(100_000), text, 1),
  row("mem", "mem_mib", "--mem", typed.mebibytes, typed.sizeText),
  row("max_util", "max_util", "--max-util", typed.percent),
  row("gpu_ids", "gpu_ids", "--gpu-id", typed.items, list, []),
  row("prefer_gpus", "prefer_gpus", "--prefer-gpu", typed.items, list, []),
  row("gpu_models", "gpu_models", "--gpu-model", typed.alternatives, list, []),
  row("min_gpu_mem", "min_gpu_mem_mib", "--min-gpu-mem", typed.mebibytes, typed.sizeText),
  row("nodes", "nodes", "--node", typed.items, list, []),
  row("prefer_nodes", "prefer_nodes", "--prefer-node", typed.items, list, []),
  row("name", "name", "--name", same),
  row("desc", "desc", "--desc", same),
  row("labels", "labels", "--label", typed.items, list, []),
  row("cwd", "cwd", "--cwd", absolute),
  row("user", "user", "--owner", same),
  row("priority", "priority", "--priority", (value) => typed.whole(value, -1_000_000, 1_000_000), text, 0),
  row("begin", "begin_at", "--begin", typed.moment, local),
  row("after", "after", "--after", typed.ids, typed.spans, []),
  row("after_any", "after_any", "--after-any", typed.ids, typed.spans, []),
  row("after_fail", "after_fail", "--after-fail", typed.ids, typed.spans, []),
  row("time", "time_limit_s", "--time", typed.seconds, typed.spanText),
  row("warn", "warn_s", "--warn", typed.seconds, typed.spanText),
  row("warn_signal", "warn_signal", "--warn-signal", same, text, "USR2"),
  row("grace", "grace_s", "--grace", typed.seconds, typed.spanText),
  row("retries", "retries", "--retries", count(10_000), text, 0),
  row("retry_oom", "retry_oom", "--retry-oom", count(10_000), text, 0),
  row("stdout", "stdout", "--output", same),
  row("stderr", "stderr", "--error", same),
  row("umask", "umask", "", octal, (value: number) => value.toString(8).padStart(3, "0")),
];
const SHORT: Record<string, string> = { "--gpus": "-g", "--label": "-l", "--cwd": "-C", "--time": "-t", "--output": "-o", "--error": "-e" };
const FLAGS = ["exclusive", "hold", "preemptible", "fill"] as const;
const OF_GPUS = ["mem_mib", "mem_auto", "gpu_ids", "prefer_gpus", "gpu_models", "min_gpu_mem_mib", "exclusive", "max_util"];
const BY_KEY = new Map<string, Name>([...ROWS.map((one) => [one.key, one.field] as const), ["mem_auto", "mem"], ["notify", "notify"], ["open", "open"], ["env", "env"], ["script", "script"], ["command", "command"], ...FLAGS.map((flag) => [flag, flag] as const)]);

function absolute(value: string): string {
  if (!value.trim().startsWith("/")) throw new typed.ParseError("submit.expected_path");
  return value.trim();
}

function octal(value: string): number {
  if (!/^0?[0-7]{1,3}$/.test(value.trim())) throw new typed.ParseError("submit.expected_umask");
  return parseInt(value, 8);
}

/** A moment as the form shows it: on this browser's clock. */
function local(value: string): string {
  const at = new Date(value);
  const two = (part: number): string => String(part).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

export interface Read {
  spec: Spec;
  /** By field, the message for what is expected there. */
  problems: Partial<Record<Name, Word>>;
}

/** The job that the fields ask for. A default that was cleared is taken back in so many words. */
export function read(fields: Fields, defaults: Json, now: Date, env: Record<string, string> = {}): Read {
  const problems: Read["problems"] = {};
  const asked: Json = {};
  for (const { field, key, read, plain } of ROWS) {
    const typedText = String(fields[field]).trim();
    if (field === "mem" && typedText.toLowerCase() === "auto") {
      asked.mem_auto = true;
    } else if (typedText) {
      try {
        asked[key] = read(typedText, now);
      } catch (error) {
        if (error instanceof typed.ParseError) problems[field] = error.word;
      }
    } else if (defaults[key] !== undefined) asked[key] = plain;
  }
  for (const flag of FLAGS) if (fields[flag] || defaults[flag]) asked[flag] = fields[flag];
  if (fields.merge) asked.stderr = "stdout";
  if (fields.open !== "new" || defaults.open) asked.open = fields.open;
  if (fields.notify.length || defaults.notify) asked.notify = fields.notify;
  if (defaults.mem_auto && !asked.mem_auto) asked.mem_auto = false;
  settleGpus(asked);
  readCommand(fields, asked, problems);
  readEnv(fields, env, asked, problems);
  return { spec: asked as Spec, problems };
}

/** Without GPUs nothing is said of them: the fields are out of reach then, but keep what was typed. */
function settleGpus(asked: Json): void {
  if (asked.gpus === 0) for (const key of OF_GPUS) delete asked[key];
}

function readCommand(fields: Fields, asked: Json, problems: Read["problems"]): void {
  if (!fields.isScript) {
    asked.command = fields.argv && fields.command === commandText(fields.argv) ? fields.argv : fields.command.trim();
    return;
  }
  asked.script = fields.script;
  try {
    asked.command = [fields.name.trim() || "script", ...typed.words(fields.args)];
  } catch (error) {
    if (error instanceof typed.ParseError) problems.args = error.word;
  }
}

function readEnv(fields: Fields, env: Record<string, string>, asked: Json, problems: Read["problems"]): void {
  try {
    const own = typed.variables(fields.env);
    if (fields.env_of !== null || Object.keys(own).length) asked.env = { ...env, ...own };
  } catch (error) {
    if (error instanceof typed.ParseError) problems.env = error.word;
  }
}

export const commandText = (command: string[] | string): string => (typeof command === "string" ? command : command.map(typed.quoted).join(" "));

/** The fields that ask for that job; of a job's view where the job itself is not to be had. */
export function fieldsOf(spec: Json): Fields {
  const fields: Json = { ...EMPTY, notify: [] };
  for (const { field, key, show } of ROWS) {
    const value = spec[key];
    const isThere = value !== null && value !== undefined && !(Array.isArray(value) && !value.length);
    if (isThere) fields[field] = (show as (value: unknown) => string)(value);
  }
  if (spec.mem_auto) fields.mem = "auto";
  for (const flag of FLAGS) fields[flag] = Boolean(spec[flag]);
  if (fields.priority === "0") fields.priority = "";
  for (const name of ["retries", "retry_oom"]) if (fields[name] === "0") fields[name] = "";
  if (spec.stderr === "stdout") Object.assign(fields, { stderr: "", merge: true });
  if (spec.open) fields.open = spec.open;
  if (spec.notify) fields.notify = [...(spec.notify as string[])];
  const command = (spec.command ?? "") as string[] | string;
  if (typeof spec.script === "string" && Array.isArray(command)) {
    Object.assign(fields, { isScript: true, script: spec.script, args: commandText(command.slice(1)), name: fields.name || command[0] });
  } else {
    fields.command = commandText(command);
    fields.argv = Array.isArray(command) ? command : null;
  }
  return fields as unknown as Fields;
}

/** The fields that a change of what is asked for sets; empty where a condition is dropped. */
export function fieldsToChange(ask: Json): Partial<Fields> {
  const fields: Json = {};
  for (const [key, value] of Object.entries(ask)) {
    const row = ROWS.find((one) => one.key === key);
    const isNone = value === null || (Array.isArray(value) && !value.length);
    if (row) fields[row.field] = isNone ? "" : (row.show as (value: unknown) => string)(value);
    else if ((FLAGS as readonly string[]).includes(key)) fields[key] = value;
  }
  return fields as Partial<Fields>;
}

/** The fields that are not at their default. */
export const setIn = (fields: Fields, names: Name[]): Name[] => names.filter((name) => String(fields[name] ?? "") !== String(EMPTY[name] ?? ""));

/** What the fields say of any job, as a user's defaults. */
export function defaultsOf(fields: Fields, now: Date): { defaults: Json; problems: Read["problems"] } {
  const { spec, problems } = read(fields, {}, now);
  const said = Object.entries(spec).filter(([key, value]) => !OF_ONE_JOB.includes(key) && !(key === "gpus" && value === 1));
  return { defaults: Object.fromEntries(said), problems };
}

/** The command line for the same job, without options that the user's defaults already set. */
export function commandLine(fields: Fields, defaults: Json, now: Date): string {
  const { spec } = read(fields, defaults, now);
  const said = spec as unknown as Json;
  const options: string[] = [];
  const without: string[] = [];
  for (const { field, key, option, plain } of ROWS) {
    const value = said[key];
    const isDefault = same_(value, defaults[key]);
    if (value === undefined || isDefault || !option || (field === "stderr" && fields.merge)) continue;
    const word = SHORT[option] ?? option;
    if (same_(value, plain)) {
      if (defaults[key] !== undefined && key !== "cwd") without.push(option.slice(2));
    } else if (key === "labels") for (const label of value as string[]) options.push(word, typed.quoted(label));
    else options.push(word, typed.quoted(typedAs(field, fields)));
  }
  if (said.mem_auto && !defaults.mem_auto) options.push("--mem", "auto");
  for (const flag of FLAGS) {
    if (said[flag] && !defaults[flag]) options.push(`--${flag}`);
    else if (said[flag] === false && defaults[flag]) without.push(flag);
  }
  if (fields.merge && defaults.stderr !== "stdout") options.push("--merge");
  if (fields.open !== "new" && defaults.open !== fields.open) options.push(`--${fields.open}`);
  if (fields.notify.length && !same_(fields.notify, defaults.notify)) options.push("--notify", fields.notify.join(","));
  else if (!fields.notify.length && defaults.notify) without.push("notify");
  if (without.length) options.push("--without", without.join(","));
  for (const [name, value] of Object.entries((said.env ?? {}) as Json)) options.push("--env", typed.quoted(`${name}=${String(value)}`));
  return ["roost submit", ...options, commandWords(fields, spec)].join(" ");
}

function commandWords(fields: Fields, spec: Spec): string {
  if (fields.isScript) return commandText([fields.name.trim() || "job.sh", ...(Array.isArray(spec.command) ? spec.command.slice(1) : [])]);
  return Array.isArray(spec.command) ? commandText(spec.command) : typed.quoted(spec.command);
}

const typedAs = (field: Name, fields: Fields): string => String(fields[field]).trim().replace(/,\s+/g, ",");
const same_ = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The field that a refusal is about: by its reason, or by the key that its sentence begins with in every language. */
export function fieldOf({ reason, message }: Pick<Refused, "reason" | "message">): Name | null {
  if (reason && reason in ABOUT) return ABOUT[reason]!;
  const key = /(?:jobs\[\d+\]|job)\.([a-z_]+)/.exec(message)?.[1] ?? /^([a-z_]+)(?![a-z_])/.exec(message)?.[1];
  if (key && BY_KEY.has(key)) return BY_KEY.get(key)!;
  return HINTS.find(([pattern]) => pattern.test(message))?.[1] ?? null;
}

const ABOUT: Record<string, Name> = {
  "spec.no_command": "command", "spec.nul_in_command": "command", "spec.argument_too_long": "command", "spec.command_too_long": "command",
  "spec.script_too_long": "script", "spec.script_with_line": "script", "spec.bad_signal": "warn_signal",
  "spec.bad_variable": "env", "spec.variable_too_long": "env", "spec.environment_too_long": "env",
  "spec.gpu_wishes_without_gpus": "gpus", "spec.too_few_gpu_ids": "gpu_ids", "spec.exclusive_and_mem": "mem", "spec.mem_twice": "mem",
  "gpu.none": "gpus", "gpu.none_here": "gpus", "gpu.too_many": "gpus", "gpu.too_many_here": "gpus", "gpu.disabled": "gpu_ids", "gpu.unknown": "gpu_ids",
  "gpu.named_do_not_fit": "gpu_ids", "gpu.no_such_gpus": "gpu_models", "gpu.too_little_memory": "mem",
  "node.not_found": "nodes", "node.unknown": "nodes", "node.unknown_many": "nodes",
};

/** Refusals that have no reason yet. */
const HINTS: [RegExp, Name][] = [
  [/to wait for|^job \d+ has already ended/, "after"],
  [/priority/, "priority"],
  [/--owner|submits jobs for/, "user"],
  [/not a time|begin_at|time .* not /, "begin"],
];
