/** Reports, the queue, decisions, appeals and the audit log, over HTTP. */
import { afterAll, describe, expect, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { metricOf } from '../kit/follow.ts';
import { addAccount } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);
const ownerKey = addAccount(terse.dataFolder, 'owner');
const strangerKey = addAccount(terse.dataFolder, 'stranger');
const reason = 'It imitates a bank.';

const create = async (
  longUrl = 'https://example.com/',
  key: string | undefined = ownerKey,
): Promise<string> => (await call('POST', '/api/v1/links', { key, body: { longUrl } })).body.shortCode;
const report = (shortCode: string, body: object = {}) =>
  call('POST', '/api/v1/reports', { key: undefined, body: { shortCode, category: 'phishing', ...body } });
const caseOf = async (code: string) => (await call('GET', `/api/v1/moderation/links/${code}`)).body;
const decide = async (code: string, decision: string) =>
  call('POST', `/api/v1/moderation/links/${code}/decision`, {
    body: { decision, reason, version: (await caseOf(code)).link.version },
  });
const queuedCodes = async (): Promise<string[]> =>
  (await call('GET', '/api/v1/moderation/queue')).body.entries.map(
    (entry: { link: { shortCode: string } }) => entry.link.shortCode,
  );

describe('a report', () => {
  test('needs no account, puts the link into the queue, and is merged when repeated', async () => {
    const code = await create();
    const text = 'It asks for my password.';
    for (let time = 0; time < 3; time += 1)
      expect(await report(code, { text })).toMatchObject({ status: 202, body: { status: 'received' } });
    expect(await queuedCodes()).toContain(code);
    const { link, ownerName, review, reports } = await caseOf(code);
    expect(link).toMatchObject({ shortCode: code, status: 'active', ownerId: 'owner', version: 1 });
    // People read names, not ids.
    expect(ownerName).toBe('owner');
    expect(review).toMatchObject({ reporters: 1, overdue: false, appeal: null });
    expect(reports).toMatchObject([{ category: 'phishing', text, times: 3 }]);
    expect(JSON.stringify({ review, reports })).not.toContain('127.0.0.1');
    expect((await call('GET', `/${code}`)).status).toBe(302);
  });

  test('of a link with the longest alias is in a queue that can be read page by page', async () => {
    for (const letter of ['y', 'z']) {
      const customAlias = letter.repeat(64);
      await call('POST', '/api/v1/links', {
        key: ownerKey,
        body: { longUrl: 'https://a.example/', customAlias },
      });
      await report(customAlias);
    }
    const paged: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: Awaited<ReturnType<typeof call>> = await call(
        'GET',
        `/api/v1/moderation/queue?limit=1${cursor && `&cursor=${cursor}`}`,
      );
      expect(page.status).toBe(200);
      paged.push(...page.body.entries.map((entry: { link: { shortCode: string } }) => entry.link.shortCode));
      cursor = page.body.nextCursor;
    }
    expect(paged).toEqual(await queuedCodes());
  });

  test('of a missing link is rejected', async () => {
    expectProblem(await report('nothere'), 404, 'not_found');
    const code = await create();
    await call('DELETE', `/api/v1/links/${code}`);
    expectProblem(await report(code), 410, 'link_deleted');
  });

  test.each([
    ['no category', { category: undefined }],
    ['a category of its own', { category: 'boring' }],
    ['a code that is none', { shortCode: '../admin' }],
    ['too many words', { text: 'x'.repeat(2_001) }],
    ['a null byte', { text: 'a\0b' }],
    ['half a character', { text: '\uD800' }],
    ['an unknown field', { reporter: 'me' }],
  ])('with %s is rejected', async (_name, change) => {
    expectProblem(await report(await create(), change), 400, 'invalid_request');
  });
});

