// The part of a log that is in memory: some thousand lines around where somebody reads, however long the log is. At the end
// it follows; when the job writes faster than anybody reads, it leaves out and says so. No drawing here.
import { Refused } from "./api";
import { bytes as amount } from "./format";
import { Pending } from "./logpending";
import { follow, isPassing, pause, read, type Piece, type Stream, type Which } from "./logsource";
import { Lines, type Line } from "./loglines";
import { Terminal } from "./terminal";
import { t } from "./i18n";

export type Shown = Stream | "both";
export type Phase = "loading" | "following" | "reconnecting" | "apart" | "over" | "refused" | "failed";

const TAIL_LINES = 3000;
const TAIL_BYTES = 1 << 19;
const PIECE_BYTES = 1 << 18;
const FLUSH_MS = 80;
/** More than this since the last look is not shown: nobody could read it. */
const MAX_AT_ONCE = 3 << 19;
const KEPT_AT_ONCE = 1 << 19;
/** Farther behind the end than this, the end is gone to. */
const MAX_BEHIND = 4 << 20;
const LAG_MS = 3000;
const NEWLINE = 10;

export class LogWindow {
  lines = new Lines();
  /** Grows when there is something to draw. */
  version = $state(0);
  phase = $state<Phase>("loading");
  problem = $state.raw<unknown>(null);
  /** Bytes that were left out to keep up, since it was opened. */
  skipped = $state(0);
  /** The reader has scrolled up: keep the lines they may be looking at. */
  isHeld = false;
  /** The number of the first line; null where that is not known. */
  firstNumber: number | null = null;
  /** Whether what is here begins with the log's first byte. */
  isFromStart = false;
  #from = 0;
  #to: Record<Stream, number> = { out: 0, err: 0 };
  #terminals: Partial<Record<Stream, Terminal>> = {};
  #pending = new Pending();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #following: AbortController | null = null;
  #whole = new AbortController();
  #isReading = false;
  #took = 0;
  #lag: ReturnType<typeof setInterval> | undefined;

  constructor(
    readonly which: Which,
    readonly shown: Shown,
  ) {}

