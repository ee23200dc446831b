import { expect, test } from "vitest";
import { hours, mostHours, quotaOf, weightOf } from "./usage";

test("a quota is a whole number from 0, or no limit", () => {
  expect(["", " none ", "无", "0", "4"].map(quotaOf)).toEqual([null, null, null, 0, 4]);
  expect(["-1", "1.5", "many", "1e12"].map(quotaOf)).toEqual([undefined, undefined, undefined, undefined]);
});

test("a weight is any number", () => {
  expect(["2", "0.5", "-1", "0"].map(weightOf)).toEqual([2, 0.5, -1, 0]);
  expect(["", "x", "1e7"].map(weightOf)).toEqual([undefined, undefined, undefined]);
});

test("all columns are measured against the most of anybody", () => {
  const user = { jobs: [], waited_s_mean: null };
  expect(mostHours({ weeks: [], users: [{ user: "a", gpu_hours: [1, 5], ...user }, { user: "b", gpu_hours: [7], ...user }] })).toBe(7);
  expect(mostHours(null)).toBe(0);
  expect([0, 0.25, 9.96, 120.4].map(hours)).toEqual(["0", "0.3", "10.0", "120"]);
});