describe('a decision', () => {
  test.each([
    ['allow', 'active', 302],
    ['block', 'blocked', 410],
    ['disable', 'blocked', 410],
  ] as const)('to %s makes a link %s', async (decision, status, visited) => {
    const code = await create();
    await report(code);
    expect((await call('GET', `/${code}`)).status).toBe(302);
    const decided = await decide(code, decision);
    expect(decided).toMatchObject({ status: 200, body: { link: { status, version: 2 } } });
    expect(decided.body.review.waitingSince).toBeNull();
    expect((await call('GET', `/${code}`)).status).toBe(visited);
    expect(await queuedCodes()).not.toContain(code);
    expect(await call('GET', `/api/v1/links/${code}`, { key: ownerKey })).toMatchObject({
      body: { status },
    });
  });

  test('about a link that has changed since is rejected and changes nothing', async () => {
    const code = await create();
    await decide(code, 'quarantine');
    const seen = (await caseOf(code)).link.version;
    await call('PATCH', `/api/v1/links/${code}`, {
      key: ownerKey,
      body: { longUrl: 'https://evil.example/' },
    });
    const late = await call('POST', `/api/v1/moderation/links/${code}/decision`, {
      body: { decision: 'allow', reason, version: seen },
    });
    expectProblem(late, 409, 'edit_conflict');
    expect((await caseOf(code)).link).toMatchObject({
      status: 'quarantined',
      longUrl: 'https://evil.example/',
    });
  });

  test('about many applies to the links of an account or to a domain, and reports how many', async () => {
    const codes = await Promise.all(
      ['a', 'b', 'c'].map(path => create(`https://login.evil.example/${path}`)),
    );
    const other = await create('https://good.example/');
    const path = '/api/v1/moderation/decisions';
    const byDomain = await call('POST', path, {
      body: { domain: 'EVIL.example.', decision: 'block', reason },
    });
    expect(byDomain).toMatchObject({ status: 200, body: { nextCursor: null } });
    expect(byDomain.body.decided).toBeGreaterThanOrEqual(3);
    for (const code of codes) expect((await call('GET', `/${code}`)).status).toBe(410);
    expect((await call('GET', `/${other}`)).status).toBe(302);
    const byAccount = await call('POST', path, { body: { accountId: 'owner', decision: 'allow', reason } });
    expect(byAccount.body.nextCursor).toBeNull();
    for (const code of codes) expect((await call('GET', `/${code}`)).status).toBe(302);
    const domains = await call('GET', '/api/v1/audit?subjectKind=domain&subjectId=evil.example');
    expect(domains.body.entries).toMatchObject([{ action: 'domain.linksDecided', reason }]);
  });

  test.each([
    ['both an account and a domain', { accountId: 'owner', domain: 'evil.example' }],
    ['neither', {}],
    ['a domain that everyone shares', { domain: 'co.uk' }],
    ['what is no domain', { domain: 'evil.example/path' }],
    ['an address with a user', { domain: 'a@evil.example' }],
    ['a cursor of its own', { domain: 'evil.example', cursor: 'no!' }],
  ])('about many is rejected with %s', async (_name, selection) => {
    const body = { decision: 'block', reason, ...selection };
    expectProblem(await call('POST', '/api/v1/moderation/decisions', { body }), 400, 'invalid_request');
  });
});

describe('the owner of a held link', () => {
  const held = async (decision: 'quarantine' | 'block'): Promise<string> => {
    const code = await create();
    await decide(code, decision);
    return code;
  };

  test.each(['quarantine', 'block'] as const)(
    'cannot lift it (%s), but edit and delete it',
    async decision => {
      const code = await held(decision);
      const path = `/api/v1/links/${code}`;
      for (const status of ['active', 'disabled']) {
        const lifted = await call('PATCH', path, { key: ownerKey, body: { status, title: 'x' } });
        expectProblem(lifted, 409, 'link_held');
        expectProblem(
          await call('PUT', path, { key: ownerKey, body: { longUrl: 'https://e.com/', status } }),
          409,
          'link_held',
        );
      }
      const status = decision === 'block' ? 'blocked' : 'quarantined';
      const changes = [
        ['PATCH', { title: 'T' }],
        ['PATCH', { longUrl: 'https://example.org/harmless' }],
        ['PUT', { longUrl: 'https://example.org/again' }],
      ] as const;
      for (const [method, body] of changes)
        expect(await call(method, path, { key: ownerKey, body })).toMatchObject({
          status: 200,
          body: { status },
        });
      // A new destination must be reviewed again.
      expect(await queuedCodes()).toContain(code);
      expect((await call('DELETE', path, { key: ownerKey })).status).toBe(204);
      expect(await queuedCodes()).not.toContain(code);
    },
  );

  test('appeals once, and reads the decision but not who made it', async () => {
    const code = await held('block');
    const path = `/api/v1/links/${code}/appeal`;
    const body = { text: 'It is my own shop.' };
    expectProblem(await call('POST', path, { key: strangerKey, body }), 404, 'not_found');
    expect(await call('POST', path, { key: ownerKey, body })).toMatchObject({ status: 202 });
    expectProblem(await call('POST', path, { key: ownerKey, body }), 409, 'appeal_refused');
    expect((await caseOf(code)).review.appeal.text).toBe(body.text);
    await call('POST', `/api/v1/moderation/links/${code}/notes`, {
      body: { text: 'The gang of last week.' },
    });
    await decide(code, 'allow');
    const history = await call('GET', `/api/v1/links/${code}/history`, { key: ownerKey });
    const shown = history.body.entries.map(({ action, by }: { action: string; by: string }) => [action, by]);
    expect(shown).toEqual([
      ['link.decided', 'moderation'],
      ['link.appealed', 'owner'],
      ['link.decided', 'moderation'],
      ['link.created', 'owner'],
    ]);
    expect(history.body.entries[0]).toMatchObject({ reason, after: { status: 'active', decision: 'allow' } });
    const admin = (await caseOf(code)).history.entries[0].actor.accountId;
    expect(JSON.stringify(history.body)).not.toContain(admin);
    expect(JSON.stringify(history.body)).not.toMatch(/gang|127\.0\.0\.1/);
    expectProblem(await call('GET', `/api/v1/links/${code}/history`, { key: strangerKey }), 404, 'not_found');
  });
});

