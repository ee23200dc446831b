// What the server says by itself: the whole state when a stream opens, then what changes. Everything on every page that
// moves by itself is read from here. A stream that breaks is opened again, and then begins with the whole state.
import { raw } from "./api";
import { setClock } from "./clock.svelte";
import { apply, empty, type BriefJob, type Change, type Doc, type Tile } from "./doc";
import { i18n } from "./i18n";
import { session } from "./session.svelte";

export type { BriefJob, Tile };
export type Connection = "opening" | "open" | "reconnecting";
type Listener = (change: Change) => void;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** The server says something at least every 15 s; silence for longer than this is a dead connection. */
const SILENCE_MS = 40_000;
/** A window that nobody has seen for so long holds no stream: browsers allow few connections, for all windows together. */
const UNSEEN_MS = 20_000;

class Live {
  doc = $state.raw<Doc>(empty());
  connection = $state<Connection>("opening");
  #source: EventSource | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #listeners = new Set<Listener>();
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #unseen: ReturnType<typeof setTimeout> | undefined;
  #isResting = false;

  constructor() {
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.#unseen);
      if (document.hidden) this.#unseen = setTimeout(() => this.#rest(), UNSEEN_MS);
      else if (this.#isResting) this.open();
    });
  }

  get isKnown(): boolean {
    return this.doc.at !== "";
  }

  open(): void {
    this.#isResting = false;
    this.#source?.close();
    const source = new EventSource(`/api/v1/live?lang=${i18n.language}`);
    this.#source = source;
    source.addEventListener("state", (event) => this.#state(event.data as string));
    source.addEventListener("change", (event) => this.#change(event.data as string));
    source.addEventListener("bye", (event) => this.#bye(event.data as string));
    source.addEventListener("error", () => this.#broken(source));
    this.#awake();
  }

  /** Be told of every change, with what it says; undo with what is returned. After a gap the change is `{ all: true }`. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  job(id: number): BriefJob | undefined {
    return this.doc.jobs.get(id);
  }

  #state(text: string): void {
    const fresh = JSON.parse(text) as Change;
    const isFirst = !this.isKnown;
    setClock(String(fresh.at));
    this.doc = apply(empty(), fresh);
    this.connection = "open";
    this.#pauseMs = FIRST_PAUSE_MS;
    if (!isFirst) this.#tell({ all: true });
    this.#awake();
  }

  #change(text: string): void {
    const change = JSON.parse(text) as Change;
    this.doc = apply(this.doc, change);
    this.#tell(change);
    this.#awake();
  }

  #tell(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  #bye(text: string): void {
    const { reason } = JSON.parse(text) as { reason: string };
    if (reason === "shutdown") return this.#broken(this.#source!);
    this.#source?.close();
    void session.again(reason).then(() => this.open());
  }

  #rest(): void {
    this.#source?.close();
    this.#source = null;
    clearTimeout(this.#watchdog);
    this.#isResting = true;
  }

  #broken(source: EventSource): void {
    if (source !== this.#source) return;
    source.close();
    this.#source = null;
    clearTimeout(this.#watchdog);
    this.connection = "reconnecting";
    const pause = this.#pauseMs * (0.75 + Math.random() / 2);
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
    setTimeout(() => void this.#again(), pause);
  }

  /** An event source does not say why it failed: ask who we are first. */
  async #again(): Promise<void> {
    try {
      const answer = await raw("GET", "/me");
      if (answer.status === 401) await session.again("expired");
    } catch {
      // still away
    }
    if (this.#source === null && !this.#isResting) this.open();
  }

  #awake(): void {
    clearTimeout(this.#watchdog);
    const source = this.#source;
    if (source) this.#watchdog = setTimeout(() => this.#broken(source), SILENCE_MS);
  }
}

export const live = new Live();
