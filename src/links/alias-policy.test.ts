import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { allowEveryUrl } from '../abuse/judge.ts';
import { createUrlPolicy } from '../abuse/url-policy.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { createCodes } from '../codes/start.ts';
import { aliasAvailability, createAliasPolicy } from './alias-policy.ts';
import { offensiveTerms, reservedWords } from './alias-words.ts';
import type { LinkContext } from './context.ts';
import { createLink } from './create.ts';
import { codePattern } from './link.ts';
import type { LeasedSpan } from './store.ts';
import { createMemoryStore } from './stores/memory.ts';

const policy = createAliasPolicy({ reserved: reservedWords, offensive: offensiveTerms });
const reservedVerdict = { ok: false, code: 'alias_reserved', detail: 'this alias is reserved' } as const;
const offensiveVerdict = {
  ok: false,
  code: 'alias_offensive',
  detail: 'this alias contains a word that is not allowed',
} as const;

describe('an alias is 1 to 64 letters, digits, "-" and "_":', () => {
  test.each(['a', '7', '-', '_', 'my-link_2', 'A'.repeat(64)])('%s is one', alias => {
    expect(policy.judge(alias)).toEqual({ ok: true });
  });

  test.each(['', 'A'.repeat(65), 'a b', 'a/b', 'a.b', 'a+', 'é', 'а', '１', 'a\n', '\0', '%41', '😀'])(
    '%j is none',
    alias => {
      expect(policy.judge(alias)).toMatchObject({ ok: false, code: 'invalid_alias' });
    },
  );
});

describe('a reserved word is rejected', () => {
  test.each(['api', 'admin', 'login', 'health', 'metrics', 'docs', 'shorten', 'v1', 'links'])('%s', word => {
    expect(policy.judge(word)).toEqual(reservedVerdict);
  });

  test('in any case', () => {
    expect(policy.judge('API')).toEqual(reservedVerdict);
    expect(policy.judge('AdMiN')).toEqual(reservedVerdict);
  });

  test('also when no alias could be spelt like it', () => {
    for (const word of ['robots.txt', 'Favicon.ico', '.well-known', 'sitemap.xml']) {
      expect(policy.judge(word)).toEqual(reservedVerdict);
    }
  });

  test('also when its route is only planned', () => {
    const planned = [
      'rest v4 mcp sdk yourls-api.php .well-known webhooks domains workspaces oauth oidc auth passkeys invite import',
      'export manifest.webmanifest sw.js sitemap.xml security.txt apple-app-site-association assetlinks.json unlock',
    ].flatMap(line => line.split(' '));
    for (const word of planned) expect([word, policy.judge(word)]).toEqual([word, reservedVerdict]);
  });

  test('but not a common word that is not a route', () => {
    const common = [
      'jobs pricing guide app help faq press about blog shop news careers contact support home start welcome demo test',
      'beta mail team event events live music menu sale feed media download new list 404 plans upgrade checkout search',
    ].flatMap(line => line.split(' '));
    for (const word of common) expect([word, policy.judge(word)]).toEqual([word, { ok: true }]);
  });

  test('only as a whole', () => {
    for (const alias of ['api-guide', 'myadmin', 'loginn', 'doc-s'])
      expect(policy.judge(alias).ok).toBe(true);
  });

  test("whatever the case of the operator's list", () => {
    const own = createAliasPolicy({ reserved: ['Acme'], offensive: [] });
    expect(own.judge('ACME')).toEqual(reservedVerdict);
    expect(own.judge('admin').ok).toBe(true);
  });
});

describe('an offensive term is rejected, and reported as such', () => {
  test.each([
    ['as it is', 'fuck'],
    ['inside', 'whatthefuckisthis'],
    ['in any case', 'FuCk'],
    ['with digits for letters', '5h17'],
    ['with 1 for i', 'b1tch'],
    ['with 1 for l', 'b1owjob'],
    ['with 0 for o and 3 for e', 'wh0r3'],
    ['with 4 for a', '4sshole'],
    ['split into letters', 's-h-i-t'],
    ['split with underscores', 'f__u__c__k'],
    ['split into parts', 'my-fu-ck-list'],
    ['split and in digits', '5_h_1_t'],
    ['a short one on its own', 'ass'],
    ['a short one as a word', 'kick-ass-list'],
    ['a short one split up', 'a-s-s'],
    ['beside an innocent word', 'scunthorpe-cunt'],
    ['glued to an innocent word', 'cuntscunthorpe'],
  ])('%s', (_how, alias) => {
    expect(policy.judge(alias)).toEqual(offensiveVerdict);
  });
});

