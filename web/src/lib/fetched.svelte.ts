// Something that the server has: asked for once, and again when it may have changed. One question at a time; what is shown
// stays until the new answer is here.

export class Fetched<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<unknown>(null);
  #ask: () => Promise<T>;
  #running: Promise<void> | null = null;
  #isStale = false;
  #askedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ask: () => Promise<T>) {
    this.#ask = ask;
  }

  /** Ask now; while an answer is on its way, once more after it. */
  load(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#running) {
      this.#isStale = true;
      return this.#running;
    }
    this.#running = this.#run().finally(() => (this.#running = null));
    return this.#running;
  }

  /** Ask again, but no sooner than so long after the last time. */
  soon(leastMs: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.load(), Math.max(0, this.#askedAt + leastMs - Date.now()));
  }

  /** No more. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #run(): Promise<void> {
    do {
      this.#isStale = false;
      this.#askedAt = Date.now();
      try {
        this.value = await this.#ask();
        this.error = null;
      } catch (error) {
        this.error = error;
      }
    } while (this.#isStale);
  }
}
