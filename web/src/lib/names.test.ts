import { expect, test } from "vitest";
import { isName, pasted } from "./names";

test("a name a line, perhaps with an account, comments and empty lines", () => {
  const found = pasted("# the lab\nana\nweb-bob bob\r\n\n carl none # a guest\n");
  expect(found.wrong).toEqual([]);
  expect(found.users).toEqual([
    { name: "ana", unix: null },
    { name: "web-bob", unix: "bob" },
    { name: "carl", unix: "none" },
  ]);
});

test("commas, also Chinese ones, separate several", () => {
  expect(pasted("ana, bob，carl、dora").users.map((one) => one.name)).toEqual(["ana", "bob", "carl", "dora"]);
});

test("what is not understood is named with its line", () => {
  const found = pasted("ana\nana bob carl\n李雷\nana");
  expect(found.users.map((one) => one.name)).toEqual(["ana"]);
  expect(found.wrong).toEqual([
    { line: 2, text: "ana bob carl", why: "words" },
    { line: 3, text: "李雷", why: "name" },
    { line: 4, text: "ana", why: "twice" },
  ]);
});

test("names as the server takes them", () => {
  for (const name of ["a", "web-ana", "ana@lab", "machine$", "_x", "0day"]) expect(isName(name)).toBe(true);
  for (const name of ["", "-a", ".a", "a b", "a$b", "x".repeat(65), "<script>"]) expect(isName(name)).toBe(false);
});
