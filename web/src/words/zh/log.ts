import type { log as en } from "../en/log";

export const log: Record<keyof typeof en, string> = {
  "log.title": "log",
};
