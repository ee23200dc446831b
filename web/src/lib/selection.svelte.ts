// Which rows are chosen: one by one, a range with shift, all on the page, or all that match, which the server then finds.
import { SvelteSet } from "svelte/reactivity";

export class Selection {
  readonly ids = new SvelteSet<number>();
  /** Not only those on the page: all that the filter finds. */
  isAll = $state(false);
  #anchor: number | null = null;

  get size(): number {
    return this.ids.size;
  }

  has(id: number): boolean {
    return this.isAll || this.ids.has(id);
  }

  /** Choose it or not; with `range`, the same for all between it and the last one, in the order of `shown`. */
  toggle(id: number, shown: readonly number[], range = false): void {
    if (this.isAll) this.only(shown);
    const chosen = !this.ids.has(id);
    for (const one of range ? this.#between(id, shown) : [id]) this.set(one, chosen);
    this.#anchor = id;
  }

  set(id: number, chosen: boolean): void {
    if (chosen) this.ids.add(id);
    else this.ids.delete(id);
  }

  only(ids: readonly number[]): void {
    this.clear();
    for (const id of ids) this.ids.add(id);
  }

  /** Of those chosen, keep the ones among `ids`. */
  keep(ids: readonly number[]): void {
    for (const one of [...this.ids]) if (!ids.includes(one)) this.ids.delete(one);
  }

  clear(): void {
    this.ids.clear();
    this.isAll = false;
    this.#anchor = null;
  }

  #between(id: number, shown: readonly number[]): readonly number[] {
    const from = this.#anchor === null ? -1 : shown.indexOf(this.#anchor);
    const to = shown.indexOf(id);
    return from < 0 || to < 0 ? [id] : shown.slice(Math.min(from, to), Math.max(from, to) + 1);
  }
}
