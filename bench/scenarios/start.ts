/**
 * How long an operator waits: from the command to the first redirect, for a first start and for a restart; by npm,
 * by the runtime, and by the executable that needs neither.
 */
import { existsSync, mkdtempSync, statSync } from 'node:fs';
import { join } from 'node:path';
import packageDocument from '../../package.json' with { type: 'json' };
import { adminKey, startTerseProcess } from '../../test/kit/terse-process.ts';
import { freePort } from '../kit/free-port.ts';
import { measure } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Scenario } from '../kit/scenario.ts';
import { createLinks } from '../kit/visits.ts';

const startsPerRound = 3;
const startMaxMs = 20_000;
const pollMs = 2;
const megabyte = 1024 * 1024;
const root = join(import.meta.dir, '../..');
const buildScript = 'build:exe';

export const start: Scenario = {
  name: 'start',
  summary: 'from the command to the first redirect, and the size of the executable',
  run: ({ inFolder, note, options }) =>
    inFolder(async folder => {
      const executable = await buildExecutable();
      if (executable === undefined) note(`there is no ${buildScript} that makes an executable`);
      const commands: Record<string, string[]> = {
        'npm start': ['npm', 'start', '--silent'],
        'bun src/main.ts serve': [process.execPath, 'src/main.ts', 'serve'],
        ...(executable !== undefined && { 'the executable': [executable, 'serve'] }),
      };
      const existing = mkdtempSync(join(folder, 'existing-'));
      const terse = await startTerseProcess({ dataFolder: existing });
      const code = (await createLinks(terse.url, 1)).codeAt(0);
      await terse.stop();
      const turns = Object.entries(commands).flatMap(([name, command]) => [
        [
          `${name}, empty folder, first page`,
          () => msToFirst('/', 200, command, mkdtempSync(join(folder, 'empty-'))),
        ],
        [`${name}, existing data, first redirect`, () => msToFirst(`/${code}`, 302, command, existing)],
      ]);
      const starts = options.rounds * startsPerRound;
      const rounds = await interleaved(
        starts,
        Object.fromEntries(turns) as Record<string, () => Promise<number>>,
      );
      const times = {
        title: `From the command to the first answer, ${starts} starts each`,
        columns: ['command', 'ms'],
        rows: Object.entries(rounds).map(([name, values]) => [name, measure(values)]),
      };
      if (executable === undefined) return { tables: [times] };
      const bytes = statSync(executable).size;
      const size = {
        title: 'The executable',
        columns: ['what', 'figure', 'unit'],
        rows: [['size, the runtime and all that it serves included', measure(bytes / megabyte, 1), 'MiB']],
      };
      return { tables: [times, size] };
    }),
};

/** Undefined when this version has no such script. */
async function buildExecutable(): Promise<string | undefined> {
  const script: string | undefined = (packageDocument.scripts as Record<string, string>)[buildScript];
  const output = /--outfile[= ](\S+)/.exec(script ?? '')?.[1];
  if (script === undefined || output === undefined) return undefined;
  const build = Bun.spawn(['npm', 'run', '--silent', buildScript], {
    cwd: root,
    stdout: 'ignore',
    stderr: 'inherit',
  });
  const isBuilt = (await build.exited) === 0 && existsSync(join(root, output));
  return isBuilt ? join(root, output) : undefined;
}

async function msToFirst(
  path: string,
  status: number,
  command: string[],
  dataFolder: string,
): Promise<number> {
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
    await firstAnswer(`http://127.0.0.1:${port}${path}`, status);
    return (Bun.nanoseconds() - startedNs) / 1e6;
  } finally {
    process.kill(-child.pid, 'SIGTERM');
    await child.exited;
  }
}

async function firstAnswer(url: string, status: number): Promise<void> {
  for (const deadlineMs = performance.now() + startMaxMs; performance.now() < deadlineMs; ) {
    const answer = await fetch(url, { redirect: 'manual' }).catch(() => undefined);
    if (answer?.status === status) return;
    await Bun.sleep(pollMs);
  }
  throw new Error(`Terse did not start, or ${url} never got ${status}`);
}