  get #streams(): Stream[] {
    return this.shown === "both" ? ["out", "err"] : [this.shown];
  }

  /** Begin at the end, and follow; or with the first bytes. */
  async open(where: "start" | "end", isQuiet = false): Promise<void> {
    this.#stop();
    if (!isQuiet) this.phase = "loading";
    this.isHeld = where === "start";
    try {
      const how = where === "end" ? { lines: TAIL_LINES, limit: TAIL_BYTES } : { offset: 0, limit: PIECE_BYTES };
      const pieces = await Promise.all(this.#streams.map((stream) => this.#patiently(stream, how)));
      this.#begin(pieces);
      const isAll = pieces.every((piece) => piece.offset + piece.data.length >= piece.size);
      if (isAll || where === "end") this.#follow();
      else this.phase = "apart";
    } catch (error) {
      this.#fail(error);
    }
    this.version++;
  }

  close(): void {
    this.#stop();
    this.#whole.abort();
  }

  /** The line is given up while nobody looks, and taken up where it was. */
  rest(): void {
    if (this.phase === "following" || this.phase === "reconnecting") this.#stop();
  }

  wake(): void {
    if (!this.#following && (this.phase === "following" || this.phase === "reconnecting")) {
      this.#follow();
      void this.#lookBehind(true);
    }
  }

  /** What lies before the first line here. */
  async earlier(): Promise<boolean> {
    if (this.shown === "both" || this.isFromStart || this.#isReading || this.phase === "loading") return false;
    return this.#alone(async () => {
      const stream = this.shown as Stream;
      let end = this.#from;
      let piece = await this.#before(stream, end);
      let hole = 0;
      if (piece.dropped && piece.offset >= end) {
        [hole, end] = [end - piece.dropped[0], piece.dropped[0]];
        piece = end > 0 ? await this.#before(stream, end) : { ...piece, data: new Uint8Array(0), offset: 0 };
      }
      const data = piece.data.subarray(0, Math.max(0, end - piece.offset));
      const start = piece.offset === 0 ? 0 : Math.max(0, data.indexOf(NEWLINE) + 1 < data.length ? data.indexOf(NEWLINE) + 1 : 0);
      const made = new Lines();
      new Terminal(made, stream).write(data.subarray(start));
      if (hole) made.note(t("log.dropped", { size: amount(hole) }), hole);
      this.lines.prepend(made.list);
      this.#from = piece.offset + start;
      this.isFromStart = this.#from === 0;
      if (this.isFromStart) this.firstNumber = 1;
      else if (this.firstNumber !== null) this.firstNumber = hole ? null : this.firstNumber - made.list.length;
      if (this.lines.trimEnd().length) this.#leaveEnd(true);
    });
  }

  /** What lies behind the last line here, when it does not follow. */
  async later(): Promise<boolean> {
    if (this.shown === "both" || this.phase !== "apart" || this.#isReading) return false;
    return this.#alone(async () => {
      const stream = this.shown as Stream;
      const piece = await read(this.which, stream, { offset: this.#to[stream], limit: PIECE_BYTES }, this.#whole.signal);
      this.#write(stream, piece.data, piece.offset + piece.data.length);
      this.#trimTop();
      if (this.#to[stream] >= piece.size) this.#follow();
    });
  }

  /** A piece; while the server or the node is away it is waited for. */
  async #patiently(stream: Stream, how: { offset?: number; lines?: number; limit: number }): Promise<Piece> {
    for (let pauseMs = 1000; ; pauseMs = Math.min(5000, pauseMs * 2)) {
      try {
        return await read(this.which, stream, how, this.#whole.signal);
      } catch (error) {
        if (!isPassing(error)) throw error;
        this.phase = "reconnecting";
        await pause(pauseMs, this.#whole.signal);
      }
    }
  }

  #before(stream: Stream, end: number): Promise<Piece> {
    const offset = Math.max(0, end - PIECE_BYTES);
    return read(this.which, stream, { offset, limit: end - offset }, this.#whole.signal);
  }

  async #alone(work: () => Promise<void>): Promise<boolean> {
    this.#isReading = true;
    try {
      await work();
      this.version++;
      return true;
    } catch (error) {
      if (!isPassing(error)) this.#fail(error);
      return false;
    } finally {
      this.#isReading = false;
    }
  }

  #begin(pieces: Piece[]): void {
    this.lines.clear();
    this.#terminals = {};
    this.isFromStart = pieces.every((piece) => piece.offset === 0);
    this.firstNumber = this.isFromStart && this.shown !== "both" ? 1 : null;
    pieces.forEach((piece, n) => {
      const stream = this.#streams[n]!;
      const start = startOf(piece);
      if (this.shown === "both" && stream === "err" && this.lines.list.length && piece.data.length) this.lines.note(t("log.err_so_far"));
      this.#from = this.#to[stream] = piece.offset + start;
      this.#write(stream, piece.data.subarray(start), piece.offset + piece.data.length);
    });
    this.#trimTop();
  }

  #write(stream: Stream, data: Uint8Array, end: number): void {
    const begin = end - data.length;
    const missing = begin - this.#to[stream];
    if (missing > 0) {
      this.lines.note(t("log.dropped", { size: amount(missing) }), missing);
      delete this.#terminals[stream];
    } else if (missing < 0) data = data.subarray(-missing);
    (this.#terminals[stream] ??= new Terminal(this.lines, stream)).write(data);
    this.#to[stream] = Math.max(end, this.#to[stream]);
  }

  #trimTop(): void {
    const gone = this.lines.trimTop();
    if (!gone.length) return;
    this.isFromStart = false;
    this.#from += gone.reduce((sum: number, line: Line) => sum + line.bytes, 0);
    if (this.firstNumber !== null) this.firstNumber += gone.filter((line) => line.kind !== "note").length;
  }

  // -- following ----------------------------------------------------------------------------------------------------

  #follow(): void {
    const control = (this.#following = new AbortController());
    this.phase = "following";
    const follower = {
      offsets: () => this.#pending.ahead(this.#to),
      took: (stream: Stream, data: Uint8Array, end: number) => control === this.#following && this.#take(stream, data, end),
      connected: (is: boolean) => void (control === this.#following && (this.phase = is ? "following" : "reconnecting")),
    };
    follow(this.which, this.shown === "both" ? null : this.shown, follower, control.signal).then(
      () => control === this.#following && this.#ended(),
      (error: unknown) => control === this.#following && this.#fail(error),
    );
    this.#lag = setInterval(() => void this.#lookBehind(), LAG_MS);
  }

  #take(stream: Stream, data: Uint8Array, end: number): void {
    this.#pending.push(stream, data, end);
    this.#took += data.length;
    if (this.#pending.bytes > MAX_AT_ONCE) this.#leaveOut();
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const one of this.#pending.take()) this.#write(one.stream, one.data, one.end);
    if (!this.isHeld) this.#trimTop();
    else if (this.lines.isFull) this.#leaveEnd(false);
    this.version++;
  }

  /** Too much at once: only the end of it is shown, and what is before can be read by going up. */
  #leaveOut(): void {
    if (this.isHeld) {
      this.#flush();
      return;
    }
    const gone = this.#pending.keepLast(KEPT_AT_ONCE);
    if (!gone) return;
    this.skipped += gone;
    this.lines.clear();
    this.#terminals = {};
    this.isFromStart = false;
    this.firstNumber = null;
    for (const stream of this.#streams) {
      const begin = this.#pending.align(stream);
      if (begin !== null) this.#from = this.#to[stream] = begin;
    }
    this.#flush(); // at once: nothing blinks
  }

  /** Whether the log is far ahead of what has come over the line: then the end is gone to. */
  async #lookBehind(isSure = false): Promise<void> {
    const took = this.#took;
    this.#took = 0;
    if (this.isHeld || this.phase !== "following" || (took < PIECE_BYTES && !isSure)) return;
    const ahead = this.#pending.ahead(this.#to);
    const pieces = await Promise.all(
      this.#streams.map((stream) => read(this.which, stream, { offset: -1, limit: 1 }, this.#whole.signal)),
    ).catch(() => []);
    const behind = pieces.reduce((sum, piece, n) => sum + Math.max(0, piece.size - ahead[this.#streams[n]!]), 0);
    if (behind < MAX_BEHIND || this.isHeld || this.phase !== "following") return;
    this.skipped += behind;
    await this.open("end", true);
  }

  /** There is no room for what comes while somebody reads further up: it is read when they scroll down. */
  #leaveEnd(isTrimmed: boolean): void {
    this.#stop();
    if (isTrimmed && this.shown !== "both") {
      this.#terminals = {};
      this.#to[this.shown] = this.#from + this.lines.list.reduce((sum, line) => sum + line.bytes, 0);
    }
    this.phase = "apart";
  }

  #ended(): void {
    this.#flush();
    this.#stop();
    this.phase = "over";
  }

  #stop(): void {
    this.#following?.abort();
    this.#following = null;
    clearInterval(this.#lag);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pending = new Pending();
  }

  #fail(error: unknown): void {
    if (this.#whole.signal.aborted || (error instanceof DOMException && error.name === "AbortError")) return;
    this.#stop();
    this.problem = error;
    this.phase = error instanceof Refused && error.status === 403 ? "refused" : "failed";
  }
}

/** Where the first whole line of the last lines begins. */
function startOf(piece: Piece): number {
  const isCut = piece.offset > 0 && piece.offset !== piece.dropped?.[1] && piece.data.length >= TAIL_BYTES;
  const newline = isCut ? piece.data.indexOf(NEWLINE) + 1 : 0;
  return newline < piece.data.length ? newline : 0;
}
