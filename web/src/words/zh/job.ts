import type { job as en } from "../en/job";

export const job: Record<keyof typeof en, string> = {
  "job.title": "job",
};
