/** Fills the memory that redirects are answered from, and prints what a link took of it. */
import { heapStats } from 'bun:jsc';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { redirectHeaders } from '../../src/http/redirect-headers.ts';
import { type Answer, answerOf } from '../../src/http/wire/answer.ts';
import type { Link } from '../../src/links/link.ts';
import { Horizon } from '../../src/resolve/horizon.ts';
import { Resolver } from '../../src/resolve/resolver.ts';
import type { LinkMemory } from './link-memory.ts';
import { codeAt, linkOf } from './link-of-size.ts';

const [urlBytes = 0, links = 0] = process.argv.slice(2).map(Number);
/** Bring in the code and its buffers, and are forgotten before anything is measured. */
const warmUpLinks = 1_000;

const resolver = new Resolver({
  store: { find: async code => linkOf(Buffer.from(code).toString('latin1'), urlBytes) },
  horizon: new Horizon(() => undefined),
  follower: { isBehind: () => false, catchUp: async () => undefined, provenAtMs: 0 },
  isFollowable: () => true,
  clock: systemClock,
  random: systemRandom,
  entriesMax: links,
  ttlMs: Number.MAX_SAFE_INTEGER,
  negativeTtlMs: 1_000,
});
const answers = new WeakMap<Link, Answer>();

async function follow(code: string): Promise<void> {
  const link = (await resolver.resolve(code))!;
  const redirect = { status: link.redirectType, location: link.longUrl, link };
  const headers = redirectHeaders(redirect, systemClock.now(), {
    edgeTtlS: 0,
    edgeClicks: 'log',
    robots: 'noindex',
  });
  answers.set(link, answerOf(link.redirectType, headers, ''));
}

function used(): LinkMemory {
  Bun.gc(true);
  const { heapSize, extraMemorySize } = heapStats();
  return { heapBytes: heapSize + extraMemorySize, residentBytes: process.memoryUsage().rss };
}

for (let index = 0; index < warmUpLinks; index += 1) await follow(codeAt(links + index));
resolver.flush();
const before = used();
for (let index = 0; index < links; index += 1) await follow(codeAt(index));
const after = used();
if (resolver.size !== links) throw new Error('links were forgotten while their size was taken');
const each: LinkMemory = {
  heapBytes: (after.heapBytes - before.heapBytes) / links,
  residentBytes: (after.residentBytes - before.residentBytes) / links,
};
process.stdout.write(JSON.stringify(each));
