// Where we are: the path and what stands behind the question mark. Links within Roost change it without a new load.

class Place {
  path = $state(location.pathname);
  query = $state.raw(new URLSearchParams(location.search));

  /** Go there. `replace` leaves no step to come back to: for filters while they are typed. */
  go(to: string, how: { replace?: boolean; keepScroll?: boolean } = {}): void {
    const url = new URL(to, location.href);
    if (url.pathname + url.search === location.pathname + location.search) return;
    history[how.replace ? "replaceState" : "pushState"](null, "", url);
    this.read();
    if (!how.replace && !how.keepScroll) scrollTo(0, 0);
  }

  /** Change some of the query; an empty value takes the name away. */
  ask(changes: Record<string, string | number | null | undefined>, how: { replace?: boolean } = { replace: true }): void {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") query.delete(name);
      else query.set(name, String(value));
    }
    const text = query.toString();
    this.go(this.path + (text ? `?${text}` : ""), { ...how, keepScroll: true });
  }

  read(): void {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }
}

export const place = new Place();

/** Take over the clicks on links to pages of ours; leave the others, and those with a key held, to the browser. */
export function takeLinks(): void {
  addEventListener("popstate", () => place.read());
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.("a[href]");
    if (!(link instanceof HTMLAnchorElement) || link.origin !== location.origin || link.target || link.hasAttribute("download")) return;
    if (/^\/(api|login|welcome|style)(\/|$)/.test(link.pathname)) return;
    event.preventDefault();
    place.go(link.pathname + link.search + link.hash);
  });
}
