// What has just happened, in a line that goes by itself; errors stay until they are read.
import { Refused, Unreachable } from "./api";
import { t } from "./i18n";

export interface Toast {
  id: number;
  kind: "good" | "bad";
  text: string;
  hint?: string | null;
}

const LINGERS_MS = 5000;

class Toasts {
  list = $state<Toast[]>([]);
  #last = 0;

  good(text: string): void {
    const id = this.#add({ kind: "good", text });
    setTimeout(() => this.drop(id), LINGERS_MS);
  }

  bad(error: unknown): void {
    if (error instanceof DOMException && error.name === "AbortError") return;
    if (error instanceof Refused) this.#add({ kind: "bad", text: error.message, hint: error.hint });
    else if (error instanceof Unreachable) this.#add({ kind: "bad", text: t("error.unreachable") });
    else this.#add({ kind: "bad", text: String(error) });
  }

  drop(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }

  #add(toast: Omit<Toast, "id">): number {
    this.list = [...this.list.filter((other) => other.text !== toast.text), { ...toast, id: ++this.#last }].slice(-4);
    return this.#last;
  }
}

export const toasts = new Toasts();
