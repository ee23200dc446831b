import { describe, expect, it } from "vitest";
import type { BriefJob } from "./doc";
import { commandOf, mayMatch, moves, nextSort, paramsOf, readQuery, selectOf, writeStates } from "./jobquery";

const read = (text: string) => readQuery(new URLSearchParams(text));
const job = { id: 7, name: "Heron", user: "ada", state: "queued", outcome: null, command_line: "true", labels: ["night"], node: null, sweep: null } as unknown as BriefJob;

describe("what is wanted", () => {
  it("is read from the address, and nonsense is not", () => {
    expect(read("state=running,nonsense&page=-3&sort=evil&sweep=x&ids=1;drop")).toMatchObject({
      states: ["running", "starting", "stopping", "paused", "unknown"], page: 1, sort: "queue", sweep: null, ids: "",
    });
    expect(read("page=999999999").page).toBe(2001);
    expect(read("state=ended").states).toEqual(["succeeded", "failed", "cannot_start", "out_of_memory", "timed_out", "lost", "killed"]);
  });

  it("is written as short as it is read", () => {
    for (const text of ["running", "queued,held", "succeeded,failed,killed", "timed_out", "unknown"]) expect(writeStates(read(`state=${text}`).states)).toBe(text);
  });

  it("goes to the API, to an action and to a terminal", () => {
    const wanted = read("search=it's&state=held&user=ada&label=a b&node=n1&sort=-ended&page=3&ids=4-9");
    expect(paramsOf(wanted)).toMatchObject({ search: "it's", state: "held", sort: "-ended", offset: 100, ids: "4-9" });
    expect(selectOf(wanted)).toEqual({ all: true, ids: "4-9", search: "it's", states: ["held"], user: "ada", labels: ["a b"], node: "n1" });
    expect(commandOf(wanted)).toBe(`roost ls 4-9 --state held --user ada --label 'a b' --node n1 --search 'it'"'"'s' --sort ended --reverse`);
    expect(commandOf(read("search=-x"))).toBe("roost ls --all --search=-x");
  });

  it("is matched by the jobs that the server would find", () => {
    for (const text of ["", "search=HER", "search=7", "label=night", "ids=1-9", "user=ada&state=queued"]) expect(mayMatch(read(text), job), text).toBe(true);
    for (const text of ["search=gull", "label=day", "ids=8,9", "user=ben", "state=held", "node=n1", "sweep=1"]) expect(mayMatch(read(text), job), text).toBe(false);
  });

  it("is unknown where it is shown as that", () => {
    const away = { ...job, state: "unknown", node: "n1" } as BriefJob;
    for (const text of ["state=unknown", "state=running", "node=n1"]) expect(mayMatch(read(text), away), text).toBe(true);
    for (const text of ["state=paused", "state=queued"]) expect(mayMatch(read(text), away), text).toBe(false);
  });

  it("is sorted by a head's usual end first, then by the other, then as the queue", () => {
    expect(["queue", "-id", "id"].map((sort) => nextSort(sort, "id"))).toEqual(["-id", "id", "queue"]);
    expect(["queue", "name", "-name"].map((sort) => nextSort(sort, "name"))).toEqual(["name", "-name", "queue"]);
  });

  it("says which changes move a row", () => {
    expect(moves(read(""), { state: "running" })).toBe(true);
    expect(moves(read("sort=-id"), { state: "running" })).toBe(false);
    expect(moves(read("sort=-id&state=queued"), { state: "running" })).toBe(true);
  });
});
