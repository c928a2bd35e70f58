import { beforeEach, describe, expect, test } from 'bun:test';
import { anonymous } from '../accounts/account.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock } from '../base/clock.ts';
import { announcingStore } from '../links/announcing-store.ts';
import type { Link } from '../links/link.ts';
import type { LinkStore } from '../links/store.ts';
import { insertItem, sampleLink, samplesStart } from '../links/store-samples.ts';
import { creationTrace } from '../links/trace.ts';
import { decideLink, decideMany, linksPerCallMax } from './decide.ts';
import { fakeModeration } from './fake-moderation.ts';
import { addNote, readHistory } from './history.ts';
import { readCase, readQueue } from './queue.ts';
import { appealLink, reportLink } from './report.ts';
import { QueueWatch } from './start.ts';
import type { ModerationContext } from './store.ts';

const owner = fakeActor('acc_1');
const stranger = fakeActor('acc_2');
const moderator = fakeActor('acc_mod', { role: 'moderator' });
const reason = 'It imitates a bank.';

let clock: ManualClock;
let context: ModerationContext;
let changed: string[];

beforeEach(() => {
  clock = new ManualClock(samplesStart);
  changed = [];
  const { links: memory, reviews, audit } = fakeModeration();
  const links = {
    store: announcingStore(memory, codes => void changed.push(...codes)),
    clock,
  };
  context = { links, reviews, audit, reporterKey: new Uint8Array(32).fill(1) };
});

async function add(code: string, overrides: Partial<Link> = {}): Promise<Link> {
  const link = sampleLink(code, { createdAt: clock.now(), updatedAt: clock.now(), ...overrides });
  await context.links.store.insert([insertItem(link, { trace: creationTrace(owner, link) })]);
  return link;
}
const stored = async (code: string): Promise<Link> => (await context.links.store.find(code))!;
const queued = async (): Promise<string[]> =>
  (await readQueue(context, { limit: 50, cursor: undefined })).entries.map(({ link }) => link.code);
const decide = async (code: string, decision: 'allow' | 'quarantine' | 'block'): Promise<Link> =>
  decideLink(context, moderator, code, { decision, reason, version: (await stored(code)).version });
const report = (code: string, address = '192.0.2.1', actor = anonymous as typeof owner): Promise<void> =>
  reportLink(context, actor, address, { code, category: 'phishing', text: null });

describe('a decision', () => {
  test.each([
    ['allow', 'active'],
    ['quarantine', 'quarantined'],
    ['block', 'blocked'],
  ] as const)(
    'to %s makes a held link %s, ends its wait, is announced and recorded',
    async (decision, status) => {
      await add('abc', { status: 'quarantined', risk: { score: 70, reasons: ['newDomain'] } });
      clock.advance(1_000);
      expect(await decide('abc', decision)).toMatchObject({ status, version: 2, updatedAt: clock.now() });
      expect(await stored('abc')).toMatchObject({ status, risk: { score: 70, reasons: ['newDomain'] } });
      expect(await queued()).toEqual([]);
      expect(changed).toEqual(['abc']);
      const { history } = await readCase(context, 'abc');
      expect(history.entries[0]).toMatchObject({
        at: clock.now(),
        actor: { kind: 'account', accountId: 'acc_mod', keyId: 'key of acc_mod' },
        action: 'link.decided',
        before: { status: 'quarantined' },
        after: { status, decision },
        reason,
      });
    },
  );

  test('to allow restores the previous status: a link that its owner disabled stays disabled', async () => {
    await add('abc', { status: 'disabled' });
    await decide('abc', 'block');
    await decide('abc', 'quarantine');
    expect(await decide('abc', 'allow')).toMatchObject({ status: 'disabled' });
    await add('plain');
    await decide('plain', 'block');
    expect(await decide('plain', 'allow')).toMatchObject({ status: 'active' });
  });

  test('about an outdated version changes nothing', async () => {
    const link = await add('abc', { status: 'quarantined' });
    const moved = { ...link, longUrl: 'https://evil.example/', version: 2 };
    await context.links.store.replace(moved);
    const late = decideLink(context, moderator, 'abc', { decision: 'allow', reason, version: 1 });
    await expect(late).rejects.toMatchObject({ code: 'edit_conflict', fields: { field: 'version' } });
    expect(await stored('abc')).toEqual(moved);
  });

  test('needs an existing link', async () => {
    await expect(
      decideLink(context, moderator, 'nobody', { decision: 'block', reason, version: 1 }),
    ).rejects.toMatchObject({ code: 'not_found' });
    await add('gone', { status: 'deleted', longUrl: '' });
    await expect(decide('gone', 'allow')).rejects.toMatchObject({ code: 'link_deleted' });
  });
});

