// Which page is at which path. The overview comes with the first load, the others when they are opened.
import type { Component } from "svelte";
import type { IconName } from "./parts/Icon.svelte";
import type { Word } from "./lib/i18n";
import Overview from "./pages/Overview.svelte";

/** A page, and for a page of one thing which one. */
export interface Found {
  page: Component<any>;
  id?: string;
}

export interface Entry {
  path: string;
  word: Word;
  icon: IconName;
  admin?: boolean;
  /** On a phone, in the bar at the bottom; the others are behind "More". */
  isFirst?: boolean;
}

/** The navigation, in order. */
export const ENTRIES: Entry[] = [
  { path: "/", word: "nav.overview", icon: "overview", isFirst: true },
  { path: "/jobs", word: "nav.jobs", icon: "jobs", isFirst: true },
  { path: "/submit", word: "nav.submit", icon: "submit", isFirst: true },
  { path: "/sweeps", word: "nav.sweeps", icon: "sweeps" },
  { path: "/nodes", word: "nav.nodes", icon: "nodes" },
  { path: "/users", word: "nav.users", icon: "users", admin: true },
  { path: "/settings", word: "nav.settings", icon: "settings" },
  { path: "/audit", word: "nav.audit", icon: "audit", admin: true },
  { path: "/me", word: "nav.me", icon: "me" },
];

type Loader = () => Promise<{ default: Found["page"] }>;
const PAGES: [RegExp, Loader][] = [
  [/^\/jobs$/, () => import("./pages/Jobs.svelte")],
  [/^\/jobs\/(\d+)$/, () => import("./pages/Job.svelte")],
  [/^\/submit$/, () => import("./pages/Submit.svelte")],
  [/^\/sweeps$/, () => import("./pages/Sweeps.svelte")],
  [/^\/sweeps\/(\d+)$/, () => import("./pages/Sweep.svelte")],
  [/^\/nodes$/, () => import("./pages/Nodes.svelte")],
  [/^\/nodes\/([^/]+)$/, () => import("./pages/Node.svelte")],
  [/^\/users$/, () => import("./pages/Users.svelte")],
  [/^\/users\/([^/]+)$/, () => import("./pages/User.svelte")],
  [/^\/settings$/, () => import("./pages/Settings.svelte")],
  [/^\/audit$/, () => import("./pages/Audit.svelte")],
  [/^\/me$/, () => import("./pages/Me.svelte")],
  [/^\/wall$/, () => import("./pages/Wall.svelte")],
];

/** The page at that path: at once when it is here already, else when it has come. */
export function find(path: string): Found | Promise<Found> {
  if (path === "/") return { page: Overview };
  for (const [pattern, load] of PAGES) {
    const match = pattern.exec(path);
    if (match) return load().then((found) => ({ page: found.default, ...(match[1] !== undefined && { id: decodeURIComponent(match[1]) }) }));
  }
  return import("./pages/Missing.svelte").then((found) => ({ page: found.default }));
}
