// Asking for a log: a piece by offset, or what is written from an offset on, as it is written, over restarts of the server.
import { queryOf, raw, Refused, refusalOf, Unreachable } from "./api";
import { session } from "./session.svelte";

export type Stream = "out" | "err";

/** Which log: of one attempt of a job. `isLast`: it may not have begun, and may go on. */
export interface Which {
  job: number;
  attempt: number;
  isLast: boolean;
}

export interface Piece {
  data: Uint8Array;
  /** Of its first byte. */
  offset: number;
  /** How long the log is now. */
  size: number;
  /** From where to where the middle is gone. */
  dropped: [number, number] | null;
}

const NOTHING: Piece = { data: new Uint8Array(0), offset: 0, size: 0, dropped: null };
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5000;

/** A piece: from an offset (negative: from the end), or the last lines within a limit of bytes. */
export async function read(
  which: Which, stream: Stream, how: { offset?: number; lines?: number; limit: number }, signal: AbortSignal,
): Promise<Piece> {
  for (;;) {
    const answer = await raw("GET", `/jobs/${which.job}/log${queryOf({ stream, attempt: which.attempt, ...how })}`, undefined, signal);
    if (answer.ok) return pieceOf(answer);
    const error = await refusalOf(answer);
    if (error.status === 401) await session.again();
    else if (error.status === 404 && which.isLast) return NOTHING; // it is about to begin
    else throw error;
  }
}

async function pieceOf(answer: Response): Promise<Piece> {
  const number = (name: string): number => Number(answer.headers.get(name) ?? 0);
  const dropped = /^(\d+)-(\d+)$/.exec(answer.headers.get("Roost-Dropped") ?? "");
  return {
    data: new Uint8Array(await answer.arrayBuffer()),
    offset: number("Roost-Offset"),
    size: number("Roost-Size"),
    dropped: dropped ? [Number(dropped[1]), Number(dropped[2])] : null,
  };
}

interface Told {
  stream?: Stream;
  data?: string;
  /** Behind its last byte. */
  offset?: number;
  attempt?: number;
  end?: unknown;
}

export interface Follower {
  /** Where to go on; asked again after every break. */
  offsets: () => Record<Stream, number>;
  took: (stream: Stream, data: Uint8Array, end: number) => void;
  connected: (is: boolean) => void;
}

/** Follow to the end of the attempt. Raises what the server refuses; breaks of the line are waited out. */
export async function follow(which: Which, stream: Stream | null, follower: Follower, signal: AbortSignal): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    try {
      const answer = await opened(which, stream, follower.offsets(), signal);
      pauseMs = FIRST_PAUSE_MS;
      follower.connected(true);
      for await (const told of linesOf(answer)) {
        if (told.end !== undefined || (told.attempt !== undefined && told.attempt !== which.attempt)) return;
        if (told.data !== undefined) follower.took(told.stream!, bytesOf(told.data), told.offset!);
      }
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
    }
    follower.connected(false);
    await pause(pauseMs, signal);
    pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
  }
}

async function opened(which: Which, stream: Stream | null, offsets: Record<Stream, number>, signal: AbortSignal): Promise<Response> {
  const query = queryOf({
    [which.isLast ? "from_attempt" : "attempt"]: which.attempt, stream, offset_out: offsets.out, offset_err: offsets.err,
  });
  const answer = await raw("GET", `/jobs/${which.job}/log/follow${query}`, undefined, signal);
  if (answer.ok) return answer;
  const error = await refusalOf(answer);
  if (error.status !== 401) throw error;
  await session.again();
  return opened(which, stream, offsets, signal);
}

/** Whether it goes by itself: the server is away, is busy, or closed the line. */
export function isPassing(error: unknown): boolean {
  if (error instanceof Refused) return error.status === 429 || error.status >= 500;
  return error instanceof Unreachable || error instanceof TypeError;
}

async function* linesOf(answer: Response): AsyncGenerator<Told> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop()!;
      for (const line of lines) if (line) yield JSON.parse(line) as Told;
    }
  } finally {
    void reader.cancel().catch(() => null);
  }
}

type WithBase64 = typeof Uint8Array & { fromBase64?: (text: string) => Uint8Array };

function bytesOf(text: string): Uint8Array {
  const quick = (Uint8Array as WithBase64).fromBase64;
  if (quick) return quick.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
