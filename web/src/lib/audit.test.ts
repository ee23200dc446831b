import { expect, test } from "vitest";
import { en } from "../words/en";
import { ACTIONS, piecesOf, sinceOf, wordOf, type Line } from "./audit";

const line = (action: string, target: string): Line => ({ id: 1, at: "", user: "ana", via: "session", address: "", action, target, detail: "", hash: "" });

test("jobs, users and sweeps are links; names that are none of it are not", () => {
  expect(piecesOf(line("kill", "3-7,9"))).toEqual([{ text: "3-7", href: "/jobs/3" }, { text: ", " }, { text: "9", href: "/jobs/9" }]);
  expect(piecesOf(line("user set", "a@b"))).toEqual([{ text: "a@b", href: "/users/a%40b" }]);
  expect(piecesOf(line("sweep", "sweep 4"))).toEqual([{ text: "sweep 4", href: "/sweeps/4" }]);
  expect(piecesOf(line("kill", "1,2…"))[2]).toEqual({ text: "2…" });
  expect(piecesOf(line("notice", "<b>12</b>"))).toEqual([{ text: "<b>12</b>" }]);
  expect(piecesOf(line("user del", "bob"))).toEqual([{ text: "bob" }]);
});

test("every action has a word", () => {
  for (const action of ACTIONS) expect(en).toHaveProperty([wordOf(action)]);
});

test("since when", () => {
  expect(sinceOf("day", Date.parse("2026-11-15T12:00:00Z"))).toBe("2026-11-14T12:00:00.000Z");
  expect(sinceOf("all", 0)).toBeNull();
});
