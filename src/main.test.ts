import { expect, test } from 'bun:test';
import { fileURLToPath } from 'node:url';
import { fakeApi } from './cli/fake-api.ts';

const api = fakeApi();
const launcher = fileURLToPath(new URL('../bin/terse.mjs', import.meta.url));

/** Runs Terse the way an installation does: plain Node starts the launcher. */
function launch(argv: readonly string[]) {
  return Bun.spawn(['node', launcher, ...argv], { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' });
}

test('the launcher passes arguments, standard streams and the exit code through', async () => {
  const good = launch(['shorten', '-', '--server', api.address]);
  good.stdin.write('https://example.com/a\n');
  await good.stdin.end();
  expect(await good.stdout.text()).toBe('https://sho.rt/abc1234\n');
  expect(await good.exited).toBe(0);

  const wrong = launch(['shroten']);
  expect(await wrong.stderr.text()).toBe('terse: shroten is not a command: did you mean shorten?\n');
  expect(await wrong.exited).toBe(2);
});

test('a configuration that is wrong stops the server with one line and exit code 2', async () => {
  const wrong = launch(['serve', '--port=x']);
  expect(await wrong.stderr.text()).toBe(
    'terse: --port=x is not allowed: use 0 to 65535; 0 takes any free port\n',
  );
  expect(await wrong.exited).toBe(2);
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  'the launcher hands %s on and ends the way its child ended',
  async signal => {
    const asked = Promise.withResolvers<void>();
    api.answer = () => {
      asked.resolve();
      return new Promise(() => {});
    };
    const waiting = launch(['shorten', 'https://example.com/a', '--server', api.address]);
    await asked.promise;
    waiting.kill(signal);
    await waiting.exited;
    expect(waiting.signalCode).toBe(signal);
    // The child held the other end of this pipe, so its end tells that the child is gone too.
    expect(await waiting.stdout.text()).toBe('');
  },
);
