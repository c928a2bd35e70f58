/** Several processes on one port, compared with nginx with as many workers on the same cores. */
import { join } from 'node:path';
import { contest } from '../kit/contest.ts';
import { formatCount } from '../kit/measure.ts';
import type { Scenario } from '../kit/scenario.ts';
import { createLinks, targetsOf, visitCount, visitOf, zipfVisits } from '../kit/visits.ts';
import { untilChildren } from '../kit/workers.ts';

const workerCount = 2;
const visitors = 128;
const linkCount = 10_000;
const workersMaxMs = 5_000;

export const workers: Scenario = {
  name: 'workers',
  summary: `${workerCount} workers beside nginx with ${workerCount} workers`,
  run: bench =>
    bench.inFolder(folder =>
      bench.withTerse({ dataFolder: join(folder, 'terse'), workers: workerCount }, async terse => {
        const isSupervised = await untilChildren(
          terse.pid,
          children => children.length >= workerCount,
          workersMaxMs,
        );
        if (!isSupervised) bench.note('this Terse starts no workers: these are the figures of one process');
        const links = await createLinks(terse.url, linkCount);
        const viral = [visitOf(links.codeAt(0))];
        const popular = zipfVisits(links, visitCount(bench.options));
        const { load, areShared } = bench.coresFor(workerCount);
        const nginxOptions = {
          folder: join(folder, 'nginx'),
          targets: targetsOf(links),
          workers: workerCount,
        };
        return bench.withNginx(nginxOptions, async nginx => {
          const many = `Zipf over ${formatCount(linkCount)} links`;
          const [viralNginx, manyNginx] = ['nginx, one link', `nginx, ${many}`];
          const table = await contest(bench, {
            title: `Redirects by ${workerCount} workers, ${visitors} visitors`,
            connections: visitors,
            loadCores: load,
            contenders: {
              ...(nginx !== undefined && {
                [viralNginx]: { server: nginx, requests: viral },
                [manyNginx]: { server: nginx, requests: popular },
              }),
              'Terse, one link': { server: terse, requests: viral, against: viralNginx },
              [`Terse, ${many}`]: { server: terse, requests: popular, against: manyNginx },
            },
            notes: [
              ...(areShared
                ? [
                    'The load shares the cores with the server, so rates are lower than they could be; CPU is not.',
                  ]
                : []),
              ...(isSupervised ? [] : ['Terse started no workers: one process.']),
            ],
          });
          return { tables: [table] };
        });
      }),
    ),
};
