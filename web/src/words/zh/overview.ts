import type { overview as en } from "../en/overview";

export const overview: Record<keyof typeof en, string> = {
  "overview.title": "overview",
};
