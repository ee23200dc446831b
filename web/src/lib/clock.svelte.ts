// One clock for the whole page: it ticks once a second while somebody looks, and everything that says "ago" reads it.
import { createSubscriber } from "svelte/reactivity";

let now = Date.now();
let ahead = 0;

const subscribe = createSubscriber((update) => {
  const timer = setInterval(() => {
    if (document.hidden) return;
    now = Date.now() + ahead;
    update();
  }, 1000);
  return () => clearInterval(timer);
});

/** Now, on the server's clock, in milliseconds; what reads it is redrawn every second. */
export function seconds(): number {
  subscribe();
  return now;
}

/** Now, once. */
export function moment(): number {
  return Date.now() + ahead;
}

/** The server says what time it is: browsers' clocks are wrong more often than one thinks. */
export function setClock(at: string): void {
  const difference = Date.parse(at) - Date.now();
  ahead = Math.abs(difference) > 2000 ? difference : 0;
  now = Date.now() + ahead;
}
