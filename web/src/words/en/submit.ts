export const submit = {
  "submit.title": "Submit",
} as const;
