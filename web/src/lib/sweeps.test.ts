import { describe, expect, it } from "vitest";
import { best, isLessBetter, numericKeys, sorted, valueText, type SweepShown } from "./sweeps";

const point = (job: number, lr: string, results: Record<string, number | string>) => ({ job, point: { lr }, results, state: "ended", outcome: "succeeded", started_at: null, ended_at: null });
const sweep = { keys: ["loss", "note"], points: [point(1, "1e-3", { loss: 0.5, note: "a" }), point(2, "1e-4", {}), point(3, "0.01", { loss: 0.25 })] } as unknown as SweepShown;
const order = (column: Parameters<typeof sorted>[1], isDown: boolean) => sorted(sweep.points, column, isDown, 0).map((one) => one.job);

describe("the points of a sweep", () => {
  it("are sorted by the size of numbers, however they are written", () => {
    expect(order("param:lr", false)).toEqual([2, 1, 3]);
    expect(order("param:lr", true)).toEqual([3, 1, 2]);
  });

  it("come last where they have no result, from either end", () => {
    expect(order("result:loss", false)).toEqual([3, 1, 2]);
    expect(order("result:loss", true)).toEqual([1, 3, 2]);
  });

  it("have a best one, by what is a number", () => {
    expect(numericKeys(sweep)).toEqual(["loss"]);
    expect(best(sweep, "loss", isLessBetter("loss"))?.job).toBe(3);
    expect(best(sweep, "loss", false)?.job).toBe(1);
    expect(best(sweep, "note", false)).toBeNull();
  });

  it("show six digits", () => {
    expect([valueText(0.123456789), valueText(3), valueText(null), valueText("x")]).toEqual(["0.123457", "3", "–", "x"]);
  });
});
