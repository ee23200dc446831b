// The colours and weights that a program asks a terminal for: "select graphic rendition". Pure.

/** A colour: one of the 256 by number, or `#rrggbb`. */
export type Colour = number | `#${string}`;

export interface Style {
  readonly fg: Colour | null;
  readonly bg: Colour | null;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly inverse: boolean;
  readonly strike: boolean;
}

export const PLAIN: Style = { fg: null, bg: null, bold: false, dim: false, italic: false, underline: false, inverse: false, strike: false };

/** How many different styles are told apart at most: a program that makes up more gets plain text. */
const MAX_STYLES = 20_000;
const known = new Map<string, Style>();

/** The one object for a style: what is equal is the very same. */
function interned(style: Style): Style {
  const key = JSON.stringify(style);
  let found = known.get(key);
  if (!found) {
    if (known.size >= MAX_STYLES) return PLAIN;
    found = key === JSON.stringify(PLAIN) ? PLAIN : Object.freeze({ ...style });
    known.set(key, found);
  }
  return found;
}

const after = new WeakMap<Style, Map<string, Style>>();

/** The style after `ESC [ parameters m`. */
export function styled(style: Style, parameters: string): Style {
  if (parameters === "" || parameters === "0") return PLAIN;
  let known = after.get(style);
  if (!known) after.set(style, (known = new Map()));
  let found = known.get(parameters);
  if (!found) {
    if (known.size > MAX_STYLES) known.clear();
    known.set(parameters, (found = interned(changed(style, parameters))));
  }
  return found;
}

type Draft = { -readonly [key in keyof Style]: Style[key] };

const SIMPLE: Record<number, (draft: Draft) => void> = {
  0: (draft) => Object.assign(draft, PLAIN),
  1: (draft) => (draft.bold = true),
  2: (draft) => (draft.dim = true),
  3: (draft) => (draft.italic = true),
  4: (draft) => (draft.underline = true),
  7: (draft) => (draft.inverse = true),
  9: (draft) => (draft.strike = true),
  21: (draft) => (draft.underline = true),
  22: (draft) => (draft.bold = draft.dim = false),
  23: (draft) => (draft.italic = false),
  24: (draft) => (draft.underline = false),
  27: (draft) => (draft.inverse = false),
  29: (draft) => (draft.strike = false),
  39: (draft) => (draft.fg = null),
  49: (draft) => (draft.bg = null),
};

function changed(style: Style, parameters: string): Style {
  const draft: Draft = { ...style };
  // Colons separate the parts of one value (4:3, 38:2::r:g:b), semicolons the values.
  const words = parameters.split(";");
  for (let at = 0; at < words.length; at++) {
    const parts = words[at]!.split(":");
    const code = Number(parts[0] || 0);
    if (code === 38 || code === 48) {
      const values = parts.length > 1 ? parts.slice(1).filter((part, n) => part !== "" || n !== 1) : words.slice(at + 1);
      const [colour, used] = extended(values);
      if (parts.length === 1) at += used;
      if (colour !== null) draft[code === 38 ? "fg" : "bg"] = colour;
    } else if (code === 4 && parts[1] === "0") draft.underline = false;
    else if (code >= 30 && code <= 37) draft.fg = code - 30;
    else if (code >= 40 && code <= 47) draft.bg = code - 40;
    else if (code >= 90 && code <= 97) draft.fg = code - 82;
    else if (code >= 100 && code <= 107) draft.bg = code - 92;
    else SIMPLE[code]?.(draft);
  }
  return draft;
}

/** `5;n` and `2;r;g;b`: the colour, and how many words it took. */
function extended(values: string[]): [Colour | null, number] {
  const numbers = values.slice(1, 4).map((value) => Math.min(255, Number(value || 0)));
  if (values[0] === "5") return [numbers.length && Number.isInteger(numbers[0]) ? numbers[0]! : null, 2];
  if (values[0] !== "2") return [null, 1];
  if (numbers.length < 3 || numbers.some((value) => !Number.isInteger(value))) return [null, 4];
  return [`#${numbers.map((value) => value.toString(16).padStart(2, "0")).join("")}`, 4];
}

const STEPS = [0, 95, 135, 175, 215, 255];

/** A colour as CSS has it; the first sixteen are the theme's own (`--ansi-0` …). */
export function css(colour: Colour): string {
  if (typeof colour === "string") return colour;
  if (colour < 16) return `var(--ansi-${colour})`;
  if (colour >= 232) return `rgb(${Array(3).fill((colour - 232) * 10 + 8).join(" ")})`;
  const cube = colour - 16;
  return `rgb(${STEPS[Math.floor(cube / 36)]} ${STEPS[Math.floor(cube / 6) % 6]} ${STEPS[cube % 6]})`;
}
