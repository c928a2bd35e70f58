/** Aliases: which are allowed, and that exactly one caller gets each. */
import { afterAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { addAccount, storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { temporaryFolder } from '../kit/terse-process.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);

const claim = (customAlias: unknown, key?: string) =>
  call('POST', '/api/v1/links', {
    body: { longUrl: 'https://example.com/', customAlias },
    ...(key !== undefined && { key }),
  });

describe('an alias', () => {
  test.each(['a', '7', '-', '_', 'Mixed-Case_1', 'a'.repeat(64)])('may be %s', async alias => {
    expect(await claim(alias)).toMatchObject({ status: 201, body: { shortCode: alias, custom: true } });
    expect(await call('GET', `/${alias}`)).toMatchObject({ status: 302 });
  });

  test.each(['', 'a'.repeat(65), 'a b', 'a/b', 'a.b', 'a+', 'ä', '%61', 'a\u0000', '../x', 'a\n'])(
    'may not be %j',
    async alias => {
      const before = storedRows(terse.dataFolder);
      expectProblem(await claim(alias), 400, 'invalid_alias');
      expect(storedRows(terse.dataFolder)).toEqual(before);
    },
  );

  test('is case-sensitive, as codes are', async () => {
    expect((await claim('CaseOne')).status).toBe(201);
    expect((await claim('caseone')).status).toBe(201);
    expect((await claim('caseOne')).status).toBe(201);
  });

  test('that is reserved is rejected with a message that says so, in any case', async () => {
    const words = ['api', 'admin', 'login', 'health', 'metrics', 'docs', 'robots.txt', 'favicon.ico'];
    const planned = ['rest', 'v4', 'yourls-api.php', '.well-known'];
    for (const word of [...words, ...planned, 'API', 'Docs', 'ROBOTS.TXT']) {
      const answer = await claim(word);
      expectProblem(answer, 409, 'alias_reserved');
      expect(answer.body.detail).toBe('this alias is reserved');
    }
  });

  test.each(['jobs', 'pricing', 'guide', 'app', 'help', 'faq', 'press'])(
    'may be %s, a common word that is not a route',
    async word => {
      expect((await claim(word)).status).toBe(201);
      expect((await call('GET', `/${word}`)).status).toBe(302);
    },
  );

  test('can never shadow a path of ours', async () => {
    const { paths } = (await call('GET', '/api/v1/openapi.json')).body;
    const ours = [...Object.keys(paths), '/shorten', '/v1/links', '/docs', '/assets/terse.css', '/dashboard'];
    const words = new Set(ours.map(path => path.split('/')[1]!).filter(word => !word.startsWith('{')));
    expect(words.size).toBeGreaterThan(5);
    for (const word of words) expectProblem(await claim(word), 409, 'alias_reserved');
  });

  test('that is offensive is rejected with another message, which does not repeat the term', async () => {
    const answer = await claim('sh1t-happens');
    expectProblem(answer, 409, 'alias_offensive');
    expect(answer.body).toMatchObject({
      detail: 'this alias contains a word that is not allowed',
      field: 'customAlias',
    });
    expect((await call('GET', '/api/v1/aliases/sh1t-happens')).body).toMatchObject({
      available: false,
      code: 'alias_offensive',
      reason: 'This alias contains a word that is not allowed.',
    });
  });

  test('that became reserved keeps working, and nobody else gets it', async () => {
    const folder = temporaryFolder();
    const env = { TERSE_DATA: join(folder, 'data') };
    const wordFile = join(folder, 'words');
    writeFileSync(wordFile, '-rest\n');
    const earlier = await startTerseHere({ env: { ...env, TERSE_RESERVED_FILE: wordFile } });
    const body = { longUrl: 'https://example.com/before', customAlias: 'rest' };
    expect((await callerOf(earlier.url)('POST', '/api/v1/links', { body })).status).toBe(201);
    await earlier.stop();
    const later = await startTerseHere({ env });
    try {
      const ask = callerOf(later.url);
      expect((await ask('GET', '/rest')).headers.get('location')).toBe(body.longUrl);
      expect((await ask('GET', '/rest+')).status).toBe(200);
      const edited = await ask('PATCH', '/api/v1/links/rest', {
        body: { longUrl: 'https://example.com/after' },
      });
      expect(edited.status).toBe(200);
      expect((await ask('GET', '/rest')).headers.get('location')).toBe('https://example.com/after');
      expectProblem(await ask('POST', '/api/v1/links', { body }), 409, 'alias_reserved');
    } finally {
      await later.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('taken by one account is taken for all', async () => {
    const strangerKey = addAccount(terse.dataFolder, 'stranger');
    expect((await claim('first-come', strangerKey)).status).toBe(201);
    expectProblem(await claim('first-come'), 409, 'alias_taken');
  });

  test('requested again with the same URL returns the link to its owner', async () => {
    const made = await claim('once-more');
    expect(made.status).toBe(201);
    expect(await claim('once-more')).toMatchObject({ status: 200, body: { shortCode: 'once-more' } });
    const other = { longUrl: 'https://example.com/elsewhere', customAlias: 'once-more' };
    expectProblem(await call('POST', '/api/v1/links', { body: other }), 409, 'alias_taken');
    const links = [other, { longUrl: made.body.longUrl, customAlias: 'once-more' }];
    const { body } = await call('POST', '/api/v1/links/bulk', { body: { links } });
    expect(body.results.map(({ status }: { status: number }) => status)).toEqual([409, 200]);
  });

  test('cannot be a code that was generated', async () => {
    const made = await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' } });
    expectProblem(await claim(made.body.shortCode), 409, 'alias_taken');
  });
});

test.each(['race', 'Race123'])('of 64 concurrent claims of %s exactly one succeeds', async alias => {
  const claims = Array.from({ length: 64 }, (_, index) =>
    call('POST', '/api/v1/links', {
      body: { longUrl: `https://example.com/${index}`, customAlias: alias },
    }),
  );
  const answers = await Promise.all(claims);
  const winners = answers.filter(answer => answer.status === 201);
  expect(winners).toHaveLength(1);
  for (const loser of answers.filter(answer => answer !== winners[0]))
    expectProblem(loser, 409, 'alias_taken');
  expect((await call('GET', `/${alias}`)).headers.get('location')).toBe(winners[0]!.body.longUrl);
  const { links } = storedRows(terse.dataFolder);
  expect(links.filter(row => row.code === alias)).toHaveLength(1);
});
