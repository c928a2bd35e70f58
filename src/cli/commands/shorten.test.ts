import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ManualClock } from '../../base/clock.ts';
import { fakeApi, link, problem } from '../fake-api.ts';
import { type InputLine, lineBatches } from './shorten.ts';

const api = fakeApi();

describe('shorten', () => {
  test('prints the short URL and nothing else', async () => {
    const outcome = await api.terse(['shorten', 'https://example.com/a']);
    expect(outcome).toMatchObject({ exitCode: 0, stdout: 'https://sho.rt/abc1234\n', stderr: '' });
    expect(api.requests).toMatchObject([
      { method: 'POST', path: '/api/v1/links', body: { longUrl: 'https://example.com/a' } },
    ]);
  });

  test('sends every option under the name the API knows', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const options = [
      '--alias=mine',
      '--title',
      'A title',
      '--tags',
      'a, b,',
      '--expires=7d',
      '--redirect=301',
    ];
    const more = ['--max-clicks', '5', '--forward-query=on', '--find-existing', '--json'];
    const outcome = await api.terse(['shorten', ...options, 'https://example.com/a', ...more], { clock });
    expect(JSON.parse(outcome.stdout)).toEqual(link);
    expect(api.requests[0]?.body).toEqual({
      longUrl: 'https://example.com/a',
      customAlias: 'mine',
      title: 'A title',
      tags: ['a', 'b'],
      expiresAt: '2026-01-08T00:00:00.000Z',
      redirectType: 301,
      maxClicks: 5,
      forwardQuery: true,
      findExisting: true,
    });
  });

  test('takes an expiry as a time or as never', async () => {
    await api.terse(['shorten', 'https://a.b', '--expires', '2030-01-01T00:00:00Z']);
    await api.terse(['shorten', 'https://a.b', '--expires', 'never']);
    expect(api.requests.map(request => (request.body as { expiresAt: unknown }).expiresAt)).toEqual([
      '2030-01-01T00:00:00Z',
      null,
    ]);
  });

  test('takes everything after -- as it is', async () => {
    for (const url of ['--help', '--json', '-'])
      await api.terse(['shorten', '--json', '--', url], { stdin: 'x' });
    const urls = api.requests.map(request => (request.body as { longUrl: unknown }).longUrl);
    expect(urls).toEqual(['--help', '--json', 'x']);
  });

  test('reads one URL from the standard input as if it were an argument', async () => {
    const outcome = await api.terse(['shorten', '-', '--alias', 'mine'], { stdin: 'https://a.b\n' });
    expect(outcome).toMatchObject({ exitCode: 0, stdout: 'https://sho.rt/abc1234\n' });
    expect(api.requests).toMatchObject([
      { path: '/api/v1/links', body: { longUrl: 'https://a.b', customAlias: 'mine' } },
    ]);
    const json = await api.terse(['shorten', '-', '--json'], { stdin: 'https://a.b' });
    expect(JSON.parse(json.stdout)).toEqual(link);
  });

  const partly = (): Response => {
    const refused = { title: 'The long URL cannot be shortened', detail: 'ftp is not allowed', status: 400 };
    return Response.json({
      results: [
        { status: 201, link },
        { status: 400, problem: refused },
      ],
    });
  };

  test('sends many URLs in one call, prints the good ones and names the lines of the bad ones', async () => {
    api.answer = partly;
    const outcome = await api.terse(['shorten', '-', '--tags=x'], { stdin: 'https://a.b\r\n\n ftp://c.d' });
    expect(outcome).toMatchObject({
      exitCode: 1,
      stdout: 'https://sho.rt/abc1234\n',
      stderr: 'terse: line 3: The long URL cannot be shortened: ftp is not allowed\n',
    });
    expect(api.requests).toMatchObject([
      {
        path: '/api/v1/links/bulk',
        body: {
          links: [
            { longUrl: 'https://a.b', tags: ['x'] },
            { longUrl: 'ftp://c.d', tags: ['x'] },
          ],
        },
      },
    ]);
  });

  test('prints all results as JSON when asked', async () => {
    api.answer = partly;
    const outcome = await api.terse(['shorten', '-', '--json'], { stdin: 'https://a.b\nftp://c.d' });
    expect(JSON.parse(outcome.stdout).results).toHaveLength(2);
    expect(outcome.exitCode).toBe(1);
  });

  test('splits a long list into calls and reports what was made before a call failed', async () => {
    api.answer = async request => {
      const { links } = (await request.json()) as { links: unknown[] };
      if (api.requests.length > 1) return problem(503, 'The server is busy', 'Try again');
      return Response.json({ results: links.map(() => ({ status: 201, link })) });
    };
    const stdin = 'https://a.b\n'.repeat(2001);
    const outcome = await api.terse(['shorten', '-', '--json'], { stdin });
    expect(outcome).toMatchObject({ exitCode: 1, stderr: 'terse: The server is busy: Try again\n' });
    expect(JSON.parse(outcome.stdout).results).toHaveLength(2000);
  });

  test('rejects an alias for several links before anything is made', async () => {
    const outcome = await api.terse(['shorten', '-', '--alias=x'], { stdin: 'https://a.b\nhttps://c.d' });
    expect(outcome).toMatchObject({ exitCode: 2, stderr: 'terse: --alias can name one link only\n' });
    expect(api.requests).toEqual([]);
  });

  test('says so when the standard input is empty', async () => {
    const outcome = await api.terse(['shorten', '-'], { stdin: '\n\n' });
    expect(outcome).toMatchObject({ exitCode: 2, stderr: 'terse: the standard input has no URL\n' });
  });
});

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function batchesOf(bytes: Uint8Array, chunkSize: number, batchMax: number): Promise<InputLine[][]> {
  const batches: InputLine[][] = [];
  for await (const batch of lineBatches(inChunks(bytes, chunkSize), batchMax)) batches.push(batch);
  return batches;
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

test('lines are whole and numbered, however the input is cut', async () => {
  const texts = fc.array(fc.constantFrom('https://a.b/ü', 'x', '', ' y \r', '漢字'), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(texts, fc.integer({ min: 1, max: 9 }), async (lines, chunkSize) => {
      const expected = lines.flatMap((line, index) => {
        return line.trim() === '' ? [] : [{ number: index + 1, text: line.trim() }];
      });
      const batches = await batchesOf(bytesOf(lines.join('\n')), chunkSize, 4);
      expect(batches.flat()).toEqual(expected);
      expect(batches.map(batch => batch.length).every(length => length >= 1 && length <= 4)).toBe(true);
    }),
  );
});

test('input that is not UTF-8 is rejected', async () => {
  await expect(batchesOf(new Uint8Array([0x61, 0xff]), 1, 4)).rejects.toThrow('not UTF-8');
  await expect(batchesOf(new Uint8Array([0xc3]), 1, 4)).rejects.toThrow('not UTF-8');
});

test('a line without end is rejected before it fills the memory', async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield bytesOf('x'.repeat(10_000));
  }
  await expect(lineBatches(endless(), 4).next()).rejects.toThrow('line 1 of the standard input is too long');
});
