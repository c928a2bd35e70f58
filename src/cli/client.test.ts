import { describe, expect, test } from 'bun:test';
import { fakeApi } from './fake-api.ts';

const api = fakeApi();

test('a failure says plainly whether anything was done', async () => {
  const refuse = async (outcome: string): Promise<string> => {
    api.answer = () =>
      Response.json(
        { title: 'Store unavailable', detail: 'Store unavailable', status: 503, outcome },
        { status: 503 },
      );
    return (await api.terse(['show', 'abc1234'])).stderr;
  };
  expect(await refuse('unknown')).toContain('Store unavailable (outcome unknown: it may have been done)');
  expect(await refuse('none')).toContain('Store unavailable (nothing was done)');
});

describe('the key', () => {
  const sent = async (argv: string[], env: Record<string, string>): Promise<string | null | undefined> => {
    await api.terse(['show', 'abc1234', ...argv], { env });
    return api.requests.at(-1)?.authorization;
  };

  test("is taken from the flag, else the environment, else the administrator's, else absent", async () => {
    const admin = { TERSE_ADMIN_KEY: 'admin-admin-admin' };
    expect(await sent(['--key=flag'], { ...admin, TERSE_KEY: 'variable' })).toBe('Bearer flag');
    expect(await sent([], { ...admin, TERSE_KEY: 'variable' })).toBe('Bearer variable');
    expect(await sent([], admin)).toBe('Bearer admin-admin-admin');
    expect(await sent([], {})).toBeNull();
  });

  test('does not follow a redirect', async () => {
    api.answer = () => new Response(null, { status: 302, headers: { location: `${api.address}/elsewhere` } });
    const outcome = await api.terse(['show', 'abc1234', '--key=flag']);
    expect(api.requests).toHaveLength(1);
    expect(outcome.exitCode).toBe(1);
    expect(outcome.stderr).toContain('answered 302, not the way Terse does');
  });
});
