// What an administrator does to nodes of other machines: check, trust, give up, remove. Each asks before it loses anything.
import { Refused, send, type Schemas } from "../../lib/api";
import type { Node } from "../../lib/doc";
import { toasts } from "../../lib/toasts.svelte";
import { t } from "../../lib/i18n";
import { confirm } from "../Confirm.svelte";

export type Checks = Schemas["NodeChecked"];

const pathOf = (node: Node, rest = ""): string => `/nodes/${encodeURIComponent(node.name)}${rest}`;

export const check = (node: Node): Promise<Checks> => send<Checks>("POST", pathOf(node, "/check"));

/** Its jobs are lost; those with retries go elsewhere. */
export async function giveUp(node: Node): Promise<void> {
  const text = node.jobs ? t("nodes.give_up.confirm", { jobs: node.jobs }) : t("nodes.give_up.none");
  if (!(await confirm({ title: t("nodes.give_up.title", { node: node.name }), text, yes: t("nodes.give_up"), isDangerous: true }))) return;
  try {
    const { lost } = await send<Schemas["NodeLost"]>("POST", pathOf(node, "/lost"));
    toasts.good(t("nodes.did.give_up", { what: node.name, jobs: lost.length }));
  } catch (error) {
    toasts.bad(error);
  }
}

/** Ask which key it has, show it, and believe it when a person says so. */
export async function trust(node: Node): Promise<void> {
  try {
    const hostKey = await keyOf(node);
    if (hostKey !== null) {
      const text = t("nodes.trust.confirm", { node: node.name, was: node.host_key ?? "–" });
      if (!(await confirm({ title: t("nodes.trust.title", { node: node.name }), text, code: hostKey, yes: t("nodes.trust.yes"), isDangerous: true }))) return;
      await send("POST", pathOf(node, "/trust"), { host_key: hostKey });
    }
    toasts.good(t("nodes.did.trust", { what: node.name }));
  } catch (error) {
    toasts.bad(error);
  }
}

/** The key that nobody has said to be right; null when there is no doubt any more. */
async function keyOf(node: Node): Promise<string | null> {
  try {
    await send("POST", pathOf(node, "/trust"), { host_key: null });
    return null;
  } catch (error) {
    if (error instanceof Refused && error.hostKey !== null) return error.hostKey;
    throw error;
  }
}

/** Forget it; with its jobs, when it has some and they are given up. Whether it is gone. */
export async function remove(node: Node): Promise<boolean> {
  const text = node.jobs ? t("nodes.remove.jobs", { jobs: node.jobs }) : t("nodes.remove.confirm");
  const yes = node.jobs ? t("nodes.remove.force") : t("nodes.remove");
  if (!(await confirm({ title: t("nodes.remove.title", { node: node.name }), text, yes, isDangerous: true }))) return false;
  try {
    await send("DELETE", pathOf(node, node.jobs ? "?force=true" : ""));
    toasts.good(t("nodes.did.remove", { what: node.name }));
    return true;
  } catch (error) {
    toasts.bad(error);
    return false;
  }
}
