import { describe, expect, test } from 'bun:test';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();

const link = {
  shortCode: 'abc',
  longUrl: 'https://evil.example/',
  status: 'quarantined',
  ownerId: 'acc_1',
  version: 3,
  risk: { score: 70, reasons: ['newDomain', 'phishingWords'] },
};
const review = {
  waitingSince: '2026-01-01T00:00:00.000Z',
  overdue: true,
  score: 70,
  reporters: 2,
  appeal: { text: 'Mine.' },
};
const report = { category: 'phishing', text: 'It \u202Elies.', at: '2026-01-02T00:00:00.000Z', times: 1 };

describe('moderate', () => {
  test('lists pending links, and how to see more', async () => {
    api.answer = () =>
      Response.json({ entries: [{ link, review }], waiting: 7, oldestAt: null, nextCursor: 'x.abc' });
    const outcome = await api.terse(['moderate', '--limit=1']);
    expect(api.requests).toMatchObject([{ method: 'GET', path: '/api/v1/moderation/queue?limit=1' }]);
    expect(outcome.stdout).toContain(
      'abc   quarantined  70     2026-01-01T00:00:00.000Z !  2          yes     https://evil.example/',
    );
    expect(outcome.stderr).toContain('7 wait. More: add --cursor=x.abc');
    api.answer = () => Response.json({ entries: [], waiting: 0, oldestAt: null, nextCursor: null });
    expect((await api.terse(['moderate', 'queue'])).stderr).toContain('The queue is empty');
  });

  test('shows all about a link, without characters that change the text direction', async () => {
    api.answer = () => Response.json({ link, review, reports: [report], history: { entries: [] } });
    const { stdout } = await api.terse(['moderate', 'show', 'https://sho.rt/abc']);
    expect(api.requests[0]?.path).toBe('/api/v1/moderation/links/abc');
    for (const text of ['Version', '3', '70 (newDomain, phishingWords)', 'Mine.', 'It \\u202elies.'])
      expect(stdout).toContain(text);
  });

  test('blocks the current version, and allows only the reviewed one', async () => {
    api.answer = () => Response.json({ link: { ...link, status: 'blocked' }, review: null, reports: [] });
    expect((await api.terse(['moderate', 'block', 'abc', '--reason=Bad.'])).stdout).toBe('abc is blocked.\n');
    expect(api.requests.at(-1)).toMatchObject({
      method: 'POST',
      path: '/api/v1/moderation/links/abc/decision',
      body: { decision: 'block', reason: 'Bad.', version: 3 },
    });
    const unseen = await api.terse(['moderate', 'allow', 'abc', '--reason=Good.']);
    expect(unseen).toMatchObject({ exitCode: 2 });
    await api.terse(['moderate', 'allow', 'abc', '--reason=Good.', '--version=2']);
    expect(api.requests.at(-1)?.body).toEqual({ decision: 'allow', reason: 'Good.', version: 2 });
  });

  test('decides about many until all are done, and counts them', async () => {
    const parts = [
      { decided: 500, unchanged: 0, nextCursor: 'k' },
      { decided: 20, unchanged: 3, nextCursor: null },
    ];
    api.answer = () => Response.json(parts.shift());
    const outcome = await api.terse(['moderate', 'block', '--domain=evil.example', '--reason=Bad.']);
    expect(outcome.stdout).toBe('520 links decided, 3 were so already.\n');
    expect(api.requests.map(({ body }) => body)).toEqual([
      { decision: 'block', reason: 'Bad.', domain: 'evil.example' },
      { decision: 'block', reason: 'Bad.', domain: 'evil.example', cursor: 'k' },
    ]);
  });

  test.each([
    [['show']],
    [['block']],
    [['block', 'abc']],
    [['block', 'abc', '--domain=x', '--reason=y']],
    [['block', '--account=a', '--domain=x', '--reason=y']],
    [['judge', 'abc']],
  ])('%j is a wrong command line', async more => {
    expect((await api.terse(['moderate', ...more])).exitCode).toBe(2);
    expect(api.requests).toEqual([]);
  });
});
