// Light or dark: as the system says, unless somebody chose.
import { recall, remember } from "./storage";

export type Choice = "auto" | "light" | "dark";
const system = matchMedia("(prefers-color-scheme: dark)");

class Theme {
  choice = $state<Choice>(recall<string>("theme", "auto") as Choice);
  #systemDark = $state(system.matches);
  /** On a wall it is dark unless somebody chose. */
  #isOnWall = $state(false);
  isDark = $derived(this.choice === "dark" || (this.choice === "auto" && (this.#systemDark || this.#isOnWall)));

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

  hang(isOnWall: boolean): void {
    this.#isOnWall = isOnWall;
    this.#show();
  }

  #show(): void {
    document.documentElement.dataset.theme = this.isDark ? "roost-dark" : "roost";
  }
}

export const theme = new Theme();
