import { describe, expect, test } from "vitest";
import { css, PLAIN } from "./sgr";
import { Lines, MAX_CHARS, type Line } from "./loglines";
import { Terminal } from "./terminal";

const encoder = new TextEncoder();

function shown(...pieces: (string | number[])[]): Line[] {
  const lines = new Lines();
  const terminal = new Terminal(lines, "out");
  for (const piece of pieces) terminal.write(typeof piece === "string" ? encoder.encode(piece) : new Uint8Array(piece));
  return lines.list;
}
const texts = (...pieces: (string | number[])[]): string[] => shown(...pieces).map((line) => line.text);

/** `[text, style]` of every part. */
function parts(line: Line): [string, object][] {
  const runs = line.runs ?? [{ at: 0, style: PLAIN }];
  return runs.map((run, n) => {
    const differs = Object.entries(run.style).filter(([key, value]) => value !== PLAIN[key as keyof typeof PLAIN]);
    return [line.text.slice(run.at, runs[n + 1]?.at), Object.fromEntries(differs)];
  });
}

describe("lines", () => {
  test("a newline ends a line and begins none", () => {
    expect(texts("one\ntwo\n")).toEqual(["one", "two"]);
    expect(texts("one\n\n\ntwo")).toEqual(["one", "", "", "two"]);
    expect(texts("")).toEqual([]);
  });

  test("pieces may end anywhere", () => {
    const text = "a中文😀\r\n\x1b[31mred\x1b[0m\x1b]0;title\x07 end\n";
    const bytes = encoder.encode(text);
    const whole = shown(text);
    for (let size = 1; size < 7; size++) {
      const pieces = [];
      for (let at = 0; at < bytes.length; at += size) pieces.push([...bytes.slice(at, at + size)]);
      const lines = shown(...pieces);
      expect(lines.map((line) => line.text)).toEqual(["a中文😀", "red end"]);
      expect(lines.map(parts)).toEqual(whole.map(parts));
      expect(lines.reduce((sum, line) => sum + line.bytes, 0)).toBe(bytes.length);
    }
  });

  test("the bytes of a line are counted, whatever they are", () => {
    expect(shown("é\n\n", [0xff, 0xe4, 0xb8, 10], "中\n").map((line) => line.bytes)).toEqual([3, 1, 4, 4]);
  });

  test("what is no text is harmless", () => {
    const bytes = Array.from({ length: 256 }, (_, n) => n);
    const found = shown(bytes, [0x1b, 0x5b, 0x1b, 0x5d], "x\nfine\n");
    expect(found.at(-1)!.text).toBe("fine");
    expect(found.reduce((sum, line) => sum + line.bytes, 0)).toBe(256 + 4 + 7);
    expect(texts("a\x00b\x7fc")).toEqual(["a␀b␡c"]);
  });

  test("a very long line is cut, and says by how much", () => {
    const lines = shown("x".repeat(5_000_000), "y".repeat(5_000_000), "\nnext\n");
    expect(lines.map((line) => line.text.length)).toEqual([MAX_CHARS, 4]);
    expect(lines[0]!.cut).toBe(10_000_000 - MAX_CHARS);
    expect(lines[0]!.bytes).toBe(10_000_001);
  });
});

describe("the cursor", () => {
  test("a carriage return goes to the front and overwrites", () => {
    expect(texts("  0%|   |\r 50%|=  |\r100%|===|\n")).toEqual(["100%|===|"]);
    expect(texts("longer text\rshort")).toEqual(["short" + "r text"]);
    expect(texts("longer text\r\x1b[Kshort")).toEqual(["short"]);
    expect(texts("windows\r\nlines\r\n")).toEqual(["windows", "lines"]);
  });

  test("a million steps of a progress bar are one line", () => {
    const lines = shown(...Array.from({ length: 1000 }, (_, n) => `\r${n}/1000`), "\n");
    expect(lines.map((line) => line.text)).toEqual(["999/1000"]);
  });

  test("nested bars go up and down again", () => {
    expect(texts("outer 0\ninner 0\x1b[A\router 1\n\rinner 9\x1b[A\router 2\n\ndone\n")).toEqual(["outer 2", "inner 9", "done"]);
    expect(texts("one\ntwo\n\x1b[2A\x1b[2Kfirst\n\x1b[2Ksecond\n")).toEqual(["first", "second"]);
    expect(texts("only\x1b[999999999A!")).toEqual(["only!"]);
  });

  test("backspace, columns, erasing", () => {
    expect(texts("abc\b\bX")).toEqual(["aXc"]);
    expect(texts("abc\x1b[10Gx")).toEqual(["abc      x"]);
    expect(texts("abcdef\x1b[3D\x1b[K")).toEqual(["abc"]);
    expect(texts("abcdef\x1b[2G\x1b[1K")).toEqual(["  cdef"]);
    expect(texts("a\nb\nc\x1b[2A\x1b[J")).toEqual(["a", "", ""]);
  });
});

