/** How long a click takes to show in the statistics: clicks on links that nobody else follows, under load and not. */

import { systemRandom } from '../../src/base/random.ts';
import { createClickedLinks } from '../../test/kit/click-account.ts';
import { callerOf } from '../../test/kit/client.ts';
import { browser } from '../../test/kit/visitors.ts';
import { Histogram } from '../kit/histogram.ts';
import { formatCount, measure } from '../kit/measure.ts';
import type { Scenario } from '../kit/scenario.ts';

const backgroundPerSecond = 2_000;
const backgroundTickMs = 10;
const probesPerRound = 40;
const probesAtOnce = 4;
const pollMs = 10;
const visibleMaxMs = 60_000;
/** Clicks come when they like. Those that follow the showing of another would all meet the same phase of counting. */
const pauseMaxMs = 1_000;

export const freshness: Scenario = {
  name: 'freshness',
  summary: 'from a click to its number in the statistics',
  run: ({ inFolder, withTerse, note, options }) =>
    inFolder(dataFolder =>
      withTerse({ dataFolder }, async ({ url }) => {
        const probes = options.rounds * probesPerRound;
        const states = {
          'nothing else': 0,
          [`${formatCount(backgroundPerSecond)} clicks/s`]: backgroundPerSecond,
        };
        const rows = [];
        for (const [name, perSecond] of Object.entries(states)) {
          note(`${probes} clicks beside ${name}`);
          const background = startVisits(url, await createClickedLinks(url, 100), perSecond);
          const histogram = await probe(url, probes);
          const sentPerSecond = await background.stop();
          rows.push([
            name,
            measure(sentPerSecond),
            measure(histogram.quantileUs(0.5) / 1_000),
            measure(histogram.quantileUs(0.99) / 1_000),
            measure(histogram.maxUs / 1_000),
          ]);
        }
        return {
          tables: [
            {
              title: `From the answer to a click until the statistics have it, ${probes} clicks`,
              columns: ['beside', 'clicks/s', 'p50 ms', 'p99 ms', 'max ms'],
              rows,
              notes: [
                `Asked for every ${pollMs} ms, by ${probesAtOnce} at once; the time to answer is in it.`,
              ],
            },
          ],
        };
      }),
    ),
};

async function visit(url: string, code: string): Promise<void> {
  const response = await fetch(`${url}/${code}`, { redirect: 'manual', headers: browser });
  await response.arrayBuffer();
  if (response.status !== 302) throw new Error(`a visit got ${response.status}`);
}

/** A steady stream of visits until it is stopped. */
function startVisits(url: string, codes: readonly string[], perSecond: number) {
  const startedMs = performance.now();
  let [sent, stopped, ended] = [0, false, 0];
  const run = async (): Promise<void> => {
    while (!stopped) {
      const due = Math.floor(((performance.now() - startedMs) / 1_000) * perSecond) - sent;
      await Promise.all(Array.from({ length: due }, (_, n) => visit(url, codes[(sent + n) % codes.length]!)));
      sent += due;
      await Bun.sleep(backgroundTickMs);
    }
    ended = performance.now();
  };
  const running = run();
  return {
    async stop(): Promise<number> {
      stopped = true;
      await running;
      return sent / ((ended - startedMs) / 1_000);
    },
  };
}

async function probe(url: string, probes: number): Promise<Histogram> {
  const histogram = new Histogram();
  const codes = await createClickedLinks(url, probes);
  const call = callerOf(url);
  const worker = async (): Promise<void> => {
    for (let code = codes.pop(); code !== undefined; code = codes.pop()) {
      await Bun.sleep(systemRandom.float() * pauseMaxMs);
      await visit(url, code);
      const clickedMs = performance.now();
      for (;;) {
        const { body } = await call('GET', `/api/v1/links/${code}/stats`);
        const elapsedMs = performance.now() - clickedMs;
        if (body.totalClicks === 1) {
          histogram.record(elapsedMs * 1_000);
          break;
        }
        if (elapsedMs > visibleMaxMs) throw new Error('a click did not show within a minute');
        await Bun.sleep(pollMs);
      }
    }
  };
  await Promise.all(Array.from({ length: probesAtOnce }, worker));
  return histogram;
}
