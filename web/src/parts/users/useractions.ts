// What an administrator does about users.
import { send, type Schemas } from "../../lib/api";
import { toasts } from "../../lib/toasts.svelte";
import { quotaOf, weightOf } from "../../lib/usage";
import { t } from "../../lib/i18n";
import { confirm } from "../Confirm.svelte";

export type User = Schemas["User"];
export interface OneTime {
  user: string;
  url: string;
}
type Deleted = Schemas["UserDeleted"];
type Quota = "max_gpus" | "max_jobs" | "max_queued";

export const pathOf = (name: string): string => `/users/${encodeURIComponent(name)}`;

/** The link at the address by which this browser came: the one that the server gave itself may lead nowhere from elsewhere. */
export const linkHere = (url: string): string => location.origin + new URL(url).pathname;

/** Raises what the server says. */
export async function change(name: string, changes: Record<string, unknown>): Promise<void> {
  await send("PATCH", pathOf(name), changes);
}

export async function setWeight(name: string, text: string): Promise<void> {
  const weight = weightOf(text);
  if (weight === undefined) throw new Error(t("users.weight_wrong"));
  await change(name, { weight });
}

export async function setQuota(name: string, quota: Quota, text: string): Promise<void> {
  const value = quotaOf(text);
  if (value === undefined) throw new Error(t("users.quota_wrong"));
  await change(name, { [quota]: value });
}

export async function setUnix(name: string, text: string): Promise<void> {
  const unix = /^(none|无|)$/i.test(text) ? null : text;
  const words = unix ? t("users.tie.confirm", { unix, user: name }) : t("users.untie.confirm", { user: name });
  if (!(await confirm({ title: t("users.tie.title", { user: name }), text: words, yes: t("all.save") }))) return;
  await change(name, { unix });
}

/** Lock or unlock; true when it was done. */
export async function lock(user: User, isAsked = true): Promise<boolean> {
  if (!user.locked && isAsked) {
    const text = t("users.lock.confirm", { running: user.running });
    if (!(await confirm({ title: t("users.lock.title", { user: user.user }), text, yes: t("users.lock"), isDangerous: true }))) return false;
  }
  return done(change(user.user, { locked: !user.locked }), t(user.locked ? "users.unlocked" : "users.did_lock", { user: user.user }));
}

export async function makeAdmin(user: User): Promise<boolean> {
  const [title, text] = user.admin
    ? [t("users.unadmin.title", { user: user.user }), t("users.unadmin.confirm")]
    : [t("users.make_admin.title", { user: user.user }), t("users.make_admin.confirm")];
  if (!(await confirm({ title, text, yes: t(user.admin ? "users.unadmin" : "users.make_admin") }))) return false;
  return done(change(user.user, { admin: !user.admin }), t(user.admin ? "users.did_unadmin" : "users.did_admin", { user: user.user }));
}

/** A one-time link to choose a password with; null when there is none. */
export async function newLink(name: string): Promise<OneTime | null> {
  try {
    const made = await send<Schemas["UserLink"]>("POST", `${pathOf(name)}/link`);
    return { user: name, url: linkHere(made.url) };
  } catch (error) {
    toasts.bad(error);
    return null;
  }
}

/** Delete a user; true if they were deleted. */
export async function remove(user: User): Promise<boolean> {
  const text = t("users.delete.confirm", { running: user.running, queued: user.queued });
  if (!(await confirm({ title: t("users.delete.title", { user: user.user }), text, yes: t("all.delete"), isDangerous: true }))) return false;
  try {
    const gone = await send<Deleted>("DELETE", pathOf(user.user));
    toasts.good(t(gone.admitted ? "users.deleted_admitted" : "users.deleted", { user: user.user, jobs: gone.ended.length }));
    return true;
  } catch (error) {
    toasts.bad(error);
    return false;
  }
}

async function done(work: Promise<void>, words: string): Promise<boolean> {
  try {
    await work;
    toasts.good(words);
    return true;
  } catch (error) {
    toasts.bad(error);
    return false;
  }
}
