// The words of a reason. The server says each as data and in English; in another language the data is put into words here.
import { memory, span } from "./format";
import type { Reason } from "./doc";
import { speech } from "./words.svelte";

type Holder = { job: number; user: string };
type Process = { pid: number; user: string | null; command: string | null; mem_mib: number | null };

export function wording(reason: Reason): string {
  if (speech.language === "en") return reason.text;
  return speech.maybe(`reasons.${reason.code}${variant(reason)}`, reason.text, values(reason));
}

/** Some have several wordings, by what is in them. */
function variant(reason: Reason): string {
  if (reason.code === "not_before" && reason.attempts) return "_retry";
  if (reason.code === "gpu_taken" && Number(reason.slots) > 1) return "_slots";
  if (reason.code === "gpu_utilization" && reason.util === null) return "_unknown";
  if (reason.code === "quota" && Number(reason.asked) > Number(reason.most)) return "_never";
  if (reason.code === "behind") return reason.jobs === 0 ? "_none" : reason.jobs === null ? "_many" : "";
  if (reason.code === "waits_for_job") return `_${String(reason.wants)}`;
  return "";
}

function values(reason: Reason): Record<string, string | number> {
  const found: Record<string, string | number> = {};
  for (const [key, value] of Object.entries(reason)) {
    if (typeof value === "number") found[key] = key.endsWith("_mib") ? memory(value) : key.endsWith("_s") ? span(value) : value;
    else if (typeof value === "string") found[key] = speech.maybe(`state.${value}`, value);
  }
  const holders = (reason.holders ?? []) as Holder[];
  found.holders = holders.slice(0, 4).map((holder) => `${holder.job}（${holder.user}）`).join("、");
  const procs = (reason.procs ?? []) as Process[];
  found.procs = procs.map((process) => `${process.pid}（${process.user ?? "?"}，${memory(process.mem_mib)}）`).join("、");
  if (Array.isArray(reason.asked)) found.asked = reason.asked.join("、");
  return found;
}
