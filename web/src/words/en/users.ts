export const users = {
  "users.title": "Users",
} as const;
