export const job = {
  "job.title": "Job",
} as const;