describe("colours", () => {
  test("of 16, of 256, and true ones", () => {
    const [line] = shown("\x1b[1;31mred\x1b[0m plain \x1b[38;5;208mo\x1b[38;2;1;2;255mt\x1b[48:2::16:32:48mb\x1b[m.");
    expect(parts(line!)).toEqual([
      ["red", { bold: true, fg: 1 }], [" plain ", {}], ["o", { fg: 208 }], ["t", { fg: "#0102ff" }],
      ["b", { fg: "#0102ff", bg: "#102030" }], [".", {}],
    ]);
  });

  test("hold over the end of a line, and what is taken back is taken back", () => {
    const lines = shown("\x1b[92;44;4mone\ntwo\x1b[39;24;49m three\n");
    expect(parts(lines[0]!)).toEqual([["one", { fg: 10, bg: 4, underline: true }]]);
    expect(parts(lines[1]!)).toEqual([["two", { fg: 10, bg: 4, underline: true }], [" three", {}]]);
  });

  test("overwriting takes the colour with it", () => {
    expect(parts(shown("\x1b[31mred text\x1b[0m\rxy")[0]!)).toEqual([["xy", {}], ["d text", { fg: 1 }]]);
    expect(parts(shown("plain text\r\x1b[2Cxx\x1b[32mGG")[0]!)).toEqual([["plxx", {}], ["GG", { fg: 2 }], ["text", {}]]);
    expect(parts(shown("\x1b[31mred\x1b[0m\rplain words")[0]!)).toEqual([["plain words", {}]]);
    expect(parts(shown("\x1b[31ma\x1b[0m\x1b[5Gb")[0]!)).toEqual([["a", { fg: 1 }], ["   b", {}]]);
  });

  test("nonsense changes nothing", () => {
    expect(parts(shown("\x1b[38;5mA\x1b[38;2;1mB\x1b[999mC\x1b[?25lD\x1b[>4;1mE")[0]!)).toEqual([["ABCDE", {}]]);
    expect(texts("\x1b[" + "1;".repeat(5000) + "mx").length).toBe(1);
  });

  test("as CSS", () => {
    expect([1, 16, 231, 196, 232, 255].map(css)).toEqual(["var(--ansi-1)", "rgb(0 0 0)", "rgb(255 255 255)", "rgb(255 0 0)", "rgb(8 8 8)", "rgb(238 238 238)"]);
  });

  test("titles and links leave their text alone", () => {
    expect(texts("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ end")).toEqual(["link end"]);
    expect(texts("\x1b]0;never ends\nnext\n")).toEqual(["", "next"]);
  });
});

describe("bounds", () => {
  test("the oldest go first, and the rest knows how many went", () => {
    const lines = new Lines(100, 1_000_000);
    const terminal = new Terminal(lines, "out");
    for (let n = 0; n < 250; n++) terminal.write(encoder.encode(`${n}\n`));
    const gone = lines.trimTop();
    expect([lines.list.length, lines.list[0]!.text, lines.dropped]).toEqual([100, "150", 150]);
    expect(gone.reduce((sum, line) => sum + line.bytes, 0)).toBe(Array.from({ length: 150 }, (_, n) => `${n}\n`).join("").length);
  });

  test("by characters too", () => {
    const lines = new Lines(1000, 10_000);
    const terminal = new Terminal(lines, "out");
    for (let n = 0; n < 40; n++) terminal.write(encoder.encode("x".repeat(984) + "\n"));
    lines.trimTop();
    expect(lines.list.length).toBe(10);
  });

  test("earlier lines go before, and then the last ones go", () => {
    const lines = new Lines(5, 10_000);
    new Terminal(lines, "out").write(encoder.encode("4\n5\n6\n"));
    const before = new Lines();
    new Terminal(before, "out").write(encoder.encode("1\n2\n3\n"));
    lines.prepend(before.list);
    expect(lines.trimEnd().map((line) => line.text)).toEqual(["6"]);
    expect(lines.list.map((line) => line.text)).toEqual(["1", "2", "3", "4", "5"]);
    expect(new Set(lines.list.map((line) => line.id)).size).toBe(5);
  });

  test("many lines in a row", () => {
    const bytes = encoder.encode(Array.from({ length: 25_000 }, (_, n) => `\x1b[32mINFO\x1b[0m step ${n}: loss 0.123 accuracy 0.987 and so on, and so on`).join("\n"));
    const lines = new Lines();
    const terminal = new Terminal(lines, "out");
    for (let at = 0; at < bytes.length; at += 65_536) {
      terminal.write(bytes.subarray(at, at + 65_536));
      lines.trimTop();
    }
    expect(lines.list.length).toBeLessThanOrEqual(20_000);
    expect(lines.list.at(-1)!.text).toMatch(/^INFO step 24999:/);
  });
});
