// What this browser remembers between visits: one small record. A browser that keeps nothing still works.
const KEY = "roost";

type Kept = Record<string, unknown>;

function all(): Kept {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return found !== null && typeof found === "object" ? (found as Kept) : {};
  } catch {
    return {};
  }
}

export function recall<T>(name: string, otherwise: T): T {
  const found = all()[name];
  return typeof found === typeof otherwise ? (found as T) : otherwise;
}

export function remember(name: string, value: unknown): void {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...all(), [name]: value }));
  } catch {
    // private windows may refuse; nothing is lost but the memory
  }
}
