import type { nodes as en } from "../en/nodes";

export const nodes: Record<keyof typeof en, string> = {
  "nodes.title": "nodes",
};
