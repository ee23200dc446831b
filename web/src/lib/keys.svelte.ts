// Keys. A page says which it takes; the frame has some everywhere. Nothing is taken from somebody who is typing.
import type { Word } from "./i18n";

export interface Key {
  keys: string;
  word: Word;
  act: () => void;
}

class Keys {
  everywhere: Key[] = [];
  here = $state.raw<Key[]>([]);
  #pending = "";
  #forget: ReturnType<typeof setTimeout> | undefined;

  /** For as long as the page is shown: `$effect(() => keys.on([...]))`. */
  on(list: Key[]): () => void {
    this.here = list;
    return () => {
      if (this.here === list) this.here = [];
    };
  }

  press(event: KeyboardEvent): void {
    if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]") && event.key !== "?") return;
    const typed = this.#pending + event.key;
    const all = [...this.here, ...this.everywhere];
    const found = all.find((key) => key.keys === typed) ?? all.find((key) => key.keys === event.key);
    clearTimeout(this.#forget);
    this.#pending = "";
    if (found) {
      event.preventDefault();
      found.act();
    } else if (all.some((key) => key.keys.length > 1 && key.keys.startsWith(event.key))) {
      this.#pending = event.key;
      this.#forget = setTimeout(() => (this.#pending = ""), 1000);
    }
  }
}

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement && /^(checkbox|radio|button)$/.test(target.type)) return false;
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export const keys = new Keys();
