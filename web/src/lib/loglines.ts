// Lines of a log as they are kept: text, where which style begins, how many bytes they took. Bounded: how long each is, how
// many there are, how much is kept. Pure.
import { PLAIN, type Style } from "./sgr";

/** A line is cut behind so many characters; how many more there were is counted. */
export const MAX_CHARS = 8192;

export type Kind = "out" | "err" | "note";

/** Where a style begins in a line; it holds up to the next. */
export interface Run {
  at: number;
  style: Style;
}

export class Line {
  text = "";
  /** null: all of it is plain. */
  runs: Run[] | null = null;
  /** How many bytes of the log it took, its newline and all that was overwritten included. */
  bytes = 0;
  /** Characters that were left out at its end. */
  cut = 0;
  /** Grows with every change, so that a view knows when to redraw. */
  version = 0;

  constructor(
    readonly id: number,
    readonly kind: Kind,
  ) {}

  /** Put a text at that column, over what is there. */
  put(column: number, text: string, style: Style): void {
    this.version++;
    const room = MAX_CHARS - column;
    if (text.length > room) {
      this.cut += text.length - Math.max(0, room);
      text = text.slice(0, Math.max(0, room));
      if (!text) return;
    }
    const was = this.text.length;
    if (column > was) this.text += " ".repeat(column - was);
    const end = column + text.length;
    if (style !== PLAIN || this.runs) this.#colour(column, end, was, style);
    this.text = end >= this.text.length ? this.text.slice(0, column) + text : this.text.slice(0, column) + text + this.text.slice(end);
  }

  /** Erase from one column up to another, which may lie behind the end. */
  erase(from: number, to: number): void {
    if (from >= this.text.length) return;
    this.version++;
    if (to < this.text.length) return this.put(from, " ".repeat(to - from), PLAIN);
    this.text = this.text.slice(0, from);
    this.cut = 0;
    this.runs = this.runs?.filter((run) => run.at < from) ?? null;
  }

  /** Note that from column `from` up to `to` the style is this one; the line was `length` long. */
  #colour(from: number, to: number, length: number, style: Style): void {
    const runs = this.runs ?? [{ at: 0, style: PLAIN }];
    if (from === length) {
      if (from === 0) this.runs = [{ at: 0, style }];
      else if (runs.at(-1)!.style !== style) (this.runs = runs).push({ at: from, style });
      return;
    }
    const before = from > length && length > 0 ? [...runs.filter((run) => run.at < length), { at: length, style: PLAIN }] : runs.filter((run) => run.at < from);
    const behind = to < length ? runs.filter((run) => run.at <= to).at(-1)?.style : undefined;
    const next = runs.filter((run) => run.at > to);
    const all = [...(before.length ? before : from > 0 ? [{ at: 0, style: PLAIN }] : []), { at: from, style }];
    if (behind !== undefined) all.push({ at: to, style: behind }, ...next);
    this.runs = all.filter((run, n) => n === 0 || run.style !== all[n - 1]!.style);
    if (this.runs.length === 1 && this.runs[0]!.style === PLAIN) this.runs = null;
  }
}

/** The lines, in order; the oldest go when there are too many. */
export class Lines {
  list: Line[] = [];
  /** Lines that were taken away at the top, all in all. */
  dropped = 0;
  #next = 1;

  constructor(
    readonly mostLines = 20_000,
    readonly mostChars = 4_000_000,
  ) {}

  add(kind: Kind): Line {
    const line = new Line(this.#next++, kind);
    this.list.push(line);
    return line;
  }

  note(text: string, bytes = 0): Line {
    const line = this.add("note");
    line.put(0, text, PLAIN);
    line.bytes = bytes;
    return line;
  }

  /** Whether no more can come without something going. */
  get isFull(): boolean {
    return this.list.length >= this.mostLines || this.#chars() >= this.mostChars;
  }

  /** Take lines away at the top until all is within its bounds; those that went. */
  trimTop(): Line[] {
    const gone = this.#excess(false);
    this.dropped += gone;
    return this.list.splice(0, gone);
  }

  /** Take lines away at the end; those that went. */
  trimEnd(): Line[] {
    const gone = this.#excess(true);
    return this.list.splice(this.list.length - gone, gone);
  }

  /** Put other lines before these. */
  prepend(earlier: Line[]): void {
    const made = earlier.map((line) => Object.assign(new Line(this.#next++, line.kind), { text: line.text, runs: line.runs, bytes: line.bytes, cut: line.cut }));
    this.list = [...made, ...this.list];
  }

  clear(): void {
    this.list = [];
    this.dropped = 0;
  }

  #chars(): number {
    let sum = 0;
    for (const line of this.list) sum += line.text.length + 16;
    return sum;
  }

  #excess(fromEnd: boolean): number {
    let over = this.#chars() - this.mostChars;
    let gone = Math.max(0, this.list.length - this.mostLines);
    for (let n = 0; n < gone; n++) over -= this.#at(n, fromEnd).text.length + 16;
    while (over > 0 && gone < this.list.length - 1) over -= this.#at(gone++, fromEnd).text.length + 16;
    return gone;
  }

  #at(n: number, fromEnd: boolean): Line {
    return this.list[fromEnd ? this.list.length - 1 - n : n]!;
  }
}
