// Every word in English, a file for each part. Names are by place: page.what. `{x}` is filled in.
import { frame } from "./en/frame";
import { overview } from "./en/overview";
import { jobs } from "./en/jobs";
import { job } from "./en/job";
import { log } from "./en/log";
import { submit } from "./en/submit";
import { sweeps } from "./en/sweeps";
import { nodes } from "./en/nodes";
import { users } from "./en/users";
import { settings } from "./en/settings";
import { audit } from "./en/audit";
import { me } from "./en/me";

export const en = {
  ...frame,
  ...overview,
  ...jobs,
  ...job,
  ...log,
  ...submit,
  ...sweeps,
  ...nodes,
  ...users,
  ...settings,
  ...audit,
  ...me,
} as const satisfies Record<string, string>;
