// What people type: sizes, durations, times, lists, as the command line takes them. Pure. What cannot be read is a `ParseError`
// with the message for what is expected.
import type { Word } from "./i18n";

export class ParseError extends Error {
  constructor(readonly word: Word) {
    super(word);
  }
}

const UNIT_S: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const LONG_UNITS: Record<string, string> = { sec: "s", second: "s", min: "m", minute: "m", hour: "h", hr: "h", day: "d", week: "w" };
const MIB: Record<string, number> = { k: 1 / 1024, m: 1, g: 1024, t: 1024 * 1024 };
const MAX_S = 100 * 366 * 86_400;
const BARE = /^\d+(\.\d*)?$|^\.\d+$/;

/** A duration in seconds: `90s`, `2h30m`, `1-02:00:00`; a bare number is minutes. */
export function seconds(text: string): number {
  const word = text.trim().toLowerCase();
  let total: number;
  if (BARE.test(word)) total = Math.round(Number(word) * 60);
  else if (word.includes(":") || /^\d+-\d+$/.test(word)) total = clock(word);
  else total = units(word.replaceAll(" ", ""));
  if (total > MAX_S) throw new ParseError("submit.expected_time");
  return total;
}

function units(word: string): number {
  const parts = [...word.matchAll(/(\d+\.?\d*|\.\d+)([a-z]+)/g)];
  if (!parts.length || parts.map((part) => part[0]).join("") !== word) throw new ParseError("submit.expected_time");
  let total = 0;
  for (const [, number, name] of parts) {
    const unit = UNIT_S[name!] ? name! : LONG_UNITS[name!.replace(/s$/, "")];
    if (!unit) throw new ParseError("submit.expected_time");
    total += Number(number) * UNIT_S[unit]!;
  }
  return Math.round(total);
}

/** Slurm's: `MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM`, `D-HH:MM:SS`. */
function clock(word: string): number {
  const match = /^(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$/.exec(word);
  if (!match) throw new ParseError("submit.expected_time");
  const numbers = match.slice(2).filter((part) => part !== undefined).map(Number);
  if (match[1] !== undefined) {
    const [hours = 0, minutes = 0, rest = 0] = numbers;
    return Number(match[1]) * 86_400 + hours * 3600 + minutes * 60 + rest;
  }
  const [hours, minutes, rest] = numbers.length === 2 ? [0, ...numbers] : numbers;
  return hours! * 3600 + minutes! * 60 + (rest ?? 0);
}

/** A size in MiB: `8G`, `800M`, `1.5g`, `8 GiB`. */
export function mebibytes(text: string): number {
  const match = /^(\d+\.?\d*|\.\d+)\s*([kmgt])(?:i?b)?$/.exec(text.trim().toLowerCase());
  const size = match ? Number(match[1]) * MIB[match[2]!]! : 0;
  if (size < 1 || size >= 2 ** 40) throw new ParseError("submit.expected_size");
  return Math.round(size);
}

export function whole(text: string, low: number, high: number): number {
  const value = Number(text.trim());
  if (!/^[+-]?\d+$/.test(text.trim()) || value < low || value > high) throw new ParseError(low < 0 ? "submit.expected_whole" : "submit.expected_count");
  return value;
}

/** 0 to 100, with or without the sign. */
export function percent(text: string): number {
  const word = text.trim().replace(/\s*%$/, "");
  if (!/^\d+$/.test(word) || Number(word) > 100) throw new ParseError("submit.expected_percent");
  return Number(word);
}

/** What stands between commas, each once. */
export function items(text: string): string[] {
  return [...new Set(text.split(/[,\n，]/).map((item) => item.trim()).filter(Boolean))];
}

/** The same, also between bars: `A100|H100`. */
export function alternatives(text: string): string[] {
  return items(text.replaceAll("|", ","));
}

/** Numbers of jobs: `12`, `10-20`, several with commas. */
export function ids(text: string): number[] {
  const found: number[] = [];
  for (const item of text.split(/[,\s，]+/).filter(Boolean)) {
    const match = /^(\d{1,12})(?:-(\d{1,12}))?$/.exec(item);
    const [low, high] = match ? [Number(match[1]), Number(match[2] ?? match[1])] : [1, 0];
    if (low > high || high - low >= 1000) throw new ParseError("submit.expected_ids");
    for (let id = low; id <= high; id++) found.push(id);
  }
  return [...new Set(found)];
}

/** `1-3,7` of numbers, as they are typed. */
export function spans(numbers: number[]): string {
  const ordered = [...new Set(numbers)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let at = 0; at < ordered.length; ) {
    let end = at;
    while (ordered[end + 1] === ordered[end]! + 1) end++;
    if (end - at < 2) parts.push(...ordered.slice(at, end + 1).map(String));
    else parts.push(`${ordered[at]}-${ordered[end]}`);
    at = end + 1;
  }
  return parts.join(",");
}

/** A moment: `+2h`, `22:00` (the next one), `tomorrow 8:00`, `2026-11-20 08:00`, on this browser's clock, as RFC 3339. */
export function moment(text: string, now: Date): string {
  const word = text.trim().toLowerCase().replace(/^now\b\s*/, "");
  if (word === "" || word.startsWith("+")) return rfc3339(new Date(now.getTime() + (word ? seconds(word.slice(1)) : 0) * 1000));
  const day = /^(today|tomorrow|今天|明天)\s*(.*)$/.exec(word);
  if (day) return rfc3339(onDay(now, day[1] === "tomorrow" || day[1] === "明天" ? 1 : 0, day[2] || "0:00"));
  if (/^\d{4}-\d\d-\d\d/.test(word)) {
    const at = new Date(text.trim().toUpperCase().replace(/ +/, "T").replace(/^(\d{4}-\d\d-\d\d)$/, "$1T00:00"));
    if (Number.isNaN(at.getTime())) throw new ParseError("submit.expected_moment");
    return rfc3339(at);
  }
  const today = onDay(now, 0, word);
  return rfc3339(today > now ? today : onDay(now, 1, word));
}

function onDay(now: Date, days: number, text: string): Date {
  const match = /^(\d{1,2}):(\d\d)(?::(\d\d))?$/.exec(text);
  const [hour, minute, second] = match ? [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)] : [24, 0, 0];
  if (hour! > 23 || minute! > 59 || second! > 59) throw new ParseError("submit.expected_moment");
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour, minute, second);
}

