/** The clicks of links, wherever a link is shown, and lists in order of clicks. */
import { afterAll, describe, expect, test } from 'bun:test';
import { ClickedTerse } from '../kit/clicked-terse.ts';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { addAccount } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { until } from '../kit/until.ts';
import { program } from '../kit/visitors.ts';

const clicked = await ClickedTerse.start(Date.UTC(2026, 4, 1));
afterAll(() => clicked.terse.stop());
const { call } = clicked;

async function linkWithClicks(visits: number, fields: Record<string, unknown> = {}): Promise<string> {
  const code = await clicked.create(fields);
  for (let count = 0; count < visits; count += 1) await clicked.visit(code);
  return code;
}

/** Under load the number may come too late for an answer, which then says null. */
async function clicksOf(ask: () => Promise<{ clicks: number | null }>): Promise<number | null> {
  let clicks: number | null = null;
  await until('a number of clicks', async () => {
    clicks = (await ask()).clicks;
    return clicks !== null;
  });
  return clicks;
}

test('a link has its number of clicks: new, read, listed, edited, found again, and in bulk', async () => {
  const longUrl = 'https://example.com/counted';
  const made = await call('POST', '/api/v1/links', { body: { longUrl } });
  expect(made.body.clicks).toBe(0);
  const code = made.body.shortCode;
  for (let count = 0; count < 3; count += 1) await clicked.visit(code);
  await clicked.visit(code, { headers: program });
  await clicked.visit(code, { method: 'HEAD' });
  await clicked.counted();
  const path = `/api/v1/links/${code}`;
  const links = [{ longUrl: 'https://example.com/new' }, { longUrl, findExisting: true }];
  const bulk = async () => (await call('POST', '/api/v1/links/bulk', { body: { links } })).body.results;
  const answers = {
    read: async () => (await call('GET', path)).body,
    listed: async () => (await call('GET', '/api/v1/links?search=counted')).body.links[0],
    edited: async () => (await call('PATCH', path, { body: { title: 'x' } })).body,
    stated: async () => (await call('PUT', path, { body: { longUrl } })).body,
    found: async () => (await call('POST', '/api/v1/links', { body: { longUrl, findExisting: true } })).body,
    foundInBulk: async () => (await bulk())[1].link,
  };
  for (const [how, ask] of Object.entries(answers)) expect([how, await clicksOf(ask)]).toEqual([how, 3]);
  expect((await bulk())[0].link.clicks).toBe(0);
});

test('a link whose clicks were deleted begins at zero', async () => {
  const code = await linkWithClicks(2);
  await clicked.counted();
  await call('DELETE', `/api/v1/links/${code}/clicks`);
  expect(await clicksOf(async () => (await call('GET', `/api/v1/links/${code}`)).body)).toBe(0);
});

describe('a list by clicks', () => {
  test('goes from the most followed to those never followed, or the other way, page by page', async () => {
    const tags = ['ranked'];
    const key = addAccount(clicked.terse.dataFolder, 'ranker');
    const create = async (visits: number) => {
      const { body } = await call('POST', '/api/v1/links', {
        key,
        body: { longUrl: 'https://e.com/', tags },
      });
      for (let count = 0; count < visits; count += 1) await clicked.visit(body.shortCode);
      return body.shortCode as string;
    };
    const [none, one, three, two, noneLater] = [
      await create(0),
      await create(1),
      await create(3),
      await create(2),
      await create(0),
    ];
    const gone = await create(4);
    await call('DELETE', `/api/v1/links/${gone}`, { key });
    await linkWithClicks(5, { tags });
    await clicked.counted();
    const pagesOf = async (query: string): Promise<string[]> => {
      const seen: string[] = [];
      for (let cursor = ''; ; ) {
        const { status, body } = await call('GET', `/api/v1/links?${query}&limit=2${cursor}`, { key });
        expect(status).toBe(200);
        for (const { shortCode } of body.links) seen.push(shortCode);
        if (body.nextCursor === null) return seen;
        cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`;
      }
    };
    const followed = [three, two, one];
    const others = [noneLater, none];
    for (const filter of ['', '&tag=ranked', '&status=active&search=e.com']) {
      expect(await pagesOf(`sort=-clicks${filter}`)).toEqual([...followed, ...others]);
      expect(await pagesOf(`sort=clicks${filter}`)).toEqual([...others, ...followed.toReversed()]);
    }
    expect(await pagesOf('sort=-clicks&tag=other')).toEqual([]);
  });

  test('rejects a cursor of another order', async () => {
    await linkWithClicks(0);
    await linkWithClicks(0);
    const { body } = await call('GET', '/api/v1/links?limit=1');
    for (const [sort, cursor] of [
      ['-clicks', body.nextCursor],
      ['clicks', 'f.0.x'],
      ['-createdAt', 'f.1.abc'],
    ])
      expectProblem(await call('GET', `/api/v1/links?sort=${sort}&cursor=${cursor}`), 400, 'invalid_request');
  });
});

test('where clicks are not counted their number is null, and lists cannot go by it', async () => {
  const terse = await startTerseHere({ env: { TERSE_CLICKS: 'off' } });
  const ask = callerOf(terse.url);
  const { body: made } = await ask('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' } });
  expect(made.clicks).toBeNull();
  const path = `/api/v1/links/${made.shortCode}`;
  expect((await ask('GET', path)).body.clicks).toBeNull();
  expect((await ask('PATCH', path, { body: { title: 'x' } })).body.clicks).toBeNull();
  expect((await ask('GET', '/api/v1/links')).body.links[0].clicks).toBeNull();
  expectProblem(await ask('GET', '/api/v1/links?sort=-clicks'), 400, 'invalid_request');
  await terse.stop();
});
