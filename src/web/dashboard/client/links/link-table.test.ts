import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { LinkView } from '../api/types.ts';
import { callsOf, csvOf, importMax, linksAsCsv, linksAsJson, readTable } from './link-table.ts';

const fieldsOf = (text: string) => readTable(text).map(({ fields }) => fields);
const problemsOf = (text: string) => readTable(text).map(({ problem }) => problem);

describe('a pasted text', () => {
  test('may be addresses, one per line, with commas in them', () => {
    expect(fieldsOf('https://a.example/?x=1,2\n\n  b.example/y;z \r\nhttps://c.example\n')).toEqual([
      { longUrl: 'https://a.example/?x=1,2' },
      { longUrl: 'https://b.example/y;z' },
      { longUrl: 'https://c.example' },
    ]);
  });

  test.each([',', ';', '\t'])('may be a table with a row of names, separated by %j', separator => {
    const row = (...cells: string[]): string => cells.join(separator);
    const text = [
      row('Title', 'URL', 'Alias', 'Expires at', 'Tags', 'Something else'),
      row('"A ""big"" one"', 'https://a.example/', 'big', '2999-01-31', '"x, long tag"', '?'),
      row('', 'https://b.example/', '', '', '', ''),
    ].join('\r\n');
    expect(fieldsOf(`\uFEFF${text}`)).toEqual([
      {
        longUrl: 'https://a.example/',
        customAlias: 'big',
        title: 'A "big" one',
        tags: ['x', 'long tag'],
        expiresAt: new Date(2999, 0, 31).toISOString(),
      },
      { longUrl: 'https://b.example/' },
    ]);
  });

  test('may be cells of a spreadsheet without names: address, alias, title, tags, expiry', () => {
    expect(fieldsOf('https://a.example/\tbig\tTitle\tx')).toEqual([
      { longUrl: 'https://a.example/', customAlias: 'big', title: 'Title', tags: ['x'] },
    ]);
  });

  test('keeps the number of each row as an editor shows it', () => {
    const text = 'url,title\nhttps://a.example/,"two\nlines"\n\nhttps://b.example/,\n';
    expect(readTable(text).map(({ number }) => number)).toEqual([2, 5]);
  });

  test('reports the problem of each row', () => {
    const text = [
      'url,alias,title,tags,expires',
      ',x,,,',
      'javascript:alert(1),,,,',
      'https://,,,,',
      'https://a.example/,two words,,,',
      'https://a.example/,same,,,',
      'https://a.example/,same,,,',
      `https://a.example/,,${'t'.repeat(301)},,`,
      `https://a.example/,,,${'x;'.repeat(21)},`,
      'https://a.example/,,,,2001-01-01',
      'https://a.example/,,,,soon',
      'https://a.example/,,,,03/04/2999',
      'https://a.example/two words,,,,',
    ].join('\n');
    expect(problemsOf(text)).toEqual([
      'No address',
      'Not a web address',
      'Not a web address',
      'Up to 64 letters, digits, hyphens and underscores',
      undefined,
      'The same alias as in row 6',
      'At most 300 characters',
      'At most 20 tags of 50 characters',
      'Not a date in the future like 2027-01-31',
      'Not a date in the future like 2027-01-31',
      'Not a date in the future like 2027-01-31',
      'Not a web address',
    ]);
  });

  test('may have a tab in a title below a row of names without any', () => {
    expect(fieldsOf('url,title\nhttps://a.example/,One\ttab\n')).toEqual([
      { longUrl: 'https://a.example/', title: 'One\ttab' },
    ]);
  });

  test.each(['', 'url\n'])('is read up to one row more than an import may have: %j', names => {
    expect(readTable(`${names}${'https://a.example/\n'.repeat(importMax + 5)}`)).toHaveLength(importMax + 1);
  });

  test('is created in calls; another attempt repeats unanswered calls under the same names', () => {
    const rows = readTable('https://a.example/\n'.repeat(5));
    const calls = (created: readonly number[]) =>
      callsOf(rows, 2, row => created.includes(row.number)).map(call => [
        call.name,
        ...call.rows.map(({ number }) => number),
      ]);
    expect(calls([])).toEqual([
      ['0-2', 1, 2],
      ['2-2', 3, 4],
      ['4-1', 5],
    ]);
    expect(calls([1, 5])).toEqual([
      ['0-1', 2],
      ['2-2', 3, 4],
    ]);
  });
});

const link = (values: Partial<LinkView>): LinkView =>
  ({
    shortCode: 'a',
    shortUrl: 'https://terse.example/a',
    longUrl: 'https://a.example/',
    title: null,
    tags: [],
    status: 'active',
    clicks: 3,
    createdAt: '2026-01-01T00:00:00.000Z',
    expiresAt: null,
    ...values,
  }) as LinkView;

describe('an export', () => {
  test('has the newest number of clicks, and no cell that a spreadsheet would compute', () => {
    const total = { shortCode: 'a', clicks: 5, botClicks: 0, suspiciousClicks: 0, lastClickAt: null };
    const shown = [link({ title: '=HYPERLINK("x")', tags: ['x', 'y'] }), link({ shortCode: 'b' })];
    const totals = new Map([['a', total]]);
    expect(linksAsCsv(shown, totals).split('\r\n')).toEqual([
      'shortUrl,longUrl,title,tags,status,clicks,createdAt,expiresAt',
      `https://terse.example/a,https://a.example/,"'=HYPERLINK(""x"")","x, y",active,5,2026-01-01T00:00:00.000Z,`,
      'https://terse.example/a,https://a.example/,,,active,3,2026-01-01T00:00:00.000Z,',
      '',
    ]);
    expect(JSON.parse(linksAsJson(shown, totals))).toEqual([{ ...shown[0], clicks: 5 }, shown[1]]);
  });

  test('can be imported again: every title comes back', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 50 }), { minLength: 1, maxLength: 5 }),
        titles => {
          const clean = titles.map(title => `t${title.replaceAll('\r', '')}`.trim());
          const text = csvOf([['url', 'title'], ...clean.map(title => ['https://a.example/', title])]);
          expect(readTable(text).map(({ fields }) => fields.title)).toEqual(clean);
        },
      ),
    );
  });
});
