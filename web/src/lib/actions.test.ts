import { describe, expect, it } from "vitest";
import { ACTIONS, actionOf, doneWords, idsOf, narrowed, refusalOfAll, type Actable } from "./actions";

const ada = { user: "ada", admin: false };
const root = { user: "root", admin: true };
const job = (state: Actable["state"], user = "ada"): Actable => ({ id: 1, user, state });

describe("what can be done", () => {
  it("is what the server allows in that state", () => {
    const names = (state: Actable["state"]) => ACTIONS.filter((one) => one.isPossible(job(state), root)).map((one) => one.name);
    expect(names("queued")).toEqual(["kill", "clone", "hold", "move", "start", "rm"]);
    expect(names("running")).toEqual(["kill", "clone", "pause", "preempt", "rm"]);
    expect(names("unknown")).toEqual(["kill", "clone", "rm"]);
    expect(names("ended")).toEqual(["rerun", "clone", "rm"]);
  });

  it("is for owners and administrators", () => {
    expect(actionOf("kill").refusal(job("running", "ben"), ada)).toBe("act.not_yours");
    expect(actionOf("kill").refusal(job("running", "ben"), root)).toBeNull();
    expect(actionOf("move").refusal(job("queued"), ada)).toBe("act.admin_only");
    expect(actionOf("clone").refusal(job("ended", "ben"), ada)).toBeNull();
  });

  it("is possible for several when it is for one of them", () => {
    expect(refusalOfAll(actionOf("hold"), [job("queued"), job("running")], ada)).toBeNull();
    expect(refusalOfAll(actionOf("hold"), [job("ended"), job("running")], ada)).toBe("act.only.hold");
    expect(refusalOfAll(actionOf("clone"), [job("ended"), job("running")], ada)).toBe("act.one_only");
  });

  it("is asked of those to which it can be done", () => {
    expect(narrowed(actionOf("rerun"), { all: true, states: ["failed", "queued"] })).toEqual({ all: true, states: ["failed"] });
    expect(narrowed(actionOf("hold"), { all: true })).toEqual({ all: true, states: ["queued"] });
    expect(narrowed(actionOf("kill"), { all: true })?.states).toContain("unknown"); // it did not end, as far as anybody knows
    expect(narrowed(actionOf("pause"), { all: true, states: ["running", "unknown"] })?.states).toEqual(["running"]);
    expect(narrowed(actionOf("hold"), { all: true, states: ["failed"] })).toBeNull();
    expect(narrowed(actionOf("rm"), { all: true, user: "ada" })).toEqual({ all: true, user: "ada" });
  });

  it("is said to be done later where the node cannot be reached", () => {
    expect(doneWords("act.done.kill", { version: 1, done: [1, 2], skipped: [] })).toBe("2 killed");
    expect(doneWords("act.done.kill", { version: 1, done: [1, 2], skipped: [], later: [{ id: 2, node: "far" }] })).toMatch(/^2 killed · 1 on unreachable nodes/);
  });

  it("names jobs shortly", () => {
    expect(idsOf([5, 3, 4, 9, 4])).toBe("3-5,9");
  });
});
