import { expect, test } from "vitest";
import { hasAny, inGib, most, pauseMs } from "./samples";

test("nothing seen is not nothing used", () => {
  expect(hasAny([null, null])).toBe(false);
  expect(hasAny(undefined)).toBe(false);
  expect(hasAny([null, 0])).toBe(true);
  expect(most([null, 3, 7, null])).toBe(7);
  expect(most([null])).toBeUndefined();
  expect(inGib([1024, null, 0])).toEqual([1, null, 0]);
});

test("asked again each step, but neither hastily nor hardly ever", () => {
  expect([1, 30, 86_400].map(pauseMs)).toEqual([15_000, 30_000, 300_000]);
});
