/** A scan: codes that were never issued, which an attacker guesses, and paths that are no codes at all. */
import { join } from 'node:path';
import { seededRandom } from '../../src/base/random.ts';
import { encodeBase62 } from '../../src/codes/base62.ts';
import { contest } from '../kit/contest.ts';
import type { Scenario } from '../kit/scenario.ts';
import { createLinks, targetsOf, visitCount, visitOf } from '../kit/visits.ts';

const visitors = 64;
const linkCount = 10_000;
const codeLength = 7;
const codeSpace = 62 ** codeLength;
const malformedPaths = [
  'wp-login.php',
  '.env',
  'a/b/c',
  'not!a!code',
  '%C0%AF',
  'caf%C3%A9',
  'x'.repeat(200),
  `${'long-'.repeat(100)}end`,
];

export const missing: Scenario = {
  name: 'missing',
  summary: 'a scan of codes that were never issued, and of paths that are none',
  run: bench =>
    bench.inFolder(folder =>
      bench.withTerse({ dataFolder: join(folder, 'terse') }, async terse => {
        const links = await createLinks(terse.url, linkCount);
        const random = seededRandom(404);
        const guesses = Array.from({ length: visitCount(bench.options) }, () =>
          visitOf(encodeBase62(Math.floor(random.float() * codeSpace), codeLength)),
        );
        const malformed = malformedPaths.map(path => visitOf(path));
        await requireMissing(terse.url);
        return bench.withNginx({ folder: join(folder, 'nginx'), targets: targetsOf(links) }, async nginx => {
          const answers = 'refused';
          const [guessNginx, malformedNginx] = ['nginx, never issued', 'nginx, malformed'];
          const table = await contest(bench, {
            title: `Answers of 404, one core, ${visitors} visitors`,
            connections: visitors,
            contenders: {
              ...(nginx !== undefined && {
                [guessNginx]: { server: nginx, requests: guesses, answers },
                [malformedNginx]: { server: nginx, requests: malformed, answers },
              }),
              'Terse, never issued': { server: terse, requests: guesses, answers, against: guessNginx },
              'Terse, malformed': { server: terse, requests: malformed, answers, against: malformedNginx },
            },
            notes: ['A guess hits one of the links in one of 350 million tries.'],
          });
          return { tables: [table] };
        });
      }),
    ),
};

async function requireMissing(url: string): Promise<void> {
  for (const path of malformedPaths) {
    const { status } = await fetch(`${url}/${path}`, { redirect: 'manual' });
    if (status !== 404) throw new Error(`/${path} got ${status}, which is no 404`);
  }
}
