// What came over the line and is not written into lines yet. Pure.
import type { Stream } from "./logsource";

const NEWLINE = 10;

export interface Came {
  stream: Stream;
  data: Uint8Array;
  /** Behind its last byte. */
  end: number;
}

export class Pending {
  list: Came[] = [];
  bytes = 0;

  push(stream: Stream, data: Uint8Array, end: number): void {
    this.list.push({ stream, data, end });
    this.bytes += data.length;
  }

  /** All of it; none is left. */
  take(): Came[] {
    this.bytes = 0;
    return this.list.splice(0);
  }

  /** Leave out the oldest until about so much is left: how many bytes went. */
  keepLast(most: number): number {
    const had = this.bytes;
    let kept = 0;
    let first = this.list.length;
    while (first > 0 && kept < most) kept += this.list[--first]!.data.length;
    this.list.splice(0, first);
    this.bytes = kept;
    return had - kept;
  }

  /** Begin a stream with a whole line: the place in the log where it begins now, or null when nothing of it is here. */
  align(stream: Stream): number | null {
    const first = this.list.find((one) => one.stream === stream);
    if (!first) return null;
    const start = first.data.indexOf(NEWLINE) + 1;
    first.data = first.data.subarray(start);
    this.bytes -= start;
    return first.end - first.data.length;
  }

  /** Where the next byte of each stream is, `from` where nothing is here. */
  ahead(from: Record<Stream, number>): Record<Stream, number> {
    const found = { ...from };
    for (const one of this.list) found[one.stream] = one.end;
    return found;
  }
}
