import type { submit as en } from "../en/submit";

export const submit: Record<keyof typeof en, string> = {
  "submit.title": "submit",
};
