import type { me as en } from "../en/me";

export const me: Record<keyof typeof en, string> = {
  "me.title": "me",
};
