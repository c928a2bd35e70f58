/**
 * Redirects of hot links: one viral link, a thousand in turn, and many with realistic popularity. Compared with nginx
 * and with the minimum of the runtime.
 */
import { join } from 'node:path';
import { startBareServer } from '../kit/bare-server.ts';
import { contest } from '../kit/contest.ts';
import { filledStore, lendLinks } from '../kit/filled-store.ts';
import { formatCount, measure } from '../kit/measure.ts';
import { usageOf } from '../kit/process-usage.ts';
import type { Scenario } from '../kit/scenario.ts';
import type { Table } from '../kit/table.ts';
import { targetsOf, uniformVisits, visitCount, visitOf, zipfVisits } from '../kit/visits.ts';

const visitors = 64;
const fewLinks = 1_000;
const fewName = `${formatCount(fewLinks)} links in turn`;
/** Enough that no order repeats soon. */
const fewVisits = 200_000;
/** A process has some work left after its start. */
const settleMs = 3_000;

export const warm: Scenario = {
  name: 'warm',
  summary: 'one viral link, a thousand links, and Zipf traffic over many',
  run: bench =>
    bench.inFolder(async folder => {
      const { options, note, cacheFolder } = bench;
      const store = await filledStore(cacheFolder, options.warmLinks, note);
      const viral = [visitOf(store.codeAt(0))];
      const few = uniformVisits({ ...store, links: fewLinks }, fewVisits, fewLinks);
      const popular = zipfVisits(store, visitCount(options));
      const many = `Zipf over ${formatCount(store.links)} links`;
      const counted = { dataFolder: lendLinks(store, join(folder, 'clicks')) };
      const silent = {
        dataFolder: lendLinks(store, join(folder, 'no-clicks')),
        env: { TERSE_CLICKS: 'off' },
      };
      note(`nginx takes ${formatCount(store.links)} links into its map`);
      return bench.withNginx({ folder: join(folder, 'nginx'), targets: targetsOf(store) }, nginx =>
        bench.withTerse(counted, terse =>
          bench.withTerse(silent, async uncounted => {
            await Bun.sleep(settleMs);
            const bare = await startBareServer(bench.coresFor(1).server);
            try {
              const [viralNginx, fewNginx, manyNginx] = [
                'nginx, one link',
                `nginx, ${fewName}`,
                `nginx, ${many}`,
              ];
              const idleMb = usageOf(terse.pid)?.residentMb ?? Number.NaN;
              const table = await contest(bench, {
                title: `Redirects of warm links, one core, ${visitors} visitors`,
                connections: visitors,
                contenders: {
                  ...(nginx !== undefined && {
                    [viralNginx]: { server: nginx, requests: viral },
                    [fewNginx]: { server: nginx, requests: few },
                    [manyNginx]: { server: nginx, requests: popular },
                  }),
                  'bare Bun.serve': { server: bare, requests: viral, against: viralNginx },
                  'Terse without clicks, one link': {
                    server: uncounted,
                    requests: viral,
                    against: viralNginx,
                  },
                  'Terse, one link': { server: terse, requests: viral, against: viralNginx },
                  [`Terse, ${fewName}`]: { server: terse, requests: few, against: fewNginx },
                  [`Terse, ${many}`]: { server: terse, requests: popular, against: manyNginx },
                },
                notes: [
                  `nginx has all ${formatCount(store.links)} links in its map; codes are one there if they differ in case only.`,
                ],
              });
              return { tables: [table, memoryTable(terse.pid, idleMb)] };
            } finally {
              await bare.stop();
            }
          }),
        ),
      );
    }),
};

/** Valid although the last turn may have been another contender's, because memory is rarely returned. */
function memoryTable(pid: number, idleMb: number): Table {
  const { residentMb, peakMb } = usageOf(pid) ?? { residentMb: Number.NaN, peakMb: Number.NaN };
  return {
    title: 'Resident memory of Terse',
    columns: ['when', 'MiB'],
    rows: [
      ['idle after the start', measure(idleMb, 1)],
      ['after the load', measure(residentMb, 1)],
      ['at most', measure(peakMb, 1)],
    ],
  };
}
