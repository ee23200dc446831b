export const reasons = {
  "reasons.title": "Reasons",
} as const;
