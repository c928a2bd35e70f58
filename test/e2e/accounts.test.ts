/** Accounts over the API: how an admin creates, changes, suspends and invites them, and the traces in the audit log. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { type Call, callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { adminKey, startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';

setDefaultTimeout(60_000);

const terse = await startTerseHere({ env: { TERSE_LIMITS: 'off' } });
afterAll(() => terse.stop());
const call = callerOf(terse.url);

const createAccount = async (body: object, via: Call = call) => {
  const answer = await via('POST', '/api/v1/accounts', { body });
  expect(answer.status).toBe(201);
  return answer.body;
};
const keyOf = async (accountId: string, via: Call = call): Promise<string> =>
  (await via('POST', '/api/v1/keys', { body: { name: 'x', accountId } })).body.key;

describe('an account', () => {
  test('is created by an admin, found again, changed in part, and can use the API with its keys', async () => {
    const made = await createAccount({
      name: 'Ada',
      email: 'Ada@Example.com',
      plan: 'pro',
      role: 'moderator',
    });
    expect(made).toEqual({
      id: expect.stringMatching(/^acc_/),
      name: 'Ada',
      email: 'ada@example.com',
      role: 'moderator',
      plan: 'pro',
      hasPassword: false,
      createdAt: made.createdAt,
      suspendedAt: null,
    });
    const path = `/api/v1/accounts/${made.id}`;
    expect((await call('GET', path)).body).toEqual(made);
    expect((await call('GET', '/api/v1/accounts?email=ADA@example.com')).body).toEqual({
      accounts: [made],
      nextCursor: null,
    });
    const changed = await call('PATCH', path, { body: { plan: 'verified', role: 'member' } });
    expect(changed.body).toEqual({ ...made, plan: 'verified', role: 'member' });
    const key = await keyOf(made.id);
    expect((await call('GET', '/api/v1/account', { key })).body).toEqual({
      ...changed.body,
      scopes: ['links:read', 'links:write', 'stats:read'],
      keyId: expect.stringMatching(/^key_/),
      sessionId: null,
    });
  });

  test('shares its e-mail address with no other, in whatever case', async () => {
    await createAccount({ name: 'One', email: 'one@example.com' });
    const { id } = await createAccount({ name: 'Two' });
    const twin = { name: 'Twin', email: 'ONE@example.com' };
    expectProblem(await call('POST', '/api/v1/accounts', { body: twin }), 409, 'email_taken');
    const change = { email: 'One@Example.com' };
    expectProblem(await call('PATCH', `/api/v1/accounts/${id}`, { body: change }), 409, 'email_taken');
  });

  test('is listed page by page, each once', async () => {
    const ids: string[] = [];
    let cursor = '';
    do {
      const { body } = await call('GET', `/api/v1/accounts?limit=2${cursor}`);
      ids.push(...body.accounts.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
    } while (cursor !== '');
    expect(ids.length).toBeGreaterThan(3);
    expect(new Set(ids).size).toBe(ids.length);
    expectProblem(await call('GET', '/api/v1/accounts?cursor=made-up'), 400, 'invalid_request');
  });

  test('that loses its role loses the permissions of its keys, at once', async () => {
    const { id } = await createAccount({ name: 'Second admin', role: 'admin' });
    const key = await keyOf(id);
    expect(await call('GET', '/api/v1/accounts', { key })).toMatchObject({ status: 200 });
    await call('PATCH', `/api/v1/accounts/${id}`, { body: { role: 'member' } });
    expectProblem(await call('GET', '/api/v1/accounts', { key }), 403, 'forbidden');
    expect(await call('GET', '/api/v1/links', { key })).toMatchObject({ status: 200 });
  });

  test('of the last admin can neither be suspended nor lose its role', async () => {
    const { id } = (await call('GET', '/api/v1/account')).body;
    expectProblem(
      await call('PATCH', `/api/v1/accounts/${id}`, { body: { role: 'moderator' } }),
      409,
      'last_admin',
    );
    expectProblem(await call('POST', `/api/v1/accounts/${id}/suspend`, { body: {} }), 409, 'last_admin');
    expect(await call('GET', '/api/v1/accounts')).toMatchObject({ status: 200 });
  });

  test('has all its changes in the audit log, and no secret', async () => {
    const { id } = await createAccount({ name: 'Watched', email: 'watched@example.com' });
    const key = await keyOf(id);
    await call('PATCH', `/api/v1/accounts/${id}`, { body: { plan: 'pro' } });
    await call('POST', `/api/v1/accounts/${id}/suspend`, { body: { reason: 'sends spam' } });
    await call('POST', `/api/v1/accounts/${id}/unsuspend`, { body: {} });
    const { token } = (await call('POST', `/api/v1/accounts/${id}/invitation`)).body;
    const password = 'a password worth keeping';
    const accepted = await call('POST', '/api/v1/invitations/accept', {
      key: undefined,
      body: { token, password },
    });
    expect(accepted.status).toBe(200);
    const { body } = await call('GET', `/api/v1/audit?subjectKind=account&subjectId=${id}`);
    expect(body.entries.map(({ action }: { action: string }) => action).reverse()).toEqual([
      'account.created',
      'account.changed',
      'account.suspended',
      'account.unsuspended',
      'account.invited',
      'account.invitationAccepted',
    ]);
    const adminId = (await call('GET', '/api/v1/account')).body.id;
    expect(
      body.entries.find(({ action }: { action: string }) => action === 'account.suspended'),
    ).toMatchObject({
      reason: 'sends spam',
      actor: { kind: 'account', accountId: adminId },
      before: { suspendedAt: null },
    });
    const all = JSON.stringify((await call('GET', '/api/v1/audit?limit=100')).body);
    for (const secret of [key, token, password, 'argon2']) expect(all).not.toContain(secret);
  });
});

test('a change that one process makes to an account applies to the next request in another', async () => {
  const dataFolder = temporaryFolder();
  const processes = await Promise.all([0, 1].map(() => startTerseProcess({ dataFolder })));
  const [here, there] = processes.map(({ url }) => callerOf(url)) as [Call, Call];
  try {
    const { id } = await createAccount({ name: 'x', role: 'moderator', plan: 'unlimited' }, here);
    const key = await keyOf(id, here);
    const status = async () => (await there('GET', '/api/v1/account', { key })).status;
    for (let round = 0; round < 10; round += 1) {
      expect(await status()).toBe(200);
      await here('POST', `/api/v1/accounts/${id}/suspend`, { body: {} });
      expectProblem(await there('GET', '/api/v1/account', { key }), 403, 'account_suspended');
      await here('POST', `/api/v1/accounts/${id}/unsuspend`, { body: {} });
      await here('PATCH', `/api/v1/accounts/${id}`, { body: { role: 'member' } });
      expect((await there('GET', '/api/v1/account', { key })).body.scopes).not.toContain('moderate');
      await here('PATCH', `/api/v1/accounts/${id}`, { body: { role: 'moderator' } });
      expect((await there('GET', '/api/v1/account', { key })).body.scopes).toContain('moderate');
    }
    expect(await here('GET', '/api/v1/account', { key: adminKey })).toMatchObject({ status: 200 });
  } finally {
    await Promise.all(processes.map(each => each.stop()));
    rmSync(dataFolder, { recursive: true, force: true });
  }
});
