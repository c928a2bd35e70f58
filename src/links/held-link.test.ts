import { beforeEach, describe, expect, test } from 'bun:test';
import { allowEveryUrl } from '../abuse/judge.ts';
import { createUrlPolicy } from '../abuse/url-policy.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock } from '../base/clock.ts';
import type { LinkContext } from './context.ts';
import { insertItem, sampleLink } from './store-samples.ts';
import { createMemoryStore } from './stores/memory.ts';
import type { LinkTrace } from './trace.ts';
import { removeLink, updateLink } from './update.ts';

const owner = fakeActor('acc_1');
const admin = fakeActor('acc_0', { role: 'admin' });
const risk = { score: 90, reasons: ['newDomain'] };

describe.each(['quarantined', 'blocked'] as const)('the owner of a %s link', status => {
  let context: LinkContext;
  let traces: LinkTrace[];

  beforeEach(async () => {
    traces = [];
    const store = createMemoryStore(async trace => {
      traces.push(trace);
      return [];
    });
    await store.insert([insertItem(sampleLink('held', { status, risk }))]);
    context = {
      store,
      clock: new ManualClock(),
      urlPolicy: createUrlPolicy({ ownHosts: [] }),
      judgeUrl: allowEveryUrl,
    } as Partial<LinkContext> as LinkContext;
  });
  const stored = () => context.store.find('held');

  test.each(['active', 'disabled'] as const)(
    'cannot make it %s, and no admin can by an edit',
    async wanted => {
      for (const actor of [owner, admin]) {
        const lift = updateLink(context, actor, 'held', { status: wanted, title: 'lifted' });
        await expect(lift).rejects.toMatchObject({ code: 'link_held', fields: { field: 'status' } });
      }
      expect(await stored()).toMatchObject({ status, title: null, version: 1 });
      expect(traces).toEqual([]);
    },
  );

  test('may edit it, and fields that are not named stay as they are', async () => {
    const edited = await updateLink(context, owner, 'held', { title: 'T', statusElse: 'active' });
    expect(edited).toMatchObject({ status, risk, title: 'T' });
    expect(traces.map(({ review }) => review)).toEqual([undefined]);
  });

  test('may change its destination, which does not release it and requests a new decision', async () => {
    const edited = await updateLink(context, owner, 'held', { longUrl: 'https://harmless.example/' });
    expect(edited).toMatchObject({ status, longUrl: 'https://harmless.example/' });
    expect(traces).toMatchObject([{ review: { kind: 'open', code: 'held' } }]);
  });

  test('may delete it, which leaves nothing to decide', async () => {
    await removeLink(context, owner, 'held');
    expect(await stored()).toMatchObject({ status: 'deleted', risk: null });
    expect(traces).toMatchObject([{ review: { kind: 'close', isHeld: false } }]);
  });
});
