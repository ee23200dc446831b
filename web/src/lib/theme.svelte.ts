// Light or dark: as the system says, unless somebody chose.
import { recall, remember } from "./kept";

export type Choice = "auto" | "light" | "dark";
const system = matchMedia("(prefers-color-scheme: dark)");

class Theme {
  choice = $state<Choice>(recall<string>("theme", "auto") as Choice);
  #systemDark = $state(system.matches);
  isDark = $derived(this.choice === "dark" || (this.choice === "auto" && this.#systemDark));

  constructor() {
    system.addEventListener("change", (event) => {
      this.#systemDark = event.matches;
      this.#show();
    });
  }

  choose(choice: Choice): void {
    this.choice = choice;
    remember("theme", choice);
    this.#show();
  }

  #show(): void {
    document.documentElement.dataset.theme = this.isDark ? "roost-dark" : "roost";
  }
}

export const theme = new Theme();
