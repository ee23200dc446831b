// What a terminal would show of a stream of bytes, as lines: colours, carriage returns, a cursor that goes up a few lines.
// Bounded in every direction. Pure: bytes in, lines out.
import { MAX_CHARS, type Line, type Lines } from "./loglines";
import { PLAIN, styled, type Style } from "./sgr";

/** How far up a cursor may go: a block of progress bars. */
const MAX_UP = 64;
/** An escape sequence that is longer is none. */
const MAX_ESCAPE = 2048;

const CONTROL = /[\x00-\x1f\x7f-\x9f]/;

/** Writes the bytes of one stream into lines. Pieces may end anywhere, in a character or in an escape sequence. */
export class Terminal {
  #decoder = new TextDecoder("utf-8");
  #style: Style = PLAIN;
  #rest = "";
  /** The last lines of this stream; the cursor is in one of them, or below them where no line is yet. */
  #recent: Line[] = [];
  #row = 0;
  #column = 0;

  constructor(
    readonly lines: Lines,
    readonly kind: "out" | "err",
  ) {}

  write(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    let from = 0; // in the text
    let counted = 0; // of the bytes
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      // The n-th newline of the text is the n-th of the bytes: no character of more bytes has one in it.
      const newline = bytes.indexOf(10, counted) + 1;
      this.#part(text.slice(from, end));
      this.#rest = ""; // no escape sequence goes on behind the end of a line
      this.#newline(newline - counted);
      counted = newline;
      from = end + 1;
    }
    if (from < text.length) this.#part(text.slice(from));
    if (counted < bytes.length) (this.#recent.at(-1) ?? this.#line()).bytes += bytes.length - counted;
  }

  #part(text: string): void {
    if (this.#rest) {
      text = this.#rest + text;
      this.#rest = "";
    }
    if (!CONTROL.test(text)) return this.#put(text);
    let at = 0;
    while (at < text.length) {
      let end = at;
      while (end < text.length && !isControl(text.charCodeAt(end))) end++;
      if (end > at) this.#put(text.slice(at, end));
      if (end >= text.length) return;
      const code = text.charCodeAt(end);
      if (code === 0x1b || code === 0x9b) {
        const next = this.#escape(text, end);
        if (next === null) {
          this.#rest = text.slice(end);
          return;
        }
        at = next;
      } else {
        this.#control(code);
        at = end + 1;
      }
    }
  }

  #put(text: string): void {
    if (!text) return;
    this.#line().put(this.#column, text, this.#style);
    this.#column += text.length;
  }

  #control(code: number): void {
    if (code === 13) this.#column = 0;
    else if (code === 8) this.#column = Math.max(0, this.#column - 1);
    else if (code === 9) this.#put("\t");
    else if (code === 7 || code === 14 || code === 15) return;
    else if (code < 32) this.#put(String.fromCharCode(0x2400 + code));
    else if (code === 127) this.#put("\u2421");
    else this.#put("\ufffd");
  }

  /** Obey the sequence that begins there: where it ends, or null when the rest of it is still to come. */
  #escape(text: string, at: number): number | null {
    const isBare = text.charCodeAt(at) === 0x9b;
    const second = isBare ? "[" : text[at + 1];
    const from = at + (isBare ? 1 : 2);
    if (second === undefined) return null;
    if (second === "[") return this.#sequence(text, from);
    if ("]PX^_".includes(second)) return skipString(text, from);
    if ("()*+#%".includes(second)) return text.length > from ? from + 1 : null;
    if (second === "M") this.#up(1);
    return second >= "\x20" && second <= "~" ? from : at + 1;
  }

  /** `ESC [ … letter` */
  #sequence(text: string, from: number): number | null {
    let end = from;
    while (end < text.length && text.charCodeAt(end) >= 0x20 && text.charCodeAt(end) < 0x40) end++;
    if (end - from > MAX_ESCAPE) return from;
    if (end >= text.length) return null;
    const final = text[end]!;
    if (final < "@" || final > "~") return end; // something else began
    const parameters = text.slice(from, end);
    if (final === "m") {
      if (/^[\d;:]*$/.test(parameters)) this.#style = styled(this.#style, parameters);
    } else this.#move(final, parameters);
    return end + 1;
  }

  #move(final: string, parameters: string): void {
    const amount = Math.min(MAX_CHARS, Number.parseInt(parameters, 10) || 0);
    const steps = Math.max(1, amount);
    if (final === "K") this.#eraseLine(amount);
    else if (final === "A") this.#up(steps);
    else if (final === "F") (this.#up(steps), (this.#column = 0));
    else if (final === "B") this.#down(steps);
    else if (final === "E") (this.#down(steps), (this.#column = 0));
    else if (final === "C") this.#column = Math.min(MAX_CHARS, this.#column + steps);
    else if (final === "D") this.#column = Math.max(0, this.#column - steps);
    else if (final === "G" || final === "`") this.#column = steps - 1;
    else if (final === "P") this.#delete(steps);
    else if (final === "J" && amount === 0) this.#eraseBelow();
  }

  #eraseLine(how: number): void {
    const line = this.#recent[this.#row];
    if (!line) return;
    if (how === 1) line.erase(0, this.#column + 1);
    else line.erase(how === 2 ? 0 : this.#column, Infinity);
  }

  #eraseBelow(): void {
    this.#eraseLine(0);
    for (const line of this.#recent.slice(this.#row + 1)) line.erase(0, Infinity);
  }

  #delete(count: number): void {
    const line = this.#recent[this.#row];
    if (!line) return;
    const rest = line.text.slice(this.#column + count);
    line.erase(this.#column, Infinity);
    if (rest) line.put(this.#column, rest, this.#style);
  }

  #up(steps: number): void {
    this.#row = Math.max(0, this.#row - steps);
  }

  #down(steps: number): void {
    this.#row = Math.min(this.#recent.length, this.#row + steps);
  }

  /** The bytes are counted to the lowest line: so the place in the log where a line began stays known. */
  #newline(bytes: number): void {
    if (this.#row >= this.#recent.length) this.#line();
    this.#recent.at(-1)!.bytes += bytes;
    this.#row++;
    this.#column = 0;
  }

  /** The line of the cursor; made when there is none. */
  #line(): Line {
    const found = this.#recent[this.#row];
    if (found) return found;
    const made = this.lines.add(this.kind);
    this.#recent.push(made);
    if (this.#recent.length > MAX_UP * 2) this.#recent.splice(0, MAX_UP);
    this.#row = this.#recent.length - 1;
    return made;
  }
}

function isControl(code: number): boolean {
  return code < 32 || (code >= 127 && code < 160);
}

/** Behind a string that ends with BEL or `ESC \`: a title, a link. */
function skipString(text: string, from: number): number | null {
  for (let at = from; at < text.length && at - from < MAX_ESCAPE; at++) {
    const code = text.charCodeAt(at);
    if (code === 7 || code === 0x9c) return at + 1;
    if (code === 0x1b && at + 1 < text.length) return text[at + 1] === "\\" ? at + 2 : at;
  }
  return text.length - from >= MAX_ESCAPE ? from : null;
}
