// Names of users as somebody pastes them, in the words of `roost user add --from`: a name a line, perhaps with a UNIX
// account behind it; commas separate several; # begins a comment. Pure.

export interface Named {
  name: string;
  /** The UNIX account, `none` for none; null: the one of the same name, if there is any. */
  unix: string | null;
}

export interface Pasted {
  users: Named[];
  /** What is not understood, each with the number of its line. */
  wrong: { line: number; text: string; why: "words" | "name" | "twice" }[];
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.+@-]*\$?$/;
const LONGEST = 64;

export function isName(text: string): boolean {
  return text.length <= LONGEST && NAME.test(text);
}

export function pasted(text: string): Pasted {
  const found: Pasted = { users: [], wrong: [] };
  const seen = new Set<string>();
  text.split(/\r?\n/).forEach((whole, at) => {
    for (const part of whole.replace(/#.*/, "").split(/[,;，、；]/)) {
      const words = part.trim().split(/\s+/).filter(Boolean);
      if (!words.length) continue;
      const [name, unix] = words as [string, string?];
      const why = words.length > 2 ? "words" : !isName(name) || (unix !== undefined && !isName(unix)) ? "name" : seen.has(name) ? "twice" : null;
      if (why) found.wrong.push({ line: at + 1, text: part.trim(), why });
      else {
        seen.add(name);
        found.users.push({ name, unix: unix ?? null });
      }
    }
  });
  return found;
}
