import { afterEach, beforeEach, expect, test } from 'bun:test';
import { yieldToEventLoop } from '../../../../base/clock.ts';
import type { LinkView } from '../api/types.ts';
import { ensureLinks, forgetLinks, linkIndex, putLink, reloadLinks, takeLinks } from './links.ts';

const link = (shortCode: string, title = ''): LinkView =>
  ({
    shortCode,
    title,
    shortUrl: `http://localhost/${shortCode}`,
    longUrl: 'https://example.com/',
    tags: [],
    status: 'active',
  }) as unknown as LinkView;

/** A server that answers each request when the test says so. */
const asked: ((page: { links: LinkView[]; nextCursor: string | null }) => Promise<void>)[] = [];
const realFetch = globalThis.fetch;
beforeEach(() => {
  globalThis.fetch = (() =>
    new Promise<Response>(resolve => {
      asked.push(async page => {
        resolve(Response.json(page));
        await yieldToEventLoop();
      });
    })) as unknown as typeof fetch;
});
afterEach(() => {
  globalThis.fetch = realFetch;
  forgetLinks();
  asked.length = 0;
});

const answer = (links: LinkView[], nextCursor: string | null = null): Promise<void> =>
  asked.shift()!({ links, nextCursor });
const shown = (): string[] =>
  linkIndex.get().links.map(({ shortCode, title }) => `${shortCode} ${title}`.trim());

test('a change made while links are read stays, on pages from before and after it', async () => {
  reloadLinks();
  await answer([link('c'), link('b')], 'more');
  putLink(link('b', 'changed'));
  putLink(link('a', 'changed'));
  await answer([link('a')]);
  expect(shown()).toEqual(['c', 'b changed', 'a changed']);
});

test('links created while links are read are not lost, and come newest first', async () => {
  reloadLinks();
  await answer([link('b')], 'more');
  putLink(link('new'));
  putLink(link('newer'));
  await answer([link('a')]);
  expect(shown()).toEqual(['newer', 'new', 'b', 'a']);
});

test('a change made while the newest links are read again stays', async () => {
  reloadLinks();
  await answer([link('a')]);
  ensureLinks();
  putLink(link('a', 'changed'));
  await answer([link('a')]);
  expect(shown()).toEqual(['a changed']);
});

test('a change made before links are read is replaced by the server’s version', async () => {
  reloadLinks();
  await answer([link('a')]);
  putLink(link('a', 'changed here'));
  reloadLinks();
  await answer([link('a', 'changed elsewhere')]);
  expect(shown()).toEqual(['a changed elsewhere']);
});

test('a partial list has the time before which all other links were created', async () => {
  const createdAt = '2026-01-31T12:00:00.000Z';
  reloadLinks();
  while (linkIndex.get().state === 'loading')
    await answer([{ ...link(`x${linkIndex.get().links.length}`), createdAt }], 'more');
  // Others of the same millisecond are not known.
  expect(linkIndex.get()).toMatchObject({ state: 'partial', olderThan: '2026-01-31T12:00:00.001Z' });
});

test('a link removed while links are read stays removed', async () => {
  reloadLinks();
  putLink(link('a', 'changed'));
  takeLinks(['a']);
  await answer([link('b'), link('a')]);
  expect(shown()).toEqual(['b']);
});
