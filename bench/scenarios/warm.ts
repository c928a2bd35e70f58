/**
 * Redirects of links that are requested again and again: one viral link, and traffic spread over many links by
 * realistic popularity. Beside nginx, and beside the least that the runtime can do.
 */
import { join } from 'node:path';
import { startBareServer } from '../kit/bare-server.ts';
import { contest } from '../kit/contest.ts';
import { filledStore, lendLinks } from '../kit/filled-store.ts';
import { formatCount } from '../kit/measure.ts';
import type { Scenario } from '../kit/scenario.ts';
import { targetsOf, visitCount, visitOf, zipfVisits } from '../kit/visits.ts';

const visitors = 64;

export const warm: Scenario = {
  name: 'warm',
  summary: 'one viral link, and Zipf traffic over many',
  run: bench =>
    bench.inFolder(async folder => {
      const { options, note, cacheFolder } = bench;
      const store = await filledStore(cacheFolder, options.warmLinks, note);
      const viral = [visitOf(store.codeAt(0))];
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
            const bare = await startBareServer(bench.coresFor(1).server);
            try {
              const [viralNginx, manyNginx] = ['nginx, one link', `nginx, ${many}`];
              const table = await contest(bench, {
                title: `Redirects of warm links, one core, ${visitors} visitors`,
                connections: visitors,
                contenders: {
                  ...(nginx !== undefined && {
                    [viralNginx]: { server: nginx, requests: viral },
                    [manyNginx]: { server: nginx, requests: popular },
                  }),
                  'bare Bun.serve': { server: bare, requests: viral, against: viralNginx },
                  'Terse without clicks, one link': {
                    server: uncounted,
                    requests: viral,
                    against: viralNginx,
                  },
                  'Terse, one link': { server: terse, requests: viral, against: viralNginx },
                  [`Terse, ${many}`]: { server: terse, requests: popular, against: manyNginx },
                },
                notes: [
                  `nginx has all ${formatCount(store.links)} links in its map; codes are one there if they differ in case only.`,
                ],
              });
              return { tables: [table] };
            } finally {
              await bare.stop();
            }
          }),
        ),
      );
    }),
};
