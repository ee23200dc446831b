export const me = {
  "me.title": "Me",
} as const;