describe('a decision about many', () => {
  const decideAll = async (selection: Parameters<typeof decideMany>[2], decision: 'allow' | 'block') => {
    const totals = { decided: 0, unchanged: 0, calls: 0 };
    let cursor: string | undefined;
    do {
      const page = await decideMany(context, moderator, selection, { decision, reason }, cursor);
      expect(page.decided + page.unchanged).toBeLessThanOrEqual(linksPerCallMax);
      totals.decided += page.decided;
      totals.unchanged += page.unchanged;
      totals.calls += 1;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return totals;
  };

  test('reaches all links of an account, in calls of bounded work, and counts them', async () => {
    for (let n = 0; n < linksPerCallMax + 20; n += 1) await add(`c${n}`);
    await add('foreign', { ownerId: 'acc_2' });
    await add('blocked', { status: 'blocked' });
    await decide('blocked', 'block');
    const account = { kind: 'account', id: 'acc_1' } as const;
    expect(await decideAll(account, 'block')).toEqual({ decided: 520, unchanged: 1, calls: 2 });
    expect((await stored('c0')).status).toBe('blocked');
    expect((await stored('foreign')).status).toBe('active');
    expect(await decideAll(account, 'block')).toEqual({ decided: 0, unchanged: 521, calls: 2 });
    expect(await decideAll(account, 'allow')).toMatchObject({ decided: 521 });
    expect((await stored('c0')).status).toBe('active');
  });

  test.each([
    ['of an account', { kind: 'account', id: 'acc_1' }],
    ['to a domain', { kind: 'domain', id: 'evil.example' }],
  ] as const)(
    'reaches links %s that were accepted and not yet stored, and no others',
    async (_, selection) => {
      const waiting = [
        sampleLink('late1', { longUrl: 'https://login.evil.example/', ownerId: 'acc_1' }),
        sampleLink('late2', { longUrl: 'https://good.example/', ownerId: 'acc_2' }),
      ];
      const { store } = context.links;
      const settle: LinkStore['settle'] = async isWanted => {
        const wanted = waiting.filter(isWanted);
        await store.insert(wanted.map(link => insertItem(link)));
        return wanted.length;
      };
      context = { ...context, links: { ...context.links, store: { ...store, settle } } };
      expect(await decideAll(selection, 'block')).toMatchObject({ decided: 1 });
      expect((await stored('late1')).status).toBe('blocked');
      expect(await store.find('late2')).toBeUndefined();
    },
  );

  test('reaches all accounts’ links to a domain, and is recorded in the audit log', async () => {
    await add('evil', { longUrl: 'https://login.evil.example/' });
    await add('other', { longUrl: 'https://evil.example/', ownerId: null });
    await add('good');
    expect(await decideAll({ kind: 'domain', id: 'evil.example' }, 'block')).toMatchObject({ decided: 2 });
    expect([(await stored('evil')).status, (await stored('good')).status]).toEqual(['blocked', 'active']);
    const { entries } = await context.audit.query({
      limit: 10,
      cursor: undefined,
      subjectKinds: ['domain'],
      subjectId: 'evil.example',
      accountId: undefined,
      action: undefined,
      fromMs: undefined,
      toMs: undefined,
    });
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({ reason, after: { decided: 2, unchanged: 0, isComplete: true } });
  });
});

describe('the queue', () => {
  test('shows links with why they wait, and drops deleted ones', async () => {
    await add('mild', { status: 'quarantined', risk: { score: 65, reasons: ['a'] } });
    await add('worst', { status: 'blocked', risk: { score: 95, reasons: ['b'] } });
    await add('purged', { status: 'blocked', risk: { score: 90, reasons: [] }, expiresAt: 5 });
    await context.links.store.purgeExpired(10, 10);
    expect(await queued()).toEqual(['worst', 'mild']);
    expect(await context.reviews.queueAge()).toMatchObject({ waiting: 2 });
  });

  test('reports how long the oldest waits past the five minutes it should take', async () => {
    const watch = new QueueWatch(context.reviews, clock, () => undefined);
    await add('abc', { status: 'quarantined' });
    await watch.read();
    clock.advance(299_000);
    expect([watch.waiting, watch.oldestMs, watch.overdueMs]).toEqual([1, 299_000, 0]);
    clock.advance(31_000);
    expect([watch.oldestMs, watch.overdueMs]).toEqual([330_000, 30_000]);
    await decide('abc', 'allow');
    await watch.read();
    expect([watch.waiting, watch.oldestMs, watch.overdueMs]).toEqual([0, 0, 0]);
    watch.stop();
  });
});

describe('a report', () => {
  test('puts an ordinary link into the queue and changes nothing else about it', async () => {
    const link = await add('abc');
    await report('abc');
    expect(await queued()).toEqual(['abc']);
    expect(await stored('abc')).toEqual(link);
  });

  test('counts once per reporter, link and destination', async () => {
    const link = await add('abc');
    await add('other');
    for (const code of ['abc', 'abc', 'other']) await report(code);
    await report('abc', '192.0.2.2');
    await report('abc', '192.0.2.2', stranger);
    expect((await context.reviews.find('abc'))?.reporters).toBe(3);
    expect((await context.reviews.find('other'))?.reporters).toBe(1);
    await context.links.store.replace({ ...link, longUrl: 'https://evil.example/', version: 2 });
    await report('abc');
    expect((await context.reviews.find('abc'))?.reporters).toBe(4);
  });

  test('keeps no address', async () => {
    await add('abc');
    await report('abc', '203.0.113.77');
    const kept = [await context.reviews.reports('abc'), await context.reviews.find('abc')];
    expect(JSON.stringify(kept)).not.toContain('203.0.113.77');
  });

  test('of a missing link is rejected, and of a blocked link asks for no decision', async () => {
    await expect(report('nobody')).rejects.toMatchObject({ code: 'not_found' });
    await add('blocked');
    await decide('blocked', 'block');
    await report('blocked');
    expect(await queued()).toEqual([]);
  });
});

describe('an appeal', () => {
  test('is only for the owner of a held link', async () => {
    await add('held', { status: 'blocked' });
    await add('free');
    for (const actor of [stranger, anonymous])
      await expect(appealLink(context, actor, 'held', 'Please.')).rejects.toMatchObject({
        code: 'not_found',
      });
    await expect(appealLink(context, owner, 'free', 'Please.')).rejects.toMatchObject({
      code: 'appeal_refused',
    });
    await decide('held', 'block');
    expect(await queued()).toEqual([]);
    await appealLink(context, owner, 'held', 'It is my own shop.');
    expect(await queued()).toEqual(['held']);
    expect((await readCase(context, 'held')).review?.appeal?.text).toBe('It is my own shop.');
    await expect(appealLink(context, owner, 'held', 'Again.')).rejects.toMatchObject({
      code: 'appeal_refused',
    });
    await decide('held', 'allow');
    expect((await stored('held')).status).toBe('active');
  });
});

describe('the history that an owner sees', () => {
  const history = (code: string, actor = owner) =>
    readHistory(context, actor, code, { limit: 50, cursor: undefined });

  test('shows what was decided and why, but not who decided, notes or signals', async () => {
    await add('abc', { status: 'quarantined', risk: { score: 70, reasons: ['secretSignal'] } });
    await addNote(context, moderator, 'abc', 'The same gang as last week.');
    await decide('abc', 'block');
    await appealLink(context, owner, 'abc', 'Please.');
    const { entries } = await history('abc');
    expect(entries.map(({ action, by }) => [action, by])).toEqual([
      ['link.appealed', 'owner'],
      ['link.decided', 'moderation'],
      ['link.created', 'owner'],
    ]);
    expect(entries[1]).toMatchObject({ reason, after: { status: 'blocked', decision: 'block' } });
    expect(JSON.stringify(entries)).not.toMatch(/acc_mod|gang|secretSignal/);
    expect(
      (await readCase(context, 'abc')).history.entries.some(entry => entry.action === 'link.noted'),
    ).toBe(true);
  });

  test('begins with the creation, even where the log has no entry for it', async () => {
    await add('abc');
    expect(await history('abc')).toEqual({
      entries: [
        {
          at: clock.now(),
          action: 'link.created',
          by: 'owner',
          before: null,
          after: null,
          reason: null,
        },
      ],
      nextCursor: undefined,
    });
  });

  test('is hidden from all other accounts', async () => {
    await add('abc');
    for (const code of ['abc', 'nobody'])
      await expect(history(code, stranger)).rejects.toMatchObject({ code: 'not_found' });
  });
});
