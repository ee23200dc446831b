// Asking the server. Everything goes through here: the session's secret with every change, one shape of error, and a
// session that has ended: then the password is asked for, and what was asked is asked again, so that no form is lost.
import type { components } from "../api/schema";
import { session } from "./session.svelte";
import { i18n } from "./i18n";

export type Schemas = components["schemas"];
export type Json = Record<string, unknown>;
type Params = Record<string, string | number | boolean | null | undefined>;

/** A request that the server refused, in its own words: they are in the language of the page. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | null,
    /** Where several jobs were sent: the position of the bad one. */
    readonly index: number | null = null,
    /** The host key of a node, which has not been confirmed. */
    readonly hostKey: string | null = null,
    /** The code of the message: `spec.too_long`. */
    readonly reason: string | null = null,
  ) {
    super(message);
  }
}

/** The server cannot be reached; nothing was lost, nothing was done. */
export class Unreachable extends Error {}

export function get<T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  return ask<T>("GET", path + queryOf(params), undefined, signal);
}

export function send<T = Json>(method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  return ask<T>(method, path, body, signal);
}

export function queryOf(params: Params): string {
  const pairs = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return pairs.length ? "?" + new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString() : "";
}

async function ask<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  for (;;) {
    const answer = await raw(method, path, body, signal);
    if (answer.ok) return (await answer.json()) as T;
    const error = await refusalOf(answer);
    if (error.status !== 401 || path === "/login") throw error;
    await session.again();
  }
}

/** The bare answer, for what is no JSON. */
export async function raw(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { "Accept-Language": i18n.language };
  if (method !== "GET") {
    headers["Content-Type"] = "application/json";
    if (session.csrf) headers["Roost-CSRF"] = session.csrf;
  }
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (method !== "GET") init.body = JSON.stringify(body ?? {});
  if (signal) init.signal = signal;
  try {
    return await fetch("/api/v1" + path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Unreachable();
  }
}

export async function refusalOf(answer: Response): Promise<Refused> {
  try {
    const { error } = (await answer.json()) as { error: { code: string; message: string; hint: string | null; index?: number; host_key?: string; reason?: string } };
    return new Refused(answer.status, error.code, error.message, error.hint, error.index ?? null, error.host_key ?? null, error.reason ?? null);
  } catch {
    return new Refused(answer.status, "error", answer.statusText || `HTTP ${answer.status}`, null);
  }
}
