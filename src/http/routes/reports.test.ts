import { expect, test } from 'bun:test';
import { anonymous } from '../../accounts/account.ts';
import { ManualClock } from '../../base/clock.ts';
import { sampleLink } from '../../links/store-samples.ts';
import { fakeModeration } from '../../moderation/fake-moderation.ts';
import type { ModerationContext } from '../../moderation/store.ts';
import { RequestSpelling } from '../spellings.ts';
import { reportRoutes } from './reports.ts';

test('all addresses of one IPv6 customer are one reporter', async () => {
  const { reviews, audit } = fakeModeration();
  const store = { find: async (code: string) => sampleLink(code) };
  const links = { store, clock: new ManualClock() } as unknown as ModerationContext['links'];
  const moderation = { links, reviews, audit, reporterKey: new Uint8Array(32) };
  const reportFrom = async (address: string): Promise<void> => {
    const route = reportRoutes({ moderation, addressOf: () => address }).find(
      ({ name }) => name === 'reportLink',
    )!;
    await route.handle({
      params: {},
      query: undefined,
      body: { shortCode: 'bad', category: 'spam' },
      actor: anonymous,
      identifyAgain: async () => anonymous,
      spelling: new RequestSpelling('/'),
      request: new Request('http://localhost/'),
    });
  };
  for (const address of ['2001:db8::1', '2001:db8::2', '2001:db8:0:1:ffff::3']) await reportFrom(address);
  expect(await reviews.find('bad')).toMatchObject({ reporters: 1 });
  for (const address of ['2001:db8:1::1', '203.0.113.9']) await reportFrom(address);
  expect(await reviews.find('bad')).toMatchObject({ reporters: 3 });
});
