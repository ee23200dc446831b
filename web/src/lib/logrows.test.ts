import { describe, expect, test } from "vitest";
import { columns, hitsOf, lineAt, lookOf, partsOf, rowsOf, tops } from "./logrows";
import { Lines, Terminal } from "./terminal";

function lines(text: string): Lines {
  const made = new Lines();
  new Terminal(made, "out").write(new TextEncoder().encode(text));
  return made;
}

describe("how high a line is", () => {
  test("by its columns", () => {
    expect(["abc", "中文", "a\tb", "┃█"].map(columns)).toEqual([3, 4, 9, 2]);
    const [short, long, none] = lines("abc\n" + "x".repeat(101) + "\n\n").list;
    expect([short, long, none].map((line) => rowsOf(line!, 50))).toEqual([1, 3, 1]);
    expect(rowsOf(long!, 200)).toBe(1);
  });

  test("and where it lies", () => {
    const { list } = lines("a\n" + "x".repeat(101) + "\nb\n");
    const top = tops(list, 50);
    expect([0, 1, 2, 3].map(top)).toEqual([0, 1, 4, 5]);
    expect([0, 1, 2, 3, 4, 99].map((row) => lineAt(row, 3, top))).toEqual([0, 1, 1, 1, 2, 2]);
    expect(lineAt(7, 0, tops([], null))).toBe(0);
  });
});

describe("search", () => {
  test("finds every place, in any case", () => {
    const [line] = lines("Loss loss LOSS gloss\n").list;
    expect(hitsOf(line!, "loss")).toEqual([0, 5, 10, 16]);
    expect(hitsOf(line!, "none")).toEqual([]);
  });

  test("and parts keep their colours", () => {
    const [line] = lines("\x1b[31mred err\x1b[0mor end\n").list;
    expect(partsOf(line!, "error").map((part) => [part.text, part.style.fg, part.isHit])).toEqual([
      ["red ", 1, false], ["err", 1, true], ["or", null, true], [" end", null, false],
    ]);
    expect(partsOf(line!, "").map((part) => part.text)).toEqual(["red err", "or end"]);
  });

  test("a line that grows is searched again", () => {
    const made = new Lines();
    const terminal = new Terminal(made, "out");
    terminal.write(new TextEncoder().encode("err"));
    expect(hitsOf(made.list[0]!, "error")).toEqual([]);
    terminal.write(new TextEncoder().encode("or"));
    expect(hitsOf(made.list[0]!, "error")).toEqual([0]);
  });
});

test("what is turned round changes sides", () => {
  const [line] = lines("\x1b[7;31mx\x1b[0m\n").list;
  expect(lookOf(line!.runs![0]!.style)).toMatchObject({ ink: "var(--color-base-100)", ground: "var(--ansi-1)" });
});
