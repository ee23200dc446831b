// Asking again when the live stream says that something may have changed: soon, but not often, and only while somebody looks.
import type { Change } from "./doc";
import { live } from "./live.svelte";

const SOON_MS = 400;
const GAP_MS = 5000;
const JITTER_MS = 1000;

/** `$effect(() => refresh(load, concerns))`: loads after changes that concern it, at most every few seconds. */
export function refresh(load: () => unknown, concerns: (change: Change) => boolean): () => void {
  let last = Date.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isDue = false;

  function ask(): void {
    if (isDue) return;
    isDue = true;
    timer = setTimeout(ring, Math.max(SOON_MS, last + GAP_MS - Date.now()) + Math.random() * JITTER_MS);
  }
  function ring(): void {
    if (document.hidden) return;
    isDue = false;
    last = Date.now();
    load();
  }
  const shown = (): void => void (!document.hidden && isDue && ring());

  const stop = live.listen((change) => (change.all || change.many || concerns(change)) && ask());
  document.addEventListener("visibilitychange", shown);
  return () => {
    stop();
    document.removeEventListener("visibilitychange", shown);
    clearTimeout(timer);
  };
}
