/** How much a server can do: the rate that it answers when every connection asks again at once. */
import { median } from './measure.ts';
import type { Bench } from './scenario.ts';
import type { LoadedServer } from './server-load.ts';

export interface SustainableOptions {
  readonly server: LoadedServer;
  readonly requests: readonly string[];
  readonly connections: number;
  readonly loadCores: readonly number[];
}

/** The middle of several turns, because on this everything else is built. */
export async function sustainablePerSecond(bench: Bench, options: SustainableOptions): Promise<number> {
  const { server, requests, connections, loadCores } = options;
  const rates: number[] = [];
  for (let round = 0; round < bench.options.rounds; round += 1) {
    const durationS = bench.options.seconds;
    const plan = { url: server.url, connections, durationS, requests, cores: loadCores };
    rates.push((await bench.load(plan)).perSecond);
  }
  return median(rates);
}
