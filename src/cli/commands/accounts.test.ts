import { describe, expect, test } from 'bun:test';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();

describe('accounts', () => {
  const account = {
    id: 'acc_1',
    name: 'Ada \u001b[31m',
    email: 'ada@example.com',
    role: 'member',
    plan: 'free',
    hasPassword: true,
    createdAt: '2026-01-01',
    suspendedAt: null,
  };

  test('lists accounts, and says how to see more', async () => {
    api.answer = () =>
      Response.json({
        accounts: [account, { ...account, id: 'acc_2', email: null, suspendedAt: '2026-02-01' }],
        nextCursor: 'next',
      });
    const outcome = await api.terse(['accounts', '--limit=2', '--cursor=c']);
    const lines = outcome.stdout.split('\n').map(line => line.split(/ {2,}/));
    expect(lines.slice(1, -1)).toEqual([
      ['acc_1', 'member', 'free', 'active', 'ada@example.com', 'Ada \\u001b[31m'],
      ['acc_2', 'member', 'free', 'suspended', '-', 'Ada \\u001b[31m'],
    ]);
    expect(outcome.stderr).toContain('--cursor=next');
    expect(api.requests).toMatchObject([{ method: 'GET', path: '/api/v1/accounts?limit=2&cursor=c' }]);
    expect((await api.terse(['accounts', 'list', '--limit=two'])).exitCode).toBe(2);
  });

  test.each([
    [
      ['create', 'Ada', '--email=ada@example.com', '--plan=pro', '--role=moderator'],
      'POST',
      '/api/v1/accounts',
      { name: 'Ada', email: 'ada@example.com', plan: 'pro', role: 'moderator' },
    ],
    [['show', 'acc_1'], 'GET', '/api/v1/accounts/acc_1', undefined],
    [
      ['edit', 'a/b', '--name=New', '--email='],
      'PATCH',
      '/api/v1/accounts/a%2Fb',
      { name: 'New', email: null },
    ],
    [['suspend', 'acc_1', '--reason=spam'], 'POST', '/api/v1/accounts/acc_1/suspend', { reason: 'spam' }],
    [['unsuspend', 'acc_1'], 'POST', '/api/v1/accounts/acc_1/unsuspend', {}],
  ] as const)('%j asks the server and shows the account', async (argv, method, path, body) => {
    api.answer = () => Response.json(account);
    const outcome = await api.terse(['accounts', ...argv]);
    expect(outcome).toMatchObject({ exitCode: 0, stderr: '' });
    expect(outcome.stdout).toContain('acc_1');
    expect(outcome.stdout).toContain('ada@example.com');
    expect(api.requests[0]).toMatchObject({ method, path });
    expect(api.requests[0]?.body).toEqual(body);
    const asJson = await api.terse(['accounts', ...argv, '--json']);
    expect(JSON.parse(asJson.stdout)).toEqual(account);
  });

  test('prints the address of an invitation alone, for a script to capture', async () => {
    const invitation = { url: 'https://sho.rt/dashboard/invitation#t', token: 't', expiresAt: '2026-01-08' };
    api.answer = () => Response.json(invitation, { status: 201 });
    const outcome = await api.terse(['accounts', 'invite', 'acc_1']);
    expect(outcome).toMatchObject({ exitCode: 0, stdout: `${invitation.url}\n` });
    expect(outcome.stderr).toContain('until 2026-01-08');
    expect(JSON.parse((await api.terse(['accounts', 'invite', 'acc_1', '--json'])).stdout)).toEqual(
      invitation,
    );
    expect(api.requests[0]).toMatchObject({ method: 'POST', path: '/api/v1/accounts/acc_1/invitation' });
  });

  test('an edit that changes nothing is not sent', async () => {
    expect((await api.terse(['accounts', 'edit', 'acc_1'])).exitCode).toBe(2);
    expect(api.requests).toEqual([]);
  });

  test.each([[['create']], [['show']], [['invite']], [['list', 'x']], [['drop', 'x']], [['toString', 'x']]])(
    '%j is answered with the usage',
    async more => {
      const outcome = await api.terse(['accounts', ...more]);
      expect(outcome.exitCode).toBe(2);
      expect(outcome.stderr).toContain('usage: terse accounts [list | create NAME');
    },
  );
});
