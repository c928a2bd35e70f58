import { describe, expect, test } from 'bun:test';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();

describe('keys', () => {
  const key = { id: 'k1', name: 'ci', createdAt: '2026-01-01', lastUsedAt: null, revokedAt: null };

  test('lists keys', async () => {
    api.answer = () => Response.json({ keys: [key, { ...key, id: 'k2', revokedAt: '2026-02-01' }] });
    const outcome = await api.terse(['keys']);
    expect(outcome.stdout).toContain('k1  2026-01-01  never      active   ci\n');
    expect(outcome.stdout).toContain('k2  2026-01-01  never      revoked  ci\n');
    expect((await api.terse(['keys', 'list'])).stdout).toBe(outcome.stdout);
  });

  test('prints a new key alone, for a script to capture', async () => {
    api.answer = () => Response.json({ ...key, key: 'the-key' }, { status: 201 });
    const outcome = await api.terse(['keys', 'create', 'ci']);
    expect(outcome).toMatchObject({ exitCode: 0, stdout: 'the-key\n' });
    expect(outcome.stderr).toContain('shown this once');
    expect(api.requests).toMatchObject([{ method: 'POST', path: '/api/v1/keys', body: { name: 'ci' } }]);
  });

  test('revokes a key, whatever its id looks like', async () => {
    api.answer = () => new Response(null, { status: 204 });
    expect(await api.terse(['keys', 'revoke', 'a/b'])).toMatchObject({
      exitCode: 0,
      stdout: 'Revoked a/b.\n',
    });
    expect(api.requests).toMatchObject([{ method: 'DELETE', path: '/api/v1/keys/a%2Fb' }]);
  });

  test.each([[['create']], [['revoke']], [['list', 'x']], [['drop', 'x']]])(
    '%j is answered with the usage',
    async more => {
      const outcome = await api.terse(['keys', ...more]);
      expect(outcome.exitCode).toBe(2);
      expect(outcome.stderr).toContain('usage: terse keys [list | create NAME | revoke ID]');
    },
  );
});
