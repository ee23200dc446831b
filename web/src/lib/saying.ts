// What the server says, in another language: a text is found by its pattern and said again with what was in it. Pure.
// The English is the server's own and may change; what is not known here stays as it is.
export type Pair = readonly [english: string, other: string];
export type Saying = (text: string) => string;

const MAX_KEPT = 2000;
const DEEPEST = 9;

/** `pairs` are whole texts, `inside` what may stand in a hole of one. See `words/zh/said.ts` for how they are written. */
export function sayingOf(pairs: readonly Pair[], inside: readonly Pair[] = []): Saying {
  const sentences = rulesOf(pairs);
  const all = rulesOf([...pairs, ...inside]);
  const kept = new Map<string, string>();

  function find(text: string, rules: Rule[], depth: number): string | null {
    const several = text.split("; ").map((piece) => fitting(piece, sentences, depth));
    if (several.length > 1 && several.every((piece) => piece !== null)) return several.join("；");
    return fitting(text, rules, depth) ?? pieces(text, depth);
  }

  function fitting(text: string, rules: Rule[], depth: number): string | null {
    const low = text.toLowerCase();
    for (const rule of rules) {
      const found = low.includes(rule.mark) ? rule.valuesIn(text) : null;
      if (found) return rule.other.replace(HOLES, (hole, before: string, deep: string, name: string, after: string, at: number) => {
        const value = deep ? inner(found[name] ?? "", depth) : (found[name] ?? "");
        const [left, right] = [rule.other[at - 1] ?? "", rule.other[at + hole.length] ?? ""];
        return `${isTight(left, value[0]) ? "" : before}${value}${isTight(value.at(-1), right) ? "" : after}`;
      });
    }
    return null;
  }

  const inner = (text: string, depth: number): string => (depth < DEEPEST && text && find(text, all, depth + 1)) || text;

  /** `what: why`, where one of the two is known. */
  function pieces(text: string, depth: number): string | null {
    const at = text.indexOf(": ");
    if (at < 1 || depth >= DEEPEST) return null;
    const [what, why] = [text.slice(0, at), text.slice(at + 2)];
    const [known, then] = [fitting(what, all, depth + 1), find(why, all, depth + 1)];
    return known === null && then === null ? null : `${known ?? what}：${then ?? why}`;
  }

  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const made = find(text, sentences, 0) ?? text;
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(text, made);
    return made;
  };
}

const HOLES = /( ?)\{(~?)(\w+)\}( ?)/g;
/** Between two Chinese characters there is no space. */
const isTight = (left = "", right = ""): boolean => /\p{Script=Han}/u.test(left) && /\p{Script=Han}/u.test(right);
const PARTS = /(\{\w+\}|«[^»]*»)/;

/** One pair, read. The longest piece that must be in a text tells most others apart; the whole pattern is made when it fits. */
class Rule {
  readonly mark: string;
  readonly weight: number;
  readonly #parts: string[];
  readonly #names: string[];
  #pattern: RegExp | null = null;

  constructor(english: string, readonly other: string) {
    this.#parts = english.split(PARTS).filter(Boolean);
    this.#names = this.#parts.filter(isHole).map((part) => part.slice(1, -1));
    const fixed = this.#parts.filter((part) => !isHole(part) && !isChoice(part));
    this.mark = fixed.reduce((a, b) => (b.length > a.length ? b : a), "").toLowerCase();
    this.weight = fixed.reduce((sum, part) => sum + part.length, 0);
  }

  valuesIn(text: string): Record<string, string> | null {
    this.#pattern ??= new RegExp(`^${this.#parts.map(patternOf).join("")}$`, "is");
    const found = this.#pattern.exec(text);
    if (!found) return null;
    const values: Record<string, string> = {};
    this.#names.forEach((name, at) => (values[name] ??= found[at + 1] ?? ""));
    return values;
  }
}

/** Those that say most themselves come first: `GPU {name} is disabled` before `GPU {gpu} is {who}`. */
const rulesOf = (pairs: readonly Pair[]): Rule[] => pairs.map(([english, other]) => new Rule(english, other)).sort((a, b) => b.weight - a.weight);

const isHole = (part: string): boolean => /^\{\w+\}$/.test(part);
const isChoice = (part: string): boolean => part.startsWith("«");
const bare = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** What a text begins with goes up to a colon at most: before it stands what the text is about. */
function patternOf(part: string, at: number): string {
  if (isHole(part)) return at === 0 ? "((?:(?!: ).)*?)" : "(.*?)";
  if (!isChoice(part)) return bare(part);
  const choices = part.slice(1, -1).split("|").map(bare);
  return choices.length > 1 ? `(?:${choices.join("|")})` : `(?:${choices[0]})?`;
}
