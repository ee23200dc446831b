// Texts about nodes: address, account of the jobs, clock difference. Pure.
import type { Node } from "./doc";

/** A difference of clocks that is worth a word. */
const CLOCK_MS = 1000;

export const isAway = (node: Node): boolean => node.state === "unreachable";

/** The server's own machine cannot be removed, and needs no check. */
export const isOwn = (node: Node): boolean => (node.target ?? null) === null;

/** The account in `ssh://account@host`; null when ssh's own configuration says it. */
export function loginOf(target: string | null | undefined): string | null {
  return /^ssh:\/\/([^@/]+)@/.exec(target ?? "")?.[1] ?? null;
}

/** By how many seconds its clock is ahead of the server's (negative: behind); null when that is too little to matter. */
export function clockOff(node: Node): number | null {
  const off = node.clock_ms ?? 0;
  return isAway(node) || Math.abs(off) <= CLOCK_MS ? null : off / 1000;
}

/** The nodes of which some word fits what is looked for: name, address, state, reason, a model. */
export function nodesFor(nodes: readonly Node[], models: ReadonlyMap<string, string>, wanted: string): Node[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  return nodes.filter((node) => {
    const text = [node.name, node.target, node.state, node.reason, models.get(node.name)].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export interface NewNode {
  name: string;
  target: string;
  key: string;
  python: string;
  dir: string;
  sim: string;
}

/** As the API takes it: what is left empty is left out. */
export function bodyOf(typed: NewNode, hostKey: string | null): Record<string, string> {
  const said = Object.entries(typed).map(([name, text]) => [name, text.trim()] as const).filter(([, text]) => text);
  return { ...Object.fromEntries(said), ...(hostKey !== null && { host_key: hostKey }) };
}