const rfc3339 = (at: Date): string => at.toISOString().replace(/\.\d+Z$/, "Z");

/** `NAME=value`, a line each. */
export function variables(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const word = line.trim().replace(/^export\s+/, "");
    if (!word || word.startsWith("#")) continue;
    const [, name, value] = /^([^=\s]+)=(.*)$/.exec(word) ?? [];
    if (name === undefined || value === undefined) throw new ParseError("submit.expected_variable");
    found[name] = unquoted(value);
  }
  return found;
}

/** One pair of quotes around all of it is taken off, as a shell would. */
function unquoted(value: string): string {
  const match = /^(["'])(.*)\1$/.exec(value);
  return match && !match[2]!.includes(match[1]!) ? match[2]! : value;
}

/** The words of a line as a shell splits them: spaces, quotes, backslashes. */
export function words(line: string): string[] {
  const found: string[] = [];
  const piece = /\s+|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)/gsy;
  let word: string | null = null;
  for (const text = line.trim(); piece.lastIndex < text.length; ) {
    const match = piece.exec(text);
    if (!match) throw new ParseError("submit.expected_words");
    const part = match[1] ?? match[2]?.replace(/\\(["\\$`])/g, "$1") ?? match[3] ?? match[4];
    if (part === undefined) {
      if (word !== null) found.push(word);
      word = null;
    } else word = (word ?? "") + part;
  }
  if (word !== null) found.push(word);
  return found;
}

/** A word as it must be typed into a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) || /^[^\x00-\x7f]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/** A size as it is typed. */
export function sizeText(mib: number | null | undefined): string {
  if (mib === null || mib === undefined) return "";
  return mib % 1024 === 0 ? `${mib / 1024}G` : `${mib}M`;
}

/** A duration as it is typed: `2h30m`. */
export function spanText(total: number | null | undefined): string {
  if (total === null || total === undefined) return "";
  let rest = total;
  let text = "";
  for (const [unit, size] of [["d", 86_400], ["h", 3600], ["m", 60], ["s", 1]] as const) {
    if (rest >= size) text += `${Math.floor(rest / size)}${unit}`;
    rest %= size;
  }
  return text || "0s";
}

/** The lines that are commands: no blank ones, no comments. With the number of each in the text. */
export function commands(text: string): { line: number; command: string }[] {
  return text
    .split("\n")
    .map((line, at) => ({ line: at + 1, command: line.trim() }))
    .filter(({ command }) => command && !command.startsWith("#"));
}
