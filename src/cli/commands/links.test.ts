import { beforeEach, describe, expect, test } from 'bun:test';
import { fakeApi, link } from '../fake-api.ts';

const api = fakeApi();

describe('list', () => {
  const other = {
    ...link,
    shortUrl: 'https://sho.rt/b',
    status: 'disabled',
    title: 'T',
    expiresAt: '2030-01-01',
  };

  test('prints an aligned table and how to see more', async () => {
    api.answer = () => Response.json({ links: [link, other], nextCursor: 'next' });
    const outcome = await api.terse(['list']);
    expect(outcome.stdout).toBe(
      [
        'SHORT URL               STATUS    EXPIRES     LONG URL',
        'https://sho.rt/abc1234  active    never       https://example.com/a',
        'https://sho.rt/b        disabled  2030-01-01  https://example.com/a  (T)',
        '',
      ].join('\n'),
    );
    expect(outcome).toMatchObject({ exitCode: 0, stderr: 'More: add --cursor=next\n' });
  });

  test('passes its filters on', async () => {
    api.answer = () => Response.json({ links: [], nextCursor: null });
    const filters = [
      '--search=a b',
      '--tag=t',
      '--status=active',
      '--sort=oldest',
      '--limit=5',
      '--cursor=c',
    ];
    const outcome = await api.terse(['list', ...filters]);
    expect(outcome).toMatchObject({ exitCode: 0, stdout: '', stderr: 'No links.\n' });
    const path = '/api/v1/links?search=a+b&tag=t&status=active&limit=5&cursor=c&sort=createdAt';
    expect(api.requests).toMatchObject([{ method: 'GET', path }]);
  });

  test("prints the API's JSON when asked", async () => {
    const page = { links: [link], nextCursor: null };
    api.answer = () => Response.json(page);
    const { stdout } = await api.terse(['list', '--json']);
    expect(JSON.parse(stdout)).toEqual(page);
  });

  test('colours and cuts for a terminal only', async () => {
    api.answer = () => Response.json({ links: [link], nextCursor: null });
    const terminal = await api.terse(['list'], { isTty: true, columns: 61 });
    expect(terminal.stdout).toContain('\u001b[32mactive\u001b[0m');
    expect(terminal.stdout).toContain('https://example.com…');
    const pipe = await api.terse(['list']);
    expect(pipe.stdout).not.toContain('\u001b');
    expect(pipe.stdout).toContain('https://example.com/a');
  });
});

describe('show, edit and rm', () => {
  test('show prints the link field by field, from its code or its short URL', async () => {
    api.answer = () => Response.json({ ...link, title: 'T', tags: ['a', 'b'], maxClicks: 9, usedClicks: 3 });
    const outcome = await api.terse(['show', 'https://sho.rt/abc1234']);
    expect(api.requests).toMatchObject([{ method: 'GET', path: '/api/v1/links/abc1234' }]);
    expect(outcome.stdout).toBe(
      [
        'Short URL  https://sho.rt/abc1234',
        'Long URL   https://example.com/a',
        'Status     active',
        'Title      T',
        'Tags       a, b',
        'Redirect   302',
        'Clicks     3 of 9',
        'Expires    never',
        'Created    2026-01-01T00:00:00.000Z',
        '',
      ].join('\n'),
    );
  });

  test('show prints the health of the destination, where checks are on', async () => {
    const health = { checkedAt: '2026-01-03', failingSince: null, httpStatus: 200, reason: null };
    api.answer = () => Response.json({ ...link, health });
    expect((await api.terse(['show', 'a'])).stdout).toContain(
      'Health     answers with 200, asked 2026-01-03\n',
    );
    const failing = { ...health, failingSince: '2026-01-02', httpStatus: null, reason: 'no_such_name' };
    api.answer = () => Response.json({ ...link, health: failing });
    expect((await api.terse(['show', 'a'])).stdout).toContain(
      'Health     failing since 2026-01-02: no such name, asked 2026-01-03\n',
    );
    api.answer = () => Response.json({ ...link, health: null });
    expect((await api.terse(['show', 'a'])).stdout).not.toContain('Health');
  });

  test('show names the switches that are on', async () => {
    api.answer = () => Response.json({ ...link, forwardQuery: true, publicStats: true });
    expect((await api.terse(['show', 'a'])).stdout).toMatch(/^Options +forwardQuery, publicStats$/m);
  });

  test('edit sends only what is to change', async () => {
    const options = ['--url=https://c.d', '--status', 'disabled', '--title=', '--tags=', '--max-clicks=none'];
    const outcome = await api.terse(['edit', 'abc1234', ...options, '--expires=never', '--json']);
    expect(JSON.parse(outcome.stdout)).toEqual(link);
    expect(api.requests).toMatchObject([{ method: 'PATCH', path: '/api/v1/links/abc1234' }]);
    expect(api.requests[0]?.body).toEqual({
      longUrl: 'https://c.d',
      status: 'disabled',
      title: null,
      tags: [],
      maxClicks: null,
      expiresAt: null,
    });
  });

  test('rm deletes and says so', async () => {
    api.answer = () => new Response(null, { status: 204 });
    const outcome = await api.terse(['rm', 'abc1234']);
    expect(outcome).toMatchObject({ exitCode: 0, stdout: 'Deleted abc1234.\n', stderr: '' });
    expect(api.requests).toMatchObject([{ method: 'DELETE', path: '/api/v1/links/abc1234' }]);
    expect((await api.terse(['rm', 'abc1234', '--json'])).stdout).toBe('');
  });
});

describe('qr', () => {
  beforeEach(() => {
    api.answer = () => new Response('<svg/>');
  });

  test('writes the image to the standard output or to a file', async () => {
    expect((await api.terse(['qr', 'abc1234'])).stdout).toBe('<svg/>');
    const outcome = await api.terse(['qr', 'abc1234', '--format=png', '--size=300', '--output=a.png'], {
      isTty: true,
    });
    expect(outcome).toMatchObject({ exitCode: 0, stdout: '' });
    expect(outcome.files.get('a.png')).toBe('<svg/>');
    const paths = api.requests.map(request => request.path);
    expect(paths).toEqual([
      '/api/v1/links/abc1234/qr?format=svg',
      '/api/v1/links/abc1234/qr?format=png&size=300',
    ]);
  });

  test('keeps binary off the terminal and names a file that cannot be written', async () => {
    const binary = await api.terse(['qr', 'abc1234', '--format=png'], { isTty: true });
    expect(binary.exitCode).toBe(2);
    expect(api.requests).toEqual([]);
    const forbidden = await api.terse(['qr', 'abc1234', '--output=/forbidden/a.svg']);
    expect(forbidden).toMatchObject({
      exitCode: 2,
      stderr: 'terse: /forbidden/a.svg cannot be written (EACCES)\n',
    });
  });
});
