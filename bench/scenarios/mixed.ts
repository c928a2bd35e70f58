/** What a shortener does all day: a hundred redirects for every new link, which is on disk when it is answered. */
import { join } from 'node:path';
import { contest } from '../kit/contest.ts';
import { longUrlAt } from '../kit/filled-store.ts';
import { asAdmin, postRequest } from '../kit/load.ts';
import { formatCount } from '../kit/measure.ts';
import type { Scenario } from '../kit/scenario.ts';
import { createLinks, targetsOf, visitCount, zipfVisits } from '../kit/visits.ts';

const visitors = 64;
const linkCount = 100_000;
const redirectsPerCreate = 100;

export const mixed: Scenario = {
  name: 'mixed',
  summary: `${redirectsPerCreate} redirects for every create`,
  run: bench =>
    bench.inFolder(folder =>
      bench.withTerse({ dataFolder: join(folder, 'terse') }, async terse => {
        const links = await createLinks(terse.url, linkCount);
        const visits = zipfVisits(links, visitCount(bench.options));
        const requests = visits.flatMap((visit, turn) =>
          turn % redirectsPerCreate === 0 ? [createOf(linkCount + turn), visit] : [visit],
        );
        return bench.withNginx({ folder: join(folder, 'nginx'), targets: targetsOf(links) }, async nginx => {
          const table = await contest(bench, {
            title: `${redirectsPerCreate} redirects for every create, one core, ${visitors} visitors`,
            connections: visitors,
            contenders: {
              ...(nginx !== undefined && { nginx: { server: nginx, requests } }),
              Terse: { server: terse, requests, against: 'nginx' },
            },
            notes: [
              `Redirects: Zipf over ${formatCount(linkCount)} links. A visitor behind a create waits for the disk.`,
              'nginx answers a create with a constant 201 and stores nothing.',
            ],
          });
          return { tables: [table] };
        });
      }),
    ),
};

const createOf = (turn: number): string =>
  postRequest('/api/v1/links', { longUrl: longUrlAt(turn) }, asAdmin);
