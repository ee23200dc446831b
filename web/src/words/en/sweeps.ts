export const sweeps = {
  "sweeps.title": "Sweeps",
} as const;
