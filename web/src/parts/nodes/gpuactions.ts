// What an administrator does to nodes and GPUs. Nothing of it touches what runs.
import { send } from "../../lib/api";
import type { Node, Tile } from "../../lib/doc";
import { memory } from "../../lib/format";
import { toasts } from "../../lib/toasts.svelte";
import { t } from "../../lib/i18n";
import { confirm } from "../Confirm.svelte";

export type GpuAction = "drain" | "undrain" | "disable" | "enable" | "release";

export const nameOf = (gpu: Tile): string => `${gpu.node}:${gpu.index}`;

/** The model without the maker, who is the same for all. */
export const modelOf = (gpu: Tile): string => gpu.model.replace(/^NVIDIA (GeForce )?/, "");

/** Why it cannot be used: the server's words, but for what is known here in the reader's own. */
export function reasonOf(gpu: Tile): string | null {
  if (gpu.state === "unreachable") return null; // its node says it, once for all
  if (gpu.state !== "foreign" || !gpu.procs.length) return gpu.reason;
  return gpu.procs.map((process) => `${process.user ?? "?"} (${process.pid}, ${memory(process.mem_mib)})`).join(", ");
}

export async function actOnGpu(gpu: Tile, action: GpuAction): Promise<boolean> {
  try {
    await send("POST", "/gpus/actions", { action, gpus: [gpu.uuid] });
    toasts.good(t(`nodes.did.${action}`, { what: nameOf(gpu) }));
    return true;
  } catch (error) {
    toasts.bad(error);
    return false;
  }
}

/** Slots and name of a GPU; raises what the server says. */
export async function setGpu(gpu: Tile, slots: number, alias: string): Promise<void> {
  const body = { action: "set", gpus: [gpu.uuid], ...(slots !== gpu.slots && { slots }), ...(alias !== (gpu.alias ?? "") && { alias }) };
  await send("POST", "/gpus/actions", body);
  toasts.good(t("nodes.did.set", { what: nameOf(gpu) }));
}

export async function drainNode(node: Node): Promise<void> {
  const undrain = node.drained;
  if (!undrain && node.jobs > 0) {
    const text = t("nodes.drain.confirm", { jobs: node.jobs });
    if (!(await confirm({ title: t("nodes.drain.title", { node: node.name }), text, yes: t("nodes.drain") }))) return;
  }
  try {
    await send("POST", "/drain", { targets: [node.name], undrain });
    toasts.good(t(undrain ? "nodes.did.undrain" : "nodes.did.drain", { what: node.name }));
  } catch (error) {
    toasts.bad(error);
  }
}
