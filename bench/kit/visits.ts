/** Links to visit, and visits to them as requests: one browser, one code after the other. */
import { seededRandom } from '../../src/base/random.ts';
import { agentSamples } from '../../src/clicks/steps/agent-samples.ts';
import { callerOf } from '../../test/kit/client.ts';
import { type FilledStore, longUrlAt } from './filled-store.ts';
import { getRequest } from './load.ts';
import type { BenchOptions } from './options.ts';
import { zipfTrace } from './zipf.ts';

const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0';

export const visitOf = (code: string, headers: Readonly<Record<string, string>> = {}): string =>
  getRequest(`/${code}`, { 'User-Agent': browser, Accept: '*/*', ...headers });

/** Links in the order of their popularity. */
export type Links = Pick<FilledStore, 'links' | 'codeAt'>;

/** A list of visits is sent over and over, and should not repeat within a turn of load. */
const visitsPerSecondMax = 150_000;
const visitsMax = 1_000_000;

export function visitCount({ seconds }: Pick<BenchOptions, 'seconds'>): number {
  return Math.min(visitsMax, seconds * visitsPerSecondMax);
}

/** Realistic popularity: the n-th link is visited in proportion to 1/n. */
export function zipfVisits({ links, codeAt }: Links, count: number): string[] {
  const ranks = zipfTrace(links, 1, count, seededRandom(links));
  return Array.from(ranks, rank => visitOf(codeAt(rank)));
}

/** The same popularity, with people and bots of all kinds, from addresses in `X-Forwarded-For`. */
export function mixedVisits({ links, codeAt }: Links, count: number): string[] {
  const random = seededRandom(links);
  const ranks = zipfTrace(links, 1, count, random);
  const octet = (): number => 1 + Math.floor(random.float() * 222);
  return Array.from(ranks, (rank, turn) =>
    visitOf(codeAt(rank), {
      'User-Agent': agentSamples[turn % agentSamples.length]!.userAgent,
      'X-Forwarded-For': `${octet()}.${octet()}.${octet()}.${octet()}`,
      ...(turn % 3 === 0 && { Referer: `https://site-${turn % 200}.example/` }),
    }),
  );
}

/** All links equally often. */
export function uniformVisits({ links, codeAt }: Links, count: number, seed: number): string[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => visitOf(codeAt(Math.floor(random.float() * links))));
}

/** For nginx: the destinations of the first links. */
export function* targetsOf({ links, codeAt }: Links, max = Number.POSITIVE_INFINITY) {
  for (let index = 0; index < Math.min(links, max); index += 1) {
    yield [codeAt(index), longUrlAt(index)] as const;
  }
}

const bulkMax = 10_000;

/** Creates links through the API, in an empty Terse. */
export async function createLinks(url: string, count: number): Promise<Links> {
  const codes: string[] = [];
  while (codes.length < count) {
    const links = Array.from({ length: Math.min(bulkMax, count - codes.length) }, (_, item) => ({
      longUrl: longUrlAt(codes.length + item),
    }));
    const { status, body } = await callerOf(url)('POST', '/api/v1/links/bulk', { body: { links } });
    if (status !== 200) throw new Error(`a bulk call got ${status}: ${JSON.stringify(body)}`);
    codes.push(...body.results.map((result: { link: { shortCode: string } }) => result.link.shortCode));
  }
  return { links: count, codeAt: index => codes[index]! };
}
