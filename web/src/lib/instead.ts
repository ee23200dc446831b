// What would start now, as the server words it: in the reader's language, and as a change of the form.
import type { Fields } from "./jobform";
import { t, type Word } from "./words.svelte";

interface Way {
  pattern: RegExp;
  word: Word;
  change: (found: RegExpExecArray) => Partial<Fields>;
}

const WAYS: Way[] = [
  { pattern: /^with (\d+) GPUs? instead of (\d+)$/, word: "submit.instead_fewer", change: (found) => ({ gpus: found[1]! }) },
  { pattern: /^with --mem (\S+)$/, word: "submit.instead_mem", change: (found) => ({ mem: found[1]!, exclusive: false }) },
  { pattern: /^on any GPU$/, word: "submit.instead_any_gpu", change: () => ({ gpu_ids: "" }) },
  { pattern: /^with any model of GPU$/, word: "submit.instead_any_model", change: () => ({ gpu_models: "" }) },
  { pattern: /^without --min-gpu-mem$/, word: "submit.instead_any_size", change: () => ({ min_gpu_mem: "" }) },
  { pattern: /^on any node$/, word: "submit.instead_any_node", change: () => ({ nodes: "" }) },
  { pattern: /^without --max-util$/, word: "submit.instead_any_util", change: () => ({ max_util: "" }) },
  { pattern: /^without --exclusive$/, word: "submit.instead_not_alone", change: () => ({ exclusive: false }) },
];

/** In words, and what of the form to change for it; what is not known stays as it was said. */
export function wayOf(change: string): { text: string; fields: Partial<Fields> | null } {
  for (const { pattern, word, change: made } of WAYS) {
    const found = pattern.exec(change);
    if (found) return { text: t(word, { a: found[1] ?? "", b: found[2] ?? "" }), fields: made(found) };
  }
  return { text: change, fields: null };
}
