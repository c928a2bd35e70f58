import { describe, expect, test } from 'bun:test';
import type { LinkView } from '../api/types.ts';
import { findLinks, tagsOf } from './find.ts';
import { switchesOf } from './link-form.ts';

const link = (shortCode: string, fields: Partial<LinkView> = {}): LinkView => ({
  shortCode,
  shortUrl: `https://terse.example/${shortCode}`,
  longUrl: `https://example.com/${shortCode}`,
  status: 'active',
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: null,
  title: null,
  tags: [],
  redirectType: 302,
  ...switchesOf(() => false),
  statsTokensFrom: null,
  maxClicks: null,
  usedClicks: 0,
  clicks: 0,
  custom: true,
  ...fields,
});
const everything = { search: '', status: undefined, tag: undefined, sort: 'newest' } as const;
const codes = (found: readonly LinkView[]): string[] => found.map(({ shortCode }) => shortCode);

describe('finding links', () => {
  const links = [
    link('spring', { title: 'Spring Offer', tags: ['shop'], createdAt: '2026-03-01T00:00:00.000Z' }),
    link('talk', { longUrl: 'https://conf.example/Talks', createdAt: '2026-02-01T00:00:00.000Z' }),
    link('old', { status: 'disabled', tags: ['shop'], updatedAt: '2026-05-01T00:00:00.000Z' }),
  ];
  const find = (finding: Partial<Parameters<typeof findLinks>[1]>, clicks: Record<string, number> = {}) =>
    codes(findLinks(links, { ...everything, ...finding }, ({ shortCode }) => clicks[shortCode] ?? 0));

  test('a word may stand in the code, the title, the destination or a tag, in any case', () => {
    expect(find({ search: 'OFFER' })).toEqual(['spring']);
    expect(find({ search: 'talks' })).toEqual(['talk']);
    expect(find({ search: 'shop' })).toEqual(['spring', 'old']);
  });

  test('a link must have all words, each in any of these places', () => {
    expect(find({ search: 'shop offer' })).toEqual(['spring']);
    expect(find({ search: 'shop talk' })).toEqual([]);
  });

  test('filters narrow the result', () => {
    expect(find({ status: 'disabled' })).toEqual(['old']);
    expect(find({ tag: 'shop', status: 'active' })).toEqual(['spring']);
  });

  test('every order sorts as its name says', () => {
    expect(find({ sort: 'newest' })).toEqual(['spring', 'talk', 'old']);
    expect(find({ sort: 'oldest' })).toEqual(['old', 'talk', 'spring']);
    expect(find({ sort: 'edited' })[0]).toBe('old');
    expect(find({ sort: 'title' })).toEqual(['old', 'spring', 'talk']);
    expect(find({ sort: 'clicks' }, { talk: 9, old: 3 })).toEqual(['talk', 'old', 'spring']);
  });

  test('the given list is not changed', () => {
    find({ sort: 'oldest' });
    expect(codes(links)).toEqual(['spring', 'talk', 'old']);
  });

  test('tags are listed by how much they are used', () => {
    expect(tagsOf([...links, link('x', { tags: ['rare'] })])).toEqual([
      ['shop', 2],
      ['rare', 1],
    ]);
  });
});
