import { beforeEach, describe, expect, test } from 'bun:test';
import { allowEveryUrl, type UrlToJudge } from '../abuse/judge.ts';
import { createUrlPolicy } from '../abuse/url-policy.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { announcingStore } from './announcing-store.ts';
import type { LinkContext } from './context.ts';
import type { Link } from './link.ts';
import type { LinkStore } from './store.ts';
import { insertItem, sampleLink } from './store-samples.ts';
import { createMemoryStore } from './stores/memory.ts';
import type { LinkTrace } from './trace.ts';
import { type EditResult, removeLinks, selectLinks, updateLinks } from './update.ts';

const owner = fakeActor('acc_1');
const admin = fakeActor('acc_0', { role: 'admin' });

let store: LinkStore;
let traces: LinkTrace[];
let announced: string[];
let judged: UrlToJudge[];
beforeEach(() => {
  traces = [];
  announced = [];
  judged = [];
  const memory = createMemoryStore(async trace => {
    traces.push(trace);
    return [];
  });
  store = announcingStore(memory, codes => void announced.push(...codes));
});

const contextWith = (overrides: Partial<LinkContext> = {}): LinkContext =>
  ({
    store,
    clock: new ManualClock(),
    urlPolicy: createUrlPolicy({ ownHosts: ['sho.rt'] }),
    judgeUrl: async destination => {
      judged.push(destination);
      return allowEveryUrl(destination);
    },
    ...overrides,
  }) as Partial<LinkContext> as LinkContext;
const insert = (...links: Link[]) => store.insert(links.map(link => insertItem(link)));
const numbered = (count: number): Link[] => Array.from({ length: count }, (_, n) => sampleLink(`c${n}`));
const codesOf = (links: readonly Link[]): string[] => links.map(({ code }) => code);
const outcome = (result: EditResult): string => (result instanceof Problem ? result.code : result.status);

describe('many links', () => {
  const mixed = ['b', 'foreign', 'gone', 'unknown', 'not a code!', 'a', 'b', 'held'];
  beforeEach(async () => {
    await insert(
      sampleLink('a'),
      sampleLink('b'),
      sampleLink('foreign', { ownerId: 'acc_2' }),
      sampleLink('gone', { status: 'deleted', longUrl: '' }),
      sampleLink('held', { status: 'quarantined' }),
    );
    announced = [];
  });

  test('are changed each by the rules of a single edit, in the order of their codes', async () => {
    const results = await updateLinks(contextWith(), owner, mixed, { status: 'disabled', title: 'T' });
    expect(results.map(outcome)).toEqual([
      'disabled',
      'not_found',
      'link_deleted',
      'not_found',
      'not_found',
      'disabled',
      'disabled',
      'link_held',
    ]);
    expect(results[0]).toBe(results[6]!);
    expect(await store.find('b')).toMatchObject({ status: 'disabled', title: 'T', version: 2 });
    expect(await store.find('foreign')).toMatchObject({ status: 'active', version: 1 });
    expect(await store.find('held')).toMatchObject({ status: 'quarantined', title: null });
    expect(announced.toSorted()).toEqual(['a', 'b']);
    expect(traces.map(({ audit }) => [audit.action, audit.subject.id])).toEqual([
      ['link.updated', 'b'],
      ['link.updated', 'a'],
    ]);
  });

  test('are deleted in the same way, also those that moderation holds', async () => {
    const results = await removeLinks(contextWith(), owner, mixed);
    expect(results.map(outcome)).toEqual([
      'deleted',
      'not_found',
      'link_deleted',
      'not_found',
      'not_found',
      'deleted',
      'deleted',
      'deleted',
    ]);
    expect(await store.find('a')).toMatchObject({ status: 'deleted', longUrl: '' });
    expect(announced.toSorted()).toEqual(['a', 'b', 'held']);
    expect(traces.map(({ audit }) => audit.action)).toEqual(['link.deleted', 'link.deleted', 'link.deleted']);
    expect((await removeLinks(contextWith(), owner, ['a'])).map(outcome)).toEqual(['link_deleted']);
  });

  test('of all owners can be changed by an admin', async () => {
    const results = await updateLinks(contextWith(), admin, ['foreign', 'a'], { title: 'T' });
    expect(results.map(outcome)).toEqual(['active', 'active']);
  });

  test('get a new destination that is judged once, with their number', async () => {
    const change = { longUrl: 'https://new.example/' };
    const results = await updateLinks(contextWith(), owner, ['a', 'b', 'held'], change);
    expect(results.map(outcome)).toEqual(['active', 'active', 'quarantined']);
    expect(judged).toMatchObject([{ url: 'https://new.example/', maker: { items: 3, isChange: true } }]);
    expect((await store.find('a'))?.longUrl).toBe('https://new.example/');
  });

  test('of which one has the bad destination already are all rejected, except that one', async () => {
    const judgeUrl = async () =>
      ({ verdict: 'refuse', score: 100, reasons: [], refusal: undefined }) as never;
    const change = { longUrl: 'https://example.com/a', title: 'T' };
    const results = await updateLinks(contextWith({ judgeUrl }), owner, ['a', 'b'], change);
    expect(results.map(outcome)).toEqual(['active', 'url_blocked']);
    expect(await store.find('b')).toMatchObject({ longUrl: 'https://example.com/b', version: 1 });
  });

  test.each([
    [{ longUrl: 'https://sho.rt/x' }, 'invalid_url'],
    [{ expiresAt: 0 }, 'invalid_expiry'],
  ] as const)('are all left alone when no link can be changed to %p', async (change, code) => {
    const edit = async () => updateLinks(contextWith(), owner, ['a', 'b'], change);
    await expect(edit()).rejects.toMatchObject({ code });
    expect(announced).toEqual([]);
  });
});

