/**
 * Checks a fleet of processes: which links it serves, which changes it obeys, and when it has recovered from an outage.
 */
import { expect } from 'bun:test';
import { callerOf } from './client.ts';
import { follow, metricOf } from './follow.ts';
import type { HotLink } from './hot-visitors.ts';
import { makeVictims } from './kills.ts';
import type { Fleet } from './outage-fleet.ts';
import { scrapeAt } from './scraped.ts';
import { until } from './until.ts';

export interface Victims {
  readonly disabled: HotLink;
  readonly edited: HotLink;
}

const editedUrl = 'https://example.com/after';

/** Disables one link and edits another, and waits until every process obeys. */
export async function changeVictims(fleet: Fleet): Promise<readonly Victims[]> {
  const call = callerOf(fleet.urls[0]!);
  const [disabled, edited] = await makeVictims(call, 2);
  for (const url of fleet.urls) await until('warm links', async () => leadAll(url, [disabled!, edited!]));
  const answers = await Promise.all([
    call('PATCH', `/api/v1/links/${disabled!.code}`, { body: { status: 'disabled' } }),
    call('PATCH', `/api/v1/links/${edited!.code}`, { body: { longUrl: editedUrl } }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const victims = [{ disabled: disabled!, edited: edited! }];
  await until('every process to know', async () => (await areRight(fleet, victims)).length === 0);
  return victims;
}

/** Describes the links that do not have their change, by process. */
async function areRight(fleet: Fleet, victims: readonly Victims[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const url of fleet.urls) {
    for (const { disabled, edited } of victims) {
      const [off, moved] = await Promise.all([follow(url, disabled.code), follow(url, edited.code)]);
      if (off.status !== 410) wrong.push(`disabled: ${off.status} ${off.location}`);
      if (moved.status !== 302 || moved.location !== editedUrl)
        wrong.push(`edited: ${moved.status} ${moved.location}`);
    }
  }
  return wrong;
}

/** Visits the changed links for a while; returns visits that led to an old destination. */
export async function watchVictims(
  fleet: Fleet,
  victims: readonly Victims[],
  forMs: number,
): Promise<string[]> {
  const untilMs = performance.now() + forMs;
  const misdirected: string[] = [];
  const all = victims.flatMap(({ disabled, edited }) => [disabled, edited]);
  const watching = fleet.urls.flatMap((url, process) =>
    all.map(async ({ code, longUrl }) => {
      while (performance.now() < untilMs) {
        if ((await follow(url, code)).location === longUrl) misdirected.push(`process ${process}: ${code}`);
        await Bun.sleep(250);
      }
    }),
  );
  // Watch for the whole time, even if every visit is answered late.
  await Promise.all([...watching, Bun.sleep(forMs)]);
  return misdirected;
}

/** The links that do not lead where they should. */
export async function notLeading(url: string, some: readonly HotLink[]): Promise<string[]> {
  const answers = await Promise.all(some.map(({ code }) => follow(url, code)));
  return answers.flatMap(({ status, location }, n) =>
    status === 302 && location === some[n]!.longUrl ? [] : `${some[n]!.code}: ${status} ${location}`,
  );
}

const leadAll = async (url: string, some: readonly HotLink[]): Promise<boolean> =>
  (await notLeading(url, some)).length === 0;

export const isolatedOf = (fleet: Fleet): Promise<number[]> =>
  Promise.all(fleet.urls.map(async url => (await scrapeAt(url)).total('terse_isolated') ?? Number.NaN));

export const untilTrusted = (fleet: Fleet): Promise<void> =>
  until('trust in Redis', async () => {
    const trusted = await Promise.all(fleet.urls.map(url => metricOf(url, 'terse_shared_cache_trusted')));
    return trusted.every(value => value === 1);
  });

/**
 * Waits until every process creates links, follows unknown ones, obeys a new kill, and has the changes from before the
 * outage. Returns how many seconds that took.
 */
export async function untilWell(fleet: Fleet, victims: readonly Victims[]): Promise<number> {
  const startedMs = performance.now();
  for (const [n, url] of fleet.urls.entries()) {
    const elsewhere = fleet.urls[(n + 1) % fleet.urls.length]!;
    let code = '';
    const longUrl = `https://example.com/cold/${n}`;
    await until('a create', async () => {
      const { status, body } = await callerOf(url)('POST', '/api/v1/links', { body: { longUrl } });
      if (status === 201) code = body.shortCode;
      return status === 201;
    });
    await until('a cold redirect', async () => (await follow(elsewhere, code)).location === longUrl);
  }
  const tookS = (performance.now() - startedMs) / 1_000;
  await until('the changes of before', async () => (await areRight(fleet, victims)).length === 0);
  await untilTrusted(fleet);
  const fresh = await changeVictims(fleet);
  expect(await watchVictims(fleet, fresh, 300)).toEqual([]);
  return tookS;
}
