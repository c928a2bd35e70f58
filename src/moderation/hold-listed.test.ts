import { beforeEach, describe, expect, test } from 'bun:test';
import { fakeActor } from '../accounts/fake-actors.ts';
import { everythingAbout } from '../audit/audit-log.ts';
import { ManualClock } from '../base/clock.ts';
import { announcingStore } from '../links/announcing-store.ts';
import type { Link } from '../links/link.ts';
import { insertItem, sampleLink, samplesStart } from '../links/store-samples.ts';
import { decideLink, holdListed } from './decide.ts';
import { fakeModeration } from './fake-moderation.ts';
import { readQueue } from './queue.ts';
import type { ModerationContext } from './store.ts';

const moderator = fakeActor('acc_mod', { role: 'moderator' });
const url = 'https://evil.example/';
const listing = { url, signal: 'safeBrowsing:malware', reason: 'Safe Browsing lists it.' };

let context: ModerationContext;
let changed: string[];

beforeEach(() => {
  changed = [];
  const { links: memory, reviews, audit } = fakeModeration();
  const store = announcingStore(memory, codes => void changed.push(...codes));
  const links = { store, clock: new ManualClock(samplesStart) };
  context = { links, reviews, audit, reporterKey: new Uint8Array(32) };
});

async function add(overrides: Partial<Link> = {}): Promise<void> {
  await context.links.store.insert([insertItem(sampleLink('abc', { longUrl: url, ...overrides }))]);
}
const stored = async (): Promise<Link> => (await context.links.store.find('abc'))!;
const allow = async (): Promise<Link> =>
  decideLink(context, moderator, 'abc', {
    decision: 'allow',
    reason: 'Seen.',
    version: (await stored()).version,
  });

describe('a link whose destination is listed', () => {
  test('is blocked, announced, recorded as done by Terse itself, and waits for a moderator', async () => {
    await add({ risk: { score: 20, reasons: ['phishingWords'] } });
    expect(await holdListed(context, 'abc', listing)).toBe('held');
    const risk = { score: 100, reasons: ['phishingWords', 'safeBrowsing:malware'] };
    expect(await stored()).toMatchObject({ status: 'blocked', risk, version: 2 });
    expect(changed).toEqual(['abc']);
    const { entries } = await readQueue(context, { limit: 5, cursor: undefined });
    expect(entries.map(({ link }) => link.code)).toEqual(['abc']);
    const page = { limit: 5, cursor: undefined };
    const trail = await context.audit.query(everythingAbout({ kind: 'link', id: 'abc' }, page));
    expect(trail.entries).toMatchObject([
      {
        action: 'link.listed',
        actor: { kind: 'system' },
        before: { status: 'active' },
        reason: listing.reason,
      },
    ]);
  });

  test.each(['active', 'disabled'] as const)(
    'is %s again when a moderator allows it, and stays so',
    async status => {
      await add({ status });
      await holdListed(context, 'abc', listing);
      expect(await allow()).toMatchObject({ status });
      expect(await holdListed(context, 'abc', listing)).toBe('unchanged');
      expect(
        await holdListed(context, 'abc', { ...listing, signal: 'safeBrowsing:social_engineering' }),
      ).toBe('held');
    },
  );

  test.each([
    ['points elsewhere by now', { longUrl: 'https://good.example/' }],
    ['is blocked already', { status: 'blocked' }],
    ['is deleted', { status: 'deleted' }],
  ] as const)('is left alone when it %s', async (_why, overrides) => {
    await add(overrides);
    expect(await holdListed(context, 'abc', listing)).toBe('unchanged');
    expect(await stored()).toMatchObject({ version: 1 });
  });

  test('is left alone when it does not exist', async () => {
    expect(await holdListed(context, 'abc', listing)).toBe('unchanged');
  });
});
