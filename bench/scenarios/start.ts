/** How long an operator waits: from the command to the first answer, for a first start and for a restart. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { adminKey, startTerseProcess } from '../../test/kit/terse-process.ts';
import { measure } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Scenario } from '../kit/scenario.ts';

const starts = 10;
const startMaxMs = 20_000;
const pollMs = 2;
const root = join(import.meta.dir, '../..');

const commands = {
  'npm start': ['npm', 'start', '--silent'],
  'bun src/main.ts serve': [process.execPath, 'src/main.ts', 'serve'],
};

export const start: Scenario = {
  name: 'start',
  summary: 'from the command to the first answer',
  run: ({ inFolder }) =>
    inFolder(async folder => {
      const existing = mkdtempSync(join(folder, 'existing-'));
      await (await startTerseProcess({ dataFolder: existing })).stop();
      const empty = (): string => mkdtempSync(join(folder, 'empty-'));
      const rounds = await interleaved(starts, {
        'npm start, empty folder': () => msToFirstAnswer(commands['npm start'], empty()),
        'npm start, existing data': () => msToFirstAnswer(commands['npm start'], existing),
        'bun src/main.ts serve, empty folder': () =>
          msToFirstAnswer(commands['bun src/main.ts serve'], empty()),
        'bun src/main.ts serve, existing data': () =>
          msToFirstAnswer(commands['bun src/main.ts serve'], existing),
      });
      return [
        {
          title: `Time to the first 200 of /health/live, ${starts} starts each`,
          columns: ['command', 'ms'],
          rows: Object.entries(rounds).map(([name, times]) => [name, measure(times)]),
        },
      ];
    }),
};

async function msToFirstAnswer(command: string[], dataFolder: string): Promise<number> {
  const port = freePort();
  const startedNs = Bun.nanoseconds();
  // A group of its own, so that ending it ends what npm started as well, and nothing else.
  const child = Bun.spawn(command, {
    cwd: root,
    detached: true,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: String(port),
      TERSE_DATA: dataFolder,
      TERSE_ADMIN_KEY: adminKey,
      TERSE_LOG_LEVEL: 'error',
    },
  });
  try {
    await firstAnswer(`http://127.0.0.1:${port}/health/live`);
    return (Bun.nanoseconds() - startedNs) / 1e6;
  } finally {
    process.kill(-child.pid, 'SIGTERM');
    await child.exited;
  }
}

async function firstAnswer(url: string): Promise<void> {
  for (const deadlineMs = performance.now() + startMaxMs; performance.now() < deadlineMs; ) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.status === 200) return;
    await Bun.sleep(pollMs);
  }
  throw new Error('Terse did not start');
}

function freePort(): number {
  const probe = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const { port } = probe;
  probe.stop(true);
  return port!;
}