describe('an innocent alias stays free:', () => {
  const innocent = [
    'scunthorpe Visit-Scunthorpe-2026 therapist class assets-list bass glass cocktail peacock document cucumber',
    'summa-cum-laude openissues openIssues raccoon cocoon maine-coon spice despicable pussycat sniggers ashita',
    'title canal galaxy-a55 a55 455 7175 push-it cash-item finish-items wash_it torpedo nazionale popcorn essex',
  ].flatMap(line => line.split(' '));
  test.each(innocent)('%s', alias => {
    expect(policy.judge(alias)).toEqual({ ok: true });
  });
});

test('a generated code is checked against the same lists', () => {
  expect(policy.isAllowedCode('aZ3kP9x')).toBe(true);
  expect(policy.isAllowedCode('invites')).toBe(false);
  expect(policy.isAllowedCode('ACCOUNT')).toBe(false);
  expect(policy.isAllowedCode('x5h1Tq2')).toBe(false);
});

test('the lists cost generated codes almost nothing', () => {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const code = fc
    .array(fc.constantFrom(...alphabet), { minLength: 7, maxLength: 7 })
    .map(letters => letters.join(''));
  const refused = fc.sample(code, { numRuns: 20_000, seed: 1 }).filter(each => !policy.isAllowedCode(each));
  expect(refused.length).toBeLessThan(20);
});

test('asking twice gives the same answer twice', () => {
  expect([policy.judge('fuck'), policy.judge('fuck')]).toEqual([offensiveVerdict, offensiveVerdict]);
  expect([policy.judge('scunthorpe').ok, policy.judge('scunthorpe').ok]).toEqual([true, true]);
});

test('without any words only the shape is judged', () => {
  const open = createAliasPolicy({ reserved: [], offensive: [] });
  fc.assert(
    fc.property(fc.string({ maxLength: 70 }), alias => open.judge(alias).ok === codePattern.test(alias)),
  );
});

test('whatever an operator lists, it is read as letters and never as a pattern', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ minLength: 1, maxLength: 6 })),
      fc.string({ maxLength: 20 }),
      (terms, alias) => {
        createAliasPolicy({ reserved: terms, offensive: terms }).judge(alias);
      },
    ),
  );
  const strange = createAliasPolicy({ reserved: [], offensive: ['.*', '[a-z]', '(', '=', '~', ''] });
  expect(strange.judge('harmless').ok).toBe(true);
});

test('a list names each word once, in lower case and without stray prefixes', () => {
  for (const list of [reservedWords, offensiveTerms]) {
    expect(new Set(list).size).toBe(list.length);
    for (const word of list) expect(word).toMatch(/^[=~]?[a-z0-9._-]+$/);
  }
});

test('every innocent word is needed: without its entry, it would be rejected', () => {
  const innocent = offensiveTerms.filter(term => term.startsWith('~'));
  expect(innocent.length).toBeGreaterThan(5);
  const without = createAliasPolicy({
    reserved: [],
    offensive: offensiveTerms.filter(term => !term.startsWith('~')),
  });
  for (const term of innocent) expect(without.judge(term.slice(1))).toEqual(offensiveVerdict);
});

const length = 7;
const store = createMemoryStore();
const codes = createCodes({
  secret: new Uint8Array(32).fill(7),
  strategy: 'range',
  length,
  rangeSize: 1_000,
  machineId: 1,
  source: store,
  isAllowed: () => true,
  clock: systemClock,
  random: systemRandom,
});
const context: LinkContext = {
  store,
  generator: codes.generator,
  urlPolicy: createUrlPolicy({ ownHosts: ['sho.rt'] }),
  judgeUrl: allowEveryUrl,
  aliasPolicy: createAliasPolicy({ reserved: ['admin'], offensive: [] }),
  claimOf: codes.claimOf,
  anonymousAllowed: true,
  clock: systemClock,
};

test('a code that was leased to a process is taken before any link has it, and creating agrees', async () => {
  await createLink(context, fakeActor('acc_1'), { longUrl: 'https://example.com/' });
  const [{ mark }] = (await store.spans(length)) as [LeasedSpan];
  const [leased, beyond] = [codes.space.encode(mark - 1), codes.space.encode(mark + 10_000)];
  expect(await aliasAvailability(context, leased)).toMatchObject({ isFree: false, code: 'alias_taken' });
  expect(await aliasAvailability(context, beyond)).toEqual({ isFree: true });
  const claim = (customAlias: string) =>
    createLink(context, fakeActor('acc_1'), { longUrl: 'https://example.com/', customAlias });
  expect(claim(leased)).rejects.toMatchObject({ code: 'alias_taken' });
  expect((await claim(beyond)).link.code).toBe(beyond);
});

test('reserved and malformed aliases get different answers', async () => {
  expect(await aliasAvailability(context, 'Admin')).toMatchObject({ isFree: false, code: 'alias_reserved' });
  expect(await aliasAvailability(context, 'a b')).toMatchObject({ isFree: false, code: 'invalid_alias' });
});
