/** Choosing a code oneself: what is allowed, and that exactly one caller gets it. */
import { afterAll, describe, expect, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { addAccount, storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';

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

  test('minds case, as codes do', async () => {
    expect((await claim('CaseOne')).status).toBe(201);
    expect((await claim('caseone')).status).toBe(201);
    expectProblem(await claim('CaseOne'), 409, 'alias_taken');
  });

  test('that is reserved is refused with those words, in any case', async () => {
    const words = ['api', 'admin', 'login', 'health', 'metrics', 'docs', 'robots.txt', 'favicon.ico'];
    for (const word of [...words, 'API', 'Docs', 'ROBOTS.TXT']) {
      const answer = await claim(word);
      expectProblem(answer, 409, 'alias_reserved');
      expect(answer.body.detail).toBe('this alias is reserved');
    }
  });

  test('can never shadow a path of ours', async () => {
    const { paths } = (await call('GET', '/api/v1/openapi.json')).body;
    const ours = [...Object.keys(paths), '/shorten', '/v1/links', '/docs', '/assets/terse.css'];
    const words = new Set(ours.map(path => path.split('/')[1]!).filter(word => !word.startsWith('{')));
    expect(words.size).toBeGreaterThan(5);
    for (const word of words) expectProblem(await claim(word), 409, 'alias_reserved');
  });

  test('that offends is refused without saying so', async () => {
    expect((await claim('sh1t-happens')).body).toEqual((await claim('api')).body);
  });

  test('taken by anyone is taken for everyone', async () => {
    const strangerKey = addAccount(terse.dataFolder, 'stranger');
    expect((await claim('first-come', strangerKey)).status).toBe(201);
    expectProblem(await claim('first-come'), 409, 'alias_taken');
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
