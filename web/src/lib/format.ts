// Amounts as people read them. Pure, but for the language.
import { i18n, t } from "./i18n";

const KIB = 1024;

export function memory(mib: number | null | undefined): string {
  if (mib === null || mib === undefined) return "–";
  if (mib < KIB) return `${Math.round(mib)} MiB`;
  const gib = mib / KIB;
  return `${gib >= 100 || Number.isInteger(gib) ? Math.round(gib) : gib.toFixed(1)} GiB`;
}

/** Gibibytes without the unit, for where it stands beside. */
export function gib(mib: number | null | undefined): string {
  if (mib === null || mib === undefined) return "–";
  const value = mib / KIB;
  return value >= 10 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1);
}

export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function count(value: number): string {
  return new Intl.NumberFormat(i18n.language === "zh" ? "zh-CN" : "en").format(value);
}

/** How long: the two largest units, "2 h 05 min". */
export function span(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return t("span.s", { s });
  if (s < 3600) return t("span.ms", { m: Math.floor(s / 60), s: two(s % 60) });
  if (s < 86_400) return t("span.hm", { h: Math.floor(s / 3600), m: two(Math.floor((s % 3600) / 60)) });
  return t("span.dh", { d: Math.floor(s / 86_400), h: Math.floor((s % 86_400) / 3600) });
}

/** How long, in one unit: "5 min", for tight places. */
export function brief(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return t("span.s", { s });
  if (s < 3600) return t("span.m", { m: Math.floor(s / 60) });
  if (s < 86_400) return t("span.h", { h: Math.floor(s / 3600) });
  return t("span.d", { d: Math.floor(s / 86_400) });
}

const two = (value: number): string => String(value).padStart(2, "0");

export function since(from: string | null | undefined, to: number): number | null {
  return from ? (to - Date.parse(from)) / 1000 : null;
}

export function between(from: string | null | undefined, to: string | null | undefined): number | null {
  return from && to ? (Date.parse(to) - Date.parse(from)) / 1000 : null;
}

/** A time of day, with the date when it is another day's. */
export function time(at: string | null | undefined, now = Date.now()): string {
  if (!at) return "–";
  const when = new Date(at);
  const tag = i18n.language === "zh" ? "zh-CN" : "en-GB";
  const isToday = new Date(now).toDateString() === when.toDateString();
  const options: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", hour12: false };
  if (!isToday) Object.assign(options, { month: "short", day: "numeric" });
  if (when.getFullYear() !== new Date(now).getFullYear()) options.year = "numeric";
  return when.toLocaleString(tag, options);
}

/** All of it, for a title. */
export function exactly(at: string | null | undefined): string {
  return at ? new Date(at).toLocaleString(i18n.language === "zh" ? "zh-CN" : "en-GB", { dateStyle: "medium", timeStyle: "medium" }) : "";
}
