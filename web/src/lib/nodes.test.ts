import { expect, test } from "vitest";
import { bodyOf, clockOff, loginOf, nodesFor } from "./nodes";
import type { Node } from "./doc";

const node = (more: Partial<Node>): Node => ({ name: "lab3", state: "up", reason: null, target: "ssh://root@10.0.0.3", clock_ms: 0, ...more }) as Node;

test("clocks that differ by more than a second are told, those of nodes that are away are not known", () => {
  expect(clockOff(node({ clock_ms: 900 }))).toBeNull();
  expect(clockOff(node({ clock_ms: -1500 }))).toBe(-1.5);
  expect(clockOff(node({ clock_ms: 90_000, state: "unreachable" }))).toBeNull();
});

test("the login is read from an address that has one", () => {
  expect([loginOf("ssh://lin@h:22"), loginOf("ssh://h"), loginOf("lab3"), loginOf(null)]).toEqual(["lin", null, null, null]);
});

test("nodes are found by any of their words", () => {
  const all = [node({}), node({ name: "lab4", state: "unreachable", reason: "no route" })];
  const models = new Map([["lab3", "NVIDIA A100"]]);
  const found = (wanted: string): string[] => nodesFor(all, models, wanted).map((one) => one.name);
  expect([found(""), found("a100"), found("UNREACH route"), found("lab4 a100")]).toEqual([["lab3", "lab4"], ["lab3"], ["lab4"], []]);
});

test("what is left empty is not said", () => {
  const typed = { name: " lab3 ", target: "", key: "~/.ssh/lab", python: " ", dir: "", sim: "" };
  expect(bodyOf(typed, null)).toEqual({ name: "lab3", key: "~/.ssh/lab" });
  expect(bodyOf(typed, "SHA256:x")).toEqual({ name: "lab3", key: "~/.ssh/lab", host_key: "SHA256:x" });
});
