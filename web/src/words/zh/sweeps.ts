import type { sweeps as en } from "../en/sweeps";

export const sweeps: Record<keyof typeof en, string> = {
  "sweeps.title": "sweeps",
};
