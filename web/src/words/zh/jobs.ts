import type { jobs as en } from "../en/jobs";

export const jobs: Record<keyof typeof en, string> = {
  "jobs.title": "jobs",
};
