// Something done to one job from its own page: what was skipped is raised, in the server's words.
import { send, type Schemas } from "./api";
import { said, speech } from "./words.svelte";

export class Skipped extends Error {}

export async function actOn(job: number, action: string, more: Record<string, unknown>): Promise<void> {
  const acted = await send<Schemas["Acted"]>("POST", "/jobs/actions", { action, select: { ids: String(job) }, ...more });
  const [skipped] = acted.skipped;
  if (!skipped) return;
  await speech.saying();
  throw new Skipped(said(skipped.reason));
}
