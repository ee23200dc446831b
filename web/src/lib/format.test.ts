import { expect, test } from "vitest";
import { bytes, gib, memory, span } from "./format";

test("memory is in the unit that people use", () => {
  expect([memory(512), memory(24_576), memory(1536), memory(null)]).toEqual(["512 MiB", "24 GiB", "1.5 GiB", "–"]);
  expect([gib(24_576), gib(1536), gib(undefined)]).toEqual(["24", "1.5", "–"]);
});

test("a span has its two largest units", () => {
  expect([span(5), span(65), span(3725), span(90_000), span(null)]).toEqual(["5 s", "1 min 05 s", "1 h 02 min", "1 d 1 h", "–"]);
});

test("bytes are in powers of ten, as downloads are", () => {
  expect([bytes(0), bytes(1500), bytes(25_000_000)]).toEqual(["0 B", "1.5 kB", "25 MB"]);
});
