import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();

describe('keys', () => {
  const key = {
    id: 'k1',
    accountId: 'a1',
    name: 'ci',
    scopes: ['links:read', 'links:write'],
    createdAt: '2026-01-01',
    lastUsedAt: null,
    expiresAt: null,
    previousUntil: null,
    revokedAt: null,
  };

  test('lists keys with what they may do and whether they work', async () => {
    const clock = new ManualClock(Date.parse('2026-06-01'));
    api.answer = () =>
      Response.json({
        keys: [
          key,
          { ...key, id: 'k2', revokedAt: '2026-02-01' },
          { ...key, id: 'k3', expiresAt: '2026-05-01' },
          { ...key, id: 'k4', expiresAt: '2026-07-01', scopes: ['admin'] },
        ],
      });
    const outcome = await api.terse(['keys'], { clock });
    const lines = outcome.stdout.split('\n').map(line => line.split(/ {2,}/));
    expect(lines.slice(1, -1)).toEqual([
      ['k1', '2026-01-01', 'never', 'active', 'links:read,links:write', 'ci'],
      ['k2', '2026-01-01', 'never', 'revoked', 'links:read,links:write', 'ci'],
      ['k3', '2026-01-01', 'never', 'expired', 'links:read,links:write', 'ci'],
      ['k4', '2026-01-01', 'never', 'until 2026-07-01', 'admin', 'ci'],
    ]);
    expect((await api.terse(['keys', 'list'], { clock })).stdout).toBe(outcome.stdout);
    await api.terse(['keys', '--account=acc_1']);
    expect(api.requests.at(-1)).toMatchObject({ method: 'GET', path: '/api/v1/keys?accountId=acc_1' });
  });

  test('prints a new key alone, for a script to capture', async () => {
    api.answer = () => Response.json({ ...key, key: 'the-key' }, { status: 201 });
    const outcome = await api.terse(['keys', 'create', 'ci']);
    expect(outcome).toMatchObject({ exitCode: 0, stdout: 'the-key\n' });
    expect(outcome.stderr).toContain('shown this once');
    expect(api.requests).toMatchObject([{ method: 'POST', path: '/api/v1/keys', body: { name: 'ci' } }]);
  });

  test('creates a key with the requested scopes, expiry and account', async () => {
    api.answer = () => Response.json({ ...key, key: 'the-key' }, { status: 201 });
    const clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
    await api.terse(
      ['keys', 'create', 'ci', '--scopes=links:read, stats:read', '--expires=7d', '--account=a1'],
      {
        clock,
      },
    );
    expect(api.requests[0]?.body).toEqual({
      name: 'ci',
      scopes: ['links:read', 'stats:read'],
      expiresAt: '2026-01-08T00:00:00.000Z',
      accountId: 'a1',
    });
  });

  test('rotates a key and prints its new secret alone', async () => {
    api.answer = () => Response.json({ ...key, key: 'the-new-key' });
    expect(await api.terse(['keys', 'rotate', 'k1', '--overlap=60'])).toMatchObject({
      exitCode: 0,
      stdout: 'the-new-key\n',
    });
    await api.terse(['keys', 'rotate', 'a/b']);
    expect(api.requests).toMatchObject([
      { method: 'POST', path: '/api/v1/keys/k1/rotate', body: { overlapSeconds: 60 } },
      { method: 'POST', path: '/api/v1/keys/a%2Fb/rotate', body: {} },
    ]);
  });

  test('revokes a key, whatever its id looks like', async () => {
    api.answer = () => new Response(null, { status: 204 });
    expect(await api.terse(['keys', 'revoke', 'a/b'])).toMatchObject({
      exitCode: 0,
      stdout: 'Revoked a/b.\n',
    });
    expect(api.requests).toMatchObject([{ method: 'DELETE', path: '/api/v1/keys/a%2Fb' }]);
  });

  test.each([[['create']], [['revoke']], [['rotate']], [['list', 'x']], [['drop', 'x']]])(
    '%j is answered with the usage',
    async more => {
      const outcome = await api.terse(['keys', ...more]);
      expect(outcome.exitCode).toBe(2);
      expect(outcome.stderr).toContain('usage: terse keys [list | create NAME | rotate ID | revoke ID]');
    },
  );
});
