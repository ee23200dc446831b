export const log = {
  "log.title": "Log",
} as const;
