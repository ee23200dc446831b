import { describe, expect, it } from "vitest";
import * as typed from "./parse";

const fails = (read: () => unknown): string => {
  try {
    return `read as ${JSON.stringify(read())}`;
  } catch (error) {
    return (error as typed.ParseError).word;
  }
};

describe("durations", () => {
  it.each([
    ["90s", 90], ["30m", 1800], ["2h", 7200], ["2h30m", 9000], ["1d", 86_400], ["1w", 604_800], ["2", 120], ["1.5h", 5400], ["0.5", 30],
    ["2 hours 5 min", 7500], ["10:00", 600], ["1:00:00", 3600], ["1-02:00:00", 93_600], ["1-02", 93_600], ["2-0:30", 174_600], ["0", 0], ["0s", 0], [".5h", 1800],
  ])("%s", (text, total) => expect(typed.seconds(text)).toBe(total));
  it.each(["", "x", "2y", "2h x", "h", "-1", "1:2:3:4", "1..2", "1-", "2h-3", "99999d", "1e3"])("not %j", (text) => expect(fails(() => typed.seconds(text))).toBe("submit.expected_time"));
  it.each([0, 59, 60, 7200, 9000, 93_784])("%d s is typed back", (total) => expect(typed.seconds(typed.spanText(total))).toBe(total));
});

describe("sizes", () => {
  it.each([["8G", 8192], ["800M", 800], ["1.5G", 1536], ["8 GiB", 8192], ["1t", 1 << 20], ["24gb", 24_576], ["2048k", 2]])("%s", (text, mib) => expect(typed.mebibytes(text)).toBe(mib));
  it.each(["", "8", "8X", "G", "-1G", "0G", "0.1M", "8GG", "1e3G", "9999999999T"])("not %j", (text) => expect(fails(() => typed.mebibytes(text))).toBe("submit.expected_size"));
  it.each([1, 800, 1024, 8192, 1536])("%d MiB is typed back", (mib) => expect(typed.mebibytes(typed.sizeText(mib))).toBe(mib));
});

describe("moments", () => {
  const now = new Date(2026, 10, 20, 15, 30, 0);
  const here = (...parts: [number, number, number, number, number, number?]): string => new Date(...parts).toISOString().replace(".000", "");
  it.each([
    ["+2h", here(2026, 10, 20, 17, 30)], ["now", here(2026, 10, 20, 15, 30)], ["22:00", here(2026, 10, 20, 22, 0)], ["8:00", here(2026, 10, 21, 8, 0)],
    ["tomorrow 8:00", here(2026, 10, 21, 8, 0)], ["tomorrow", here(2026, 10, 21, 0, 0)], ["today 16:05:07", here(2026, 10, 20, 16, 5, 7)], ["明天 8:00", here(2026, 10, 21, 8, 0)],
    ["2026-11-21 08:00", here(2026, 10, 21, 8, 0)], ["2026-11-21", here(2026, 10, 21, 0, 0)], ["2026-11-21T08:00:00Z", "2026-11-21T08:00:00Z"],
    ["2026-11-21T08:00:00+02:00", "2026-11-21T06:00:00Z"],
  ])("%s", (text, at) => expect(typed.moment(text, now)).toBe(at));
  it.each(["later", "25:00", "8", "8:60", "2026-13-01", "2026-11-21 8pm"])("not %j", (text) => expect(fails(() => typed.moment(text, now))).toBe("submit.expected_moment"));
});

describe("lists and numbers", () => {
  it("takes what stands between commas, each once", () => expect(typed.items(" a, b,,a，c ")).toEqual(["a", "b", "c"]));
  it("takes bars too", () => expect(typed.alternatives("A100|H100, L40")).toEqual(["A100", "H100", "L40"]));
  it("takes ids and ranges", () => expect(typed.ids("12, 10-13 7")).toEqual([12, 10, 11, 13, 7]));
  it.each(["a", "5-3", "@", "1-5000", "-3"])("no ids: %s", (text) => expect(fails(() => typed.ids(text))).toBe("submit.expected_ids"));
  it("puts ids together", () => expect(typed.spans([3, 1, 2, 7, 8, 10, 11, 12])).toBe("1-3,7,8,10-12"));
  it("takes whole numbers", () => expect([typed.whole(" 3 ", 0, 9), typed.whole("-2", -5, 5)]).toEqual([3, -2]));
  it.each(["", "1.5", "10", "x", "1e0"])("no count: %j", (text) => expect(fails(() => typed.whole(text, 0, 9))).toBe("submit.expected_count"));
  it("takes percents", () => expect([typed.percent("20%"), typed.percent(" 100 ")]).toEqual([20, 100]));
  it.each(["101", "-1", "a", ""])("no percent: %j", (text) => expect(fails(() => typed.percent(text))).toBe("submit.expected_percent"));
});

describe("lines", () => {
  it("reads variables", () => expect(typed.variables("A=1\n# no\n\nexport B='x y'\nC=a=b\nD=")).toEqual({ A: "1", B: "x y", C: "a=b", D: "" }));
  it.each(["A", "=1", "A B=1"])("no variable: %s", (text) => expect(fails(() => typed.variables(text))).toBe("submit.expected_variable"));
  it("splits words as a shell does", () => expect(typed.words(`a 'b c' "d \\"e" f\\ g ''h i''`)).toEqual(["a", "b c", 'd "e', "f g", "h", "i"]));
  it("keeps an empty word", () => expect(typed.words("a ''")).toEqual(["a", ""]));
  it("knows a quote that does not end", () => expect(fails(() => typed.words("a 'b"))).toBe("submit.expected_words"));
  it.each(["plain", "two words", "it's", "", "$HOME", "a\nb", "中文", "中文 a"])("quotes %j so that it is read back", (word) => expect(typed.words(typed.quoted(word))).toEqual([word]));
  it("finds the commands of a text", () =>
    expect(typed.commands("python a.py\n\n  # no\n  python b.py  \r\n")).toEqual([{ line: 1, command: "python a.py" }, { line: 4, command: "python b.py" }]));
});
