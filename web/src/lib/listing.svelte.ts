// One page of the listing of jobs, kept true. Rows that change are changed where they stand; when a job may have come, gone
// or moved, the page is asked for again, quietly, not often, and not under the hand of somebody who is about to click.
import { get } from "./api";
import type { BriefJob, Change } from "./doc";
import { live } from "./live.svelte";
import { mayMatch, moves, paramsOf, PER_PAGE, selectOf, type JobQuery } from "./jobquery";

interface Page {
  jobs: BriefJob[];
  total: number | null;
  total_at_least?: number;
  next: string | null;
}

/** All of a job, or what of it has changed. */
type Told = NonNullable<Change["jobs"]>[number];

const SOON_MS = 150;
/** Between two quiet questions: little at first, more while much goes on. What changes on other pages can wait. */
const LEAST_GAP_MS = 400;
const MAX_GAP_MS = 3000;
const CALM_MS = 10_000;
const LATER_MS = 5000;
const JITTER_MS = 2000;
/** A hand that has moved lately is about to click. */
const HAND_MS = 1500;
const LONGEST_WAIT_MS = 10_000;
const KEPT = 8;

/** What was seen last, so that the way back shows it at once. */
const seen = new Map<string, Page>();

export class Listing {
  rows = $state.raw<BriefJob[]>([]);
  total = $state.raw<number | null>(null);
  totalAtLeast = $state.raw(0);
  hasMore = $state(false);
  /** Which the rows are of: for a moment those of before, until the others have come. */
  shown = $state.raw("");
  isKnown = $state(false);
  /** Others are awaited than those shown. */
  isLoading = $state(false);
  problem = $state.raw<unknown>(null);
  #wanted: JobQuery | null = null;
  #asking: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #due = Infinity;
  #askedMs: number[] = [];
  #handMs = 0;
  #waitsSince = 0;

  /** Show those. What is known of them is shown at once. */
  want(wanted: JobQuery): void {
    this.#wanted = wanted;
    const known = seen.get(keyOf(wanted));
    if (known) this.#take(known, wanted);
    this.isLoading = !known;
    void this.load();
  }

  async load(): Promise<void> {
    const wanted = this.#wanted;
    if (!wanted) return;
    this.#asking?.abort();
    const asking = (this.#asking = new AbortController());
    this.#settle();
    try {
      const page = await get<Page>("/jobs", paramsOf(wanted), asking.signal);
      if (asking.signal.aborted) return;
      this.#take(page, wanted);
      this.problem = null;
      keep(keyOf(wanted), page);
    } catch (error) {
      if (!asking.signal.aborted) this.problem = error;
    } finally {
      if (this.#asking === asking) this.isLoading = false;
    }
  }

  /** Somebody points at a row. */
  touch(): void {
    this.#handMs = Date.now();
  }

  /** Listen for as long as the page is shown. */
  watch(): () => void {
    const stop = live.listen((change) => this.#heard(change));
    const shown = (): void => void (!document.hidden && this.#due < Infinity && this.#ask(SOON_MS));
    document.addEventListener("visibilitychange", shown);
    return () => {
      stop();
      document.removeEventListener("visibilitychange", shown);
      this.#asking?.abort();
      clearTimeout(this.#timer);
    };
  }

  #take(page: Page, wanted: JobQuery): void {
    this.shown = filterOf(wanted);
    const old = new Map(this.rows.map((row) => [row.id, row]));
    this.rows = page.jobs.map((job) => same(old.get(job.id), job));
    this.total = page.total;
    this.totalAtLeast = page.total_at_least ?? 0;
    this.hasMore = page.next !== null;
    this.isKnown = true;
  }

  #heard(change: Change): void {
    const wanted = this.#wanted;
    if (!wanted) return;
    if (change.all) return this.#ask(this.isKnown ? Math.random() * JITTER_MS : SOON_MS);
    if (change.many) this.#ask(SOON_MS + Math.random() * JITTER_MS);
    const at = new Map(this.rows.map((row, index) => [row.id, index]));
    if (change.removed?.some((id) => at.has(id))) this.#ask(SOON_MS);
    const rows = [...this.rows];
    let isChanged = false;
    for (const row of change.jobs ?? []) {
      const index = at.get(row.id);
      if (index !== undefined) {
        const before = rows[index]!;
        rows[index] = { ...before, ...row };
        isChanged = true;
        if (moves(wanted, differences(before, row))) this.#ask(SOON_MS);
      } else if (this.#mayEnter(wanted, row)) this.#ask(this.#isOfInterest(row) ? SOON_MS : LATER_MS);
    }
    if (isChanged) this.rows = rows;
  }

  /** A job that is not on this page may now belong to it. */
  #mayEnter(wanted: JobQuery, row: Told): boolean {
    const whole = row.submitted_at ? (row as BriefJob) : live.job(row.id);
    if (!moves(wanted, row) && !row.submitted_at) return false;
    return whole ? mayMatch(wanted, whole) : true;
  }

  /** On a first page that is not full, or for a job that has just come, people wait for it. */
  #isOfInterest(row: Told): boolean {
    return this.rows.length < PER_PAGE || (Boolean(row.submitted_at) && row.state !== "ended");
  }

  #ask(inMs: number): void {
    const now = Date.now();
    this.#askedMs = this.#askedMs.filter((at) => at > now - CALM_MS);
    const gap = Math.min(MAX_GAP_MS, LEAST_GAP_MS * 2 ** (this.#askedMs.length - 1));
    const due = Math.max(now + inMs, (this.#askedMs.at(-1) ?? 0) + gap);
    if (due >= this.#due) return;
    this.#due = due;
    this.#waitsSince ||= now;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ring(), due - now);
  }

  #ring(): void {
    if (document.hidden) return; // asked for when somebody looks again
    const now = Date.now();
    const handLeft = this.#handMs + HAND_MS - now;
    if (handLeft > 0 && now - this.#waitsSince < LONGEST_WAIT_MS) this.#timer = setTimeout(() => this.#ring(), handLeft);
    else void this.load();
  }

  /** What is asked now answers everything that was waited for. */
  #settle(): void {
    clearTimeout(this.#timer);
    this.#due = Infinity;
    this.#waitsSince = 0;
    this.#askedMs.push(Date.now());
  }
}

/** What stays the same from page to page. */
export const filterOf = (wanted: JobQuery): string => JSON.stringify(selectOf(wanted));
const keyOf = (wanted: JobQuery): string => JSON.stringify(paramsOf(wanted));

function keep(key: string, page: Page): void {
  seen.delete(key);
  seen.set(key, page);
  if (seen.size > KEPT) seen.delete(seen.keys().next().value!);
}

/** The old row when nothing of it has changed: then nothing is drawn. */
function same(old: BriefJob | undefined, fresh: BriefJob): BriefJob {
  return old && JSON.stringify(old) === JSON.stringify(fresh) ? old : fresh;
}

function differences(before: BriefJob, row: Partial<BriefJob>): Partial<BriefJob> {
  const keys = Object.keys(row) as (keyof BriefJob)[];
  return Object.fromEntries(keys.filter((key) => JSON.stringify(before[key]) !== JSON.stringify(row[key])).map((key) => [key, row[key]]));
}
