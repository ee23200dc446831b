import { expect, test } from "vitest";
import { Pending } from "./logpending";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("the oldest are left out, and the rest begins with a whole line", () => {
  const pending = new Pending();
  pending.push("out", bytes("one\ntwo\nth"), 110);
  pending.push("out", bytes("ree\nfour\nfive\n"), 124);
  pending.push("err", bytes("oops\n"), 5);
  expect(pending.keepLast(10)).toBe(10);
  expect(pending.align("out")).toBe(114);
  expect(pending.bytes).toBe(15);
  expect(pending.ahead({ out: 0, err: 0 })).toEqual({ out: 124, err: 5 });
  expect(pending.take().map((one) => new TextDecoder().decode(one.data))).toEqual(["four\nfive\n", "oops\n"]);
  expect([pending.bytes, pending.align("out")]).toEqual([0, null]);
});

test("what is little enough stays", () => {
  const pending = new Pending();
  pending.push("out", bytes("abc"), 3);
  expect(pending.keepLast(10)).toBe(0);
  expect(pending.ahead({ out: 0, err: 7 })).toEqual({ out: 3, err: 7 });
});