test('links are written together, a bounded number at a time', async () => {
  const links = numbered(250);
  await insert(...links);
  const waiting: (() => void)[] = [];
  const sizes: number[] = [];
  const replace: LinkStore['replace'] = async (link, trace) => {
    if (waiting.length === 0) {
      void yieldToEventLoop().then(() => {
        sizes.push(waiting.length);
        for (const go of waiting.splice(0)) go();
      });
    }
    await new Promise<void>(resolve => waiting.push(resolve));
    return store.replace(link, trace);
  };
  const context = contextWith({ store: { ...store, replace } });
  const results = await updateLinks(context, owner, codesOf(links), { title: 'T' });
  expect(results.filter(result => result instanceof Problem)).toEqual([]);
  expect(sizes).toEqual([100, 100, 50]);
});

test('an edit that another one overtakes is applied on top of it', async () => {
  await insert(sampleLink('raced'));
  let isFirst = true;
  const replace: LinkStore['replace'] = async (link, trace) => {
    if (isFirst) {
      isFirst = false;
      await store.replace(sampleLink('raced', { title: 'other', version: 2 }));
    }
    return store.replace(link, trace);
  };
  const context = contextWith({ store: { ...store, replace } });
  const [result] = await updateLinks(context, owner, ['raced'], { tags: ['x'] });
  expect(result).toMatchObject({ title: 'other', tags: ['x'], version: 3 });
});

