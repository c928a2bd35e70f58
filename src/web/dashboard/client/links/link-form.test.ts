import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { LinkView } from '../api/types.ts';
import {
  changesOf,
  draftOf,
  expiryOf,
  fieldsOf,
  keepDraft,
  lacksMoment,
  newDraft,
  readDraft,
  readUtm,
  switchesOf,
  withUtm,
} from './link-form.ts';

const link: LinkView = {
  shortCode: 'spring',
  shortUrl: 'https://terse.example/spring',
  longUrl: 'https://example.com/',
  status: 'active',
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2030-01-31T12:00:42.000Z',
  title: 'Spring',
  tags: ['shop'],
  redirectType: 302,
  ...switchesOf(() => false),
  statsTokensFrom: null,
  maxClicks: null,
  usedClicks: 0,
  clicks: 0,
  custom: true,
};

describe('the form of a link', () => {
  test('a new link sends what was filled in; a bare host gets its scheme', () => {
    expect(fieldsOf({ ...newDraft('example.com/path'), alias: ' spring ' })).toMatchObject({
      longUrl: 'https://example.com/path',
      customAlias: 'spring',
      expiresAt: null,
    });
    expect(Object.keys(fieldsOf(newDraft('https://example.com/')))).not.toContain('title');
  });

  test('an edit that changes nothing sends nothing, not even the seconds of an expiry', () => {
    expect(changesOf(draftOf(link), link)).toEqual({});
  });

  test('an edit sends only what differs', () => {
    const draft = { ...draftOf(link), title: '', tags: ['shop', 'new'], expiry: 'never' as const };
    expect(changesOf(draft, link)).toEqual({ title: null, tags: ['shop', 'new'], expiresAt: null });
  });
});

describe('an expiry', () => {
  const nowMs = Date.UTC(2026, 0, 1);
  test('is never, a preset, or a custom time', () => {
    expect(expiryOf('never', '', nowMs)).toBeNull();
    expect(expiryOf('week', '', nowMs)).toBe('2026-01-08T00:00:00.000Z');
    expect(Date.parse(expiryOf('custom', '2027-02-03T04:05', nowMs)!)).toBe(
      new Date(2027, 1, 3, 4, 5).getTime(),
    );
  });
  test('that is incomplete is undefined, which does not mean never', () => {
    expect(expiryOf('custom', '', nowMs)).toBeUndefined();
    const draft = { ...draftOf(link), expiryMoment: '' };
    expect(lacksMoment(draft)).toBe(true);
    expect(changesOf(draft, link)).toEqual({});
    expect(lacksMoment(draftOf(link))).toBe(false);
  });
});

describe('a draft that was kept', () => {
  const kept = new Map<string, string>();
  const before = globalThis.sessionStorage;
  beforeAll(() => {
    globalThis.sessionStorage = {
      getItem: (name: string) => kept.get(name) ?? null,
      setItem: (name: string, text: string) => void kept.set(name, text),
      removeItem: (name: string) => void kept.delete(name),
    } as unknown as Storage;
  });
  afterAll(() => {
    globalThis.sessionStorage = before;
  });

  test('has the user’s changes, on top of what others have changed since', () => {
    const start = draftOf(link);
    keepDraft('edit', { ...start, title: 'Mine' }, start);
    const now = { ...link, longUrl: 'https://example.com/moved', tags: ['theirs'] };
    const restored = readDraft('edit', draftOf(now))!;
    expect(changesOf(restored, now)).toEqual({ title: 'Mine' });
    keepDraft('edit', start, start);
    expect(readDraft('edit', start)).toBeUndefined();
  });
});

describe('campaign parameters', () => {
  test('are read from the destination and written into it, and the rest stays', () => {
    const address = withUtm('https://example.com/?a=1#end', 'source', 'news letter');
    expect(address).toBe('https://example.com/?a=1&utm_source=news+letter#end');
    expect(readUtm(address).source).toBe('news letter');
    expect(withUtm(address, 'source', '')).toBe('https://example.com/?a=1#end');
  });
  test('do not change a text that is no address yet', () => {
    expect(withUtm('exam', 'source', 'x')).toBe('exam');
  });
});
