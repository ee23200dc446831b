// Every word that people see. English is always here; Chinese comes when it is wanted. `zh` has the type of `en`: a word that
// is missing there does not compile.
import { en } from "../words/en";
import { recall, remember } from "./kept";
import type { Saying } from "./saying";

export type Language = "en" | "zh";
export type Word = keyof typeof en;
export type Words = Record<Word, string>;
type Values = Record<string, string | number>;

class Speech {
  language = $state<Language>("en");
  #words = $state.raw<Words>(en);
  #said = $state.raw<Saying | null>(null);
  #coming: Promise<void> | null = null;

  async choose(language: Language): Promise<void> {
    this.#words = language === "zh" ? (await import("../words/zh")).zh : en;
    this.language = language;
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  }

  /** Choose it and keep it: here, and for the pages before the login, in the cookie that the server keeps. */
  async keep(language: Language): Promise<void> {
    remember("language", language);
    await this.choose(language);
    void fetch(`/login?lang=${language}`, { redirect: "manual" }).catch(() => null);
  }

  say(word: Word, values?: Values): string {
    const text = this.#words[word];
    if (!values) return text;
    return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
  }

  /** What the server said, which is English: in this language as far as it is known here, and once those words have come. */
  said(text: string): string {
    if (this.language === "en" || !text) return text;
    if (!this.#said) void this.saying();
    return this.#said?.(text) ?? text;
  }

  /** Those words come when something must be said in them: most pages never need them. */
  async saying(): Promise<void> {
    if (this.language === "en") return;
    this.#coming ??= import("../words/zh/said").then(
      (found) => void (this.#said = found.said),
      () => void (this.#coming = null), // the server is away: another time
    );
    await this.#coming;
  }

  has(word: string): word is Word {
    return word in en;
  }

  /** The word under a name that is put together, or the text itself when there is none in this language. */
  maybe(word: string, otherwise: string, values?: Values): string {
    return word in this.#words ? this.say(word as Word, values) : otherwise;
  }
}

export const speech = new Speech();
export const t = (word: Word, values?: Values): string => speech.say(word, values);
export const said = (text: string): string => speech.said(text);

export function wanted(): Language {
  const kept = recall<string>("language", "");
  if (kept === "en" || kept === "zh") return kept;
  return navigator.languages.find((tag) => /^(en|zh)/i.test(tag))?.toLowerCase().startsWith("zh") ? "zh" : "en";
}
