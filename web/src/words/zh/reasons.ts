import type { reasons as en } from "../en/reasons";

export const reasons: Record<keyof typeof en, string> = {
  "reasons.title": "reasons",
};
