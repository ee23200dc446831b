// The words of a reason. The server says each as data and in English; in another language the data is put into words here.
import { memory, span } from "./format";
import type { Schemas } from "./api";
import type { Reason } from "./doc";
import { said, speech } from "./words.svelte";

type Holder = Schemas["Holder"];
type Process = Schemas["Process"];

const MAX_HOLDERS = 4;
/** What is the words of somebody: of a node, of a driver. */
const SAID = new Set(["why", "fault"]);

export function wording(reason: Reason): string {
  if (speech.language === "en") return reason.text;
  return speech.maybe(`reasons.${reason.code}${variant(reason)}`, reason.text, values(reason));
}

/** Some have several wordings, by what is in them. */
export function variant(reason: Reason): string {
  if (reason.code === "not_before" && reason.attempts) return "_retry";
  if (reason.code === "gpu_taken" && Number(reason.slots) > 1) return "_slots";
  if (reason.code === "gpu_utilization" && reason.util === null) return "_unknown";
  if (reason.code === "quota" && Number(reason.asked) > Number(reason.most)) return "_never";
  if (reason.code === "behind") return reason.jobs === 0 ? "_none" : reason.jobs === null ? "_many" : "";
  if (reason.code === "gpu_claimed" && reason.by?.pid == null) return "_unknown";
  if (reason.code === "gpu_drained" && reason.how === "disabled") return "_disabled";
  if (reason.code === "waits_for_job") return `_${String(reason.wants)}`;
  return "";
}

function values(reason: Reason): Record<string, string | number> {
  const found: Record<string, string | number> = {};
  for (const [key, value] of Object.entries(reason)) {
    if (typeof value === "number") found[key] = key.endsWith("_mib") ? memory(value) : key.endsWith("_s") ? span(value) : value;
    else if (typeof value === "string") found[key] = key === "state" ? speech.maybe(`state.${value}`, value) : SAID.has(key) ? said(value) : value;
  }
  if (typeof reason.attempts === "number") found.next = reason.attempts + 1;
  if (typeof reason.what === "string") found.what = speech.maybe(`reasons.what_${reason.what}`, reason.what);
  if (Array.isArray(reason.asked)) found.asked = reason.asked.join(",");
  const by = reason.by;
  if (by) Object.assign(found, { by: by.user, pid: by.pid ?? "" });
  found.holders = holders(reason.holders ?? []);
  found.procs = processes(reason.procs ?? []);
  return found;
}

/** Who has it, as the tail of a sentence; nothing when nobody is named. */
function holders(all: Holder[]): string {
  if (!all.length) return "";
  const named = all.slice(0, MAX_HOLDERS).map((holder) => speech.say("reasons.holder", { job: holder.job, user: holder.user }));
  const tail = all.length > MAX_HOLDERS ? speech.say("reasons.and_more", { n: all.length - MAX_HOLDERS }) : "";
  return speech.say("reasons.holders", { holders: named.join(speech.say("reasons.comma")) + tail });
}

function processes(all: Process[]): string {
  const named = all.map((one) =>
    speech.say("reasons.process", { pid: one.pid, user: one.user ?? "?", memory: memory(one.mem_mib), command: one.command ?? "?" }),
  );
  return named.length ? speech.say("reasons.procs", { procs: named.join(speech.say("reasons.comma")) }) : "";
}