describe('when the store fails', () => {
  const failingAfter = (count: number) => {
    let calls = 0;
    const replace: LinkStore['replace'] = async (link, trace) => {
      calls += 1;
      if (calls > count) throw new Problem('store_unavailable');
      return store.replace(link, trace);
    };
    return { context: contextWith({ store: { ...store, replace } }), calls: () => calls };
  };

  test('the answer says which links were changed, and the rest is not tried', async () => {
    const links = numbered(1_000);
    await insert(...links);
    const { context, calls } = failingAfter(150);
    const results = await updateLinks(context, owner, codesOf(links), { title: 'T' });
    expect(results.slice(0, 150).map(outcome)).toEqual(Array(150).fill('active'));
    expect(results.slice(150).map(outcome)).toEqual(Array(850).fill('store_unavailable'));
    expect(calls()).toBe(200);
    const outcomes = results.slice(150).map(result => (result as Problem).outcome);
    expect(outcomes).toEqual([...Array(50).fill('unknown'), ...Array(800).fill('none')]);
  });

  test('an edit that may have been made makes the outcome of the whole call unknown', async () => {
    await insert(...numbered(3));
    const outcomes = ['none', 'unknown', 'none'] as const;
    let calls = 0;
    const replace = () => Promise.reject(new Problem('store_unavailable', { outcome: outcomes[calls++]! }));
    const context = contextWith({ store: { ...store, replace } });
    await expect(removeLinks(context, owner, ['c0', 'c1', 'c2'])).rejects.toMatchObject({
      outcome: 'unknown',
    });
  });

  test('at once, the whole call is rejected', async () => {
    await insert(...numbered(3));
    const { context } = failingAfter(0);
    await expect(removeLinks(context, owner, ['c0', 'c1', 'c2'])).rejects.toMatchObject({
      code: 'store_unavailable',
    });
  });
});

test('a filter reaches each link once, call by call, although changed links no longer match', async () => {
  const links = numbered(1_234).map((link, n) => ({ ...link, tags: n % 2 === 0 ? ['x'] : [] }));
  await insert(...links, sampleLink('foreign', { ownerId: 'acc_2', tags: ['x'] }));
  const context = contextWith();
  const reached: string[] = [];
  const sizes: number[] = [];
  let cursor: string | undefined;
  do {
    const filter = { tag: 'x', state: 'active' } as const;
    const selection = await selectLinks(context, owner, filter, { limit: 300, cursor });
    await updateLinks(context, owner, selection.codes, { status: 'disabled' });
    reached.push(...selection.codes);
    sizes.push(selection.codes.length);
    cursor = selection.nextCursor;
  } while (cursor !== undefined);
  const wanted = links.filter(({ tags }) => tags.length > 0).map(({ code }) => code);
  expect(reached).toEqual(wanted.reverse());
  expect(sizes).toEqual([300, 300, 17]);
});

test('a selection that takes too long ends with a cursor', async () => {
  const clock = new ManualClock();
  const list = async () => {
    clock.advance(1_000);
    return { links: [], nextCursor: 'further' };
  };
  const context = contextWith({ clock, store: { ...store, list } });
  expect(await selectLinks(context, owner, {}, { limit: 10, cursor: undefined })).toEqual({
    codes: [],
    nextCursor: 'further',
  });
});

describe('tags', () => {
  test('are added to and removed from those that each link has', async () => {
    await insert(sampleLink('a', { tags: ['x', 'y'] }), sampleLink('b', { tags: [] }));
    const tagsOf = async (change: object): Promise<unknown> =>
      (await updateLinks(contextWith(), owner, ['a', 'b'], change)).map(result => (result as Link).tags);
    expect(await tagsOf({ addTags: ['y', 'z'], removeTags: ['x'] })).toEqual([
      ['y', 'z'],
      ['y', 'z'],
    ]);
    expect(await tagsOf({ tags: ['m'], addTags: ['n'] })).toEqual([
      ['m', 'n'],
      ['m', 'n'],
    ]);
  });

  test('of a link are at most twenty, and others are changed all the same', async () => {
    const many = Array.from({ length: 20 }, (_, n) => `t${n}`);
    await insert(sampleLink('full', { tags: many }), sampleLink('b'));
    const results = await updateLinks(contextWith(), owner, ['full', 'b'], { addTags: ['more'] });
    expect(results.map(outcome)).toEqual(['invalid_request', 'active']);
    expect((await store.find('full'))?.tags).toEqual(many);
  });
});
