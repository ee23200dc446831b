import { expect, test } from "vitest";
import { groupsOf, isChanged, isFound, typed, type Setting } from "./settings";

const row = (key: string, more: Partial<Setting> = {}): Setting => ({
  key, value: 1, default: 1, meaning: "seconds of something", type: "integer", minimum: 0, maximum: 10, unit: null, choices: [], was: null, ...more,
});

test("groups are by what stands before the first dot, in the server's order; the policy itself is shown elsewhere", () => {
  const groups = groupsOf([row("policy"), row("policy.wait_factor"), row("job.grace_s"), row("policy.idle_allowance")]);
  expect(groups.map((group) => [group.name, group.rows.map((one) => one.key)])).toEqual([
    ["policy", ["policy.wait_factor", "policy.idle_allowance"]],
    ["job", ["job.grace_s"]],
  ]);
});

test("a search finds by key, by its earlier name, by meaning, and by value, all words of it", () => {
  const one = row("job.grace_s", { value: 30, was: "job.patience_s" });
  for (const search of ["grace", "SECONDS", "patience", "30", "grace 30", " "]) expect(isFound(one, search)).toBe(true);
  expect(isFound(one, "grace 31")).toBe(false);
});

test("what is typed becomes a value of its type, or says what is wrong", () => {
  expect(typed(row("a"), " 5 ")).toEqual({ value: 5 });
  expect(typed(row("a"), "")).toEqual({ wrong: "number" });
  expect(typed(row("a"), "five")).toEqual({ wrong: "number" });
  expect(typed(row("a"), "1.5")).toEqual({ wrong: "whole" });
  expect(typed(row("a", { type: "number" }), "1.5")).toEqual({ value: 1.5 });
  expect(typed(row("a"), "-1")).toEqual({ wrong: "low" });
  expect(typed(row("a"), "11")).toEqual({ wrong: "high" });
  expect(typed(row("a", { type: "string", minimum: null, maximum: null }), " 10.0.0.1 ")).toEqual({ value: "10.0.0.1" });
  expect(typed(row("a", { type: "boolean" }), "true")).toEqual({ value: true });
});

test("changed is what differs from its default", () => {
  expect(isChanged(row("a"))).toBe(false);
  expect(isChanged(row("a", { value: 2 }))).toBe(true);
});
