// How an attempt went: samples of its GPUs, asked for again while it runs. A server that keeps none has no plots.
import { get, type Schemas } from "./api";
import { Fetched } from "./fetched.svelte";
import type { Seen } from "./jobview";

export class JobSamples extends Fetched<Schemas["JobSamples"]> {
  get seen(): Seen {
    const found = this.value;
    const most = (values: (number | null)[]): number | null => values.reduce<number | null>((top, value) => (value !== null && value > (top ?? -1) ? value : top), null);
    const util = (found?.gpus ?? []).flatMap((gpu) => gpu.util).filter((value) => value !== null);
    return {
      mem: most((found?.gpus ?? []).flatMap((gpu) => gpu.mem_mib)),
      util: util.length ? util.reduce((sum, value) => sum + value, 0) / util.length : null,
      rss: most(found?.rss_mib ?? []),
    };
  }
}

export function jobSamples(job: number, attempt: number): JobSamples {
  return new JobSamples(() => get<Schemas["JobSamples"]>(`/jobs/${job}/samples`, { attempt }));
}
