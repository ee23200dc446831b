// 界面的全部中文，与英文一一对应；缺少任何一条都无法通过类型检查。
import type { Words } from "../lib/i18n";
import { frame } from "./zh/frame";
import { overview } from "./zh/overview";
import { jobs } from "./zh/jobs";
import { job } from "./zh/job";
import { log } from "./zh/log";
import { submit } from "./zh/submit";
import { sweeps } from "./zh/sweeps";
import { nodes } from "./zh/nodes";
import { users } from "./zh/users";
import { settings } from "./zh/settings";
import { audit } from "./zh/audit";
import { me } from "./zh/me";

export const zh: Words = {
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
};