describe('the audit log', () => {
  test('shows every change of a link: who, what, before, after and when, also once it is deleted', async () => {
    const code = await create('https://example.com/before');
    const path = `/api/v1/links/${code}`;
    await call('PATCH', path, { key: ownerKey, body: { longUrl: 'https://example.com/after', title: 'T' } });
    await call('PATCH', path, { body: { status: 'disabled' } });
    await call('DELETE', path, { key: ownerKey });
    const { body } = await call('GET', `/api/v1/audit?subjectKind=link&subjectId=${code}`);
    expect(body.nextCursor).toBeNull();
    expect(body.entries).toMatchObject([
      {
        actor: { kind: 'account', accountId: 'owner', keyId: 'key_owner' },
        action: 'link.deleted',
        before: { longUrl: 'https://example.com/after', status: 'disabled', title: 'T' },
        after: { longUrl: '', status: 'deleted', title: null },
      },
      { action: 'link.updated', before: { status: 'active' }, after: { status: 'disabled' } },
      {
        action: 'link.updated',
        before: { longUrl: 'https://example.com/before', title: null },
        after: { longUrl: 'https://example.com/after', title: 'T' },
      },
    ]);
    expect(body.entries[1].actor.accountId).not.toBe('owner');
    for (const { at } of body.entries) expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(600_000);
    const history = await call('GET', `${path}/history?limit=2`, { key: ownerKey });
    expect(history.body.entries).toHaveLength(2);
    const rest = await call('GET', `${path}/history?cursor=${history.body.nextCursor}`, { key: ownerKey });
    expect(rest.body.entries.at(-1)).toMatchObject({ action: 'link.created', by: 'owner' });
  });

  test('is for moderators, and of accounts and keys for admins', async () => {
    for (const path of ['/api/v1/audit', '/api/v1/moderation/queue'])
      expectProblem(await call('GET', path, { key: ownerKey }), 403, 'forbidden');
    const moderatorKey = addAccount(terse.dataFolder, 'moderator', 'moderator');
    expect((await call('GET', '/api/v1/audit', { key: moderatorKey })).status).toBe(200);
    for (const kind of ['account', 'key'])
      expectProblem(
        await call('GET', `/api/v1/audit?subjectKind=${kind}`, { key: moderatorKey }),
        403,
        'forbidden',
      );
    const { entries } = (await call('GET', '/api/v1/audit', { key: moderatorKey })).body;
    for (const { subject } of entries) expect(['link', 'report', 'domain']).toContain(subject.kind);
  });

  test.each(['?cursor=no!', '?subjectId=x', '?limit=0', '?from=yesterday', '?subjectKind=moon'])(
    'rejects %s',
    async query => {
      expectProblem(await call('GET', `/api/v1/audit${query}`), 400, 'invalid_request');
    },
  );
});

test('metrics have the number of waiting reviews and the age of the oldest', async () => {
  for (const name of ['waiting', 'oldest_seconds', 'overdue_seconds'])
    expect(await metricOf(terse.url, `terse_moderation_${name}`)).toBeGreaterThanOrEqual(0);
});
