export const nodes = {
  "nodes.title": "Nodes",
} as const;
