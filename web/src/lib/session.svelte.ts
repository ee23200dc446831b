// The user of this browser, and whether their session is still valid.
import { raw, refusalOf, type Schemas } from "./api";

export type Me = Schemas["Me"];

class Session {
  me = $state.raw<Me | null>(null);
  /** The session has ended: the page shows a dialog that asks for the password, over all that is half filled in. */
  isOver = $state(false);
  reason = $state("");
  csrf = "";
  #waiting: (() => void)[] = [];

  get isAdmin(): boolean {
    return this.me?.admin ?? false;
  }

  async load(): Promise<void> {
    const answer = await raw("GET", "/me");
    if (answer.status === 401) {
      location.assign("/login?next=" + encodeURIComponent(location.pathname + location.search));
      return new Promise(() => {});
    }
    if (!answer.ok) throw await refusalOf(answer);
    this.take((await answer.json()) as Me);
  }

  take(me: Me): void {
    this.me = me;
    this.csrf = me.csrf ?? "";
  }

  /** Until somebody has logged in again. */
  again(reason = ""): Promise<void> {
    this.isOver = true;
    this.reason ||= reason;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Log in again as the same user; requests that wait continue. Raises what the server says. */
  async logIn(user: string, password: string): Promise<void> {
    const answer = await raw("POST", "/login", { user, password });
    if (!answer.ok) throw await refusalOf(answer);
    const was = this.me?.user;
    const fresh = await raw("GET", "/me");
    if (!fresh.ok) throw await refusalOf(fresh);
    this.take((await fresh.json()) as Me);
    if (was && was !== this.me?.user) location.assign("/");
    this.isOver = false;
    this.reason = "";
    for (const go of this.#waiting.splice(0)) go();
  }

  async logOut(): Promise<void> {
    await raw("POST", "/logout", {}).catch(() => null);
    location.assign("/login");
  }
}

export const session = new Session();
