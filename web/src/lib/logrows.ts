// From lines to what is drawn: how high a line is, where it lies, which parts of it look how, where a word is found. Pure.
import { css, PLAIN, type Style } from "./sgr";
import type { Line } from "./loglines";

export interface Part {
  text: string;
  style: Style;
  /** Part of what is searched for. */
  isHit: boolean;
}

const MAX_HITS = 500;
const TAB = 8;
// What takes two columns: Chinese, Japanese, Korean, wide signs and pictures.
const WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]/g;
const ASCII = /^[\x20-\x7e]*$/;

/** How many columns a text takes in a fixed font. */
export function columns(text: string): number {
  if (ASCII.test(text)) return text.length;
  let sum = text.length + (text.match(WIDE)?.length ?? 0);
  if (text.includes("\t")) {
    sum = 0;
    for (const character of text) sum += character === "\t" ? TAB - (sum % TAB) : columns(character);
  }
  return sum;
}

interface Measured {
  version: number;
  columns: number;
}
const measured = new WeakMap<Line, Measured>();

/** How many rows a line takes where so many columns fit. */
export function rowsOf(line: Line, fit: number): number {
  let known = measured.get(line);
  if (!known || known.version !== line.version) measured.set(line, (known = { version: line.version, columns: columns(line.text) }));
  return Math.max(1, Math.ceil(known.columns / fit));
}

/** Where every line begins, in rows, and behind the last one how many there are. `fit`: null where lines are not wrapped. */
export function tops(lines: readonly Line[], fit: number | null): (at: number) => number {
  if (fit === null) return (at) => at;
  const found = new Int32Array(lines.length + 1);
  for (let at = 0; at < lines.length; at++) found[at + 1] = found[at]! + rowsOf(lines[at]!, fit);
  return (at) => found[at]!;
}

/** The last line that begins at or above that row. */
export function lineAt(row: number, count: number, top: (at: number) => number): number {
  let low = 0;
  let high = Math.max(0, count - 1);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (top(middle) <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}

interface Found {
  version: number;
  query: string;
  at: number[];
}
const found = new WeakMap<Line, Found>();

/** Where a line has that text, which is in small letters. */
export function hitsOf(line: Line, query: string): number[] {
  const known = found.get(line);
  if (known && known.version === line.version && known.query === query) return known.at;
  const at: number[] = [];
  if (query && line.kind !== "note") {
    const text = line.text.toLowerCase();
    // Where small letters are longer than large ones, places would be wrong: then only that it is there counts.
    const isTrue = text.length === line.text.length;
    for (let next = text.indexOf(query); next >= 0 && at.length < MAX_HITS; next = text.indexOf(query, next + query.length)) at.push(isTrue ? next : 0);
  }
  found.set(line, { version: line.version, query, at });
  return at;
}

/** A line in parts of one look each. */
export function partsOf(line: Line, query: string): Part[] {
  const hits = query ? hitsOf(line, query) : [];
  const runs = line.runs ?? [{ at: 0, style: PLAIN }];
  const cuts = [...new Set([0, ...runs.map((run) => run.at), ...hits.flatMap((at) => [at, at + query.length])])]
    .filter((at) => at < line.text.length).sort((a, b) => a - b);
  let run = 0;
  let hit = 0;
  return cuts.map((at, n) => {
    while (runs[run + 1] && runs[run + 1]!.at <= at) run++;
    while (hits[hit] !== undefined && hits[hit]! + query.length <= at) hit++;
    const isHit = hits[hit] !== undefined && hits[hit]! <= at;
    return { text: line.text.slice(at, cuts[n + 1]), style: runs[run]!.style, isHit };
  });
}

export interface Look {
  classes: string;
  ink: string | null;
  ground: string | null;
}
const looks = new WeakMap<Style, Look>();

/** A style as classes and colours. */
export function lookOf(style: Style): Look {
  let known = looks.get(style);
  if (!known) {
    const ink = style.fg === null ? null : css(style.fg);
    const ground = style.bg === null ? null : css(style.bg);
    const words = [style.bold && "bold", style.dim && "dim", style.italic && "italic", style.underline && "under", style.strike && "strike"];
    if (style.underline && style.strike) words.push("under-strike");
    const [front, back] = style.inverse ? [ground ?? "var(--color-base-100)", ink ?? "var(--color-base-content)"] : [ink, ground];
    if (front && !back) words.push("ink");
    looks.set(style, (known = { classes: words.filter(Boolean).join(" "), ink: front, ground: back }));
  }
  return known;
}
