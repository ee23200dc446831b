// The words of the pages. English is always loaded; Chinese when it is chosen. `zh` has the type of `en`: a missing word does
// not compile. What the server says, it says in the language of the page: every request carries it.
import { en } from "../words/en";
import { recall, remember } from "./storage";

export type Language = "en" | "zh";
export type Word = keyof typeof en;
export type Words = Record<Word, string>;
type Values = Record<string, string | number>;

class I18n {
  language: Language = "en";
  #words: Words = en;

  /** Before anything is shown: the language does not change while a page is open. */
  async load(language: Language): Promise<void> {
    this.language = language; // at once: requests that are sent meanwhile carry it
    this.#words = language === "zh" ? (await import("../words/zh")).zh : en;
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  }

  /** Remember the choice, here and in the cookie of the pages before the login, and load the page again in that language. */
  choose(language: Language): void {
    remember("language", language);
    const kept = fetch(`/login?lang=${language}`, { redirect: "manual" }).catch(() => null);
    void kept.then(() => location.reload());
  }

  say(word: Word, values?: Values): string {
    const text = this.#words[word];
    if (!values) return text;
    return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
  }

  has(word: string): word is Word {
    return word in en;
  }

  /** The word for a name that the server has, like a state; the given text when this language has no word for it. */
  maybe(word: string, otherwise: string, values?: Values): string {
    return word in this.#words ? this.say(word as Word, values) : otherwise;
  }
}

export const i18n = new I18n();
export const t = (word: Word, values?: Values): string => i18n.say(word, values);

export function preferred(): Language {
  const kept = recall<string>("language", "");
  if (kept === "en" || kept === "zh") return kept;
  return navigator.languages.find((tag) => /^(en|zh)/i.test(tag))?.toLowerCase().startsWith("zh") ? "zh" : "en";
}
