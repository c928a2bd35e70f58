/** The start of several workers: on an empty folder, all at once, or not at all and with one line that says why. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { callerOf } from '../kit/client.ts';
import { heavyTestMaxMs } from '../kit/scale.ts';
import { firstKeyIn, startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';
import { scrape } from '../kit/worker-processes.ts';

let dataFolder: string;

beforeEach(() => {
  dataFolder = temporaryFolder();
});

afterEach(() => {
  rmSync(dataFolder, { recursive: true, force: true });
});

test(
  'eight workers set up an empty folder together, announce the admin key once, and show their numbers as one',
  async () => {
    const env = { TERSE_WORKERS: '8', TERSE_ADMIN_KEY: undefined };
    const terse = await startTerseProcess({ dataFolder, env });
    expect(terse.banner.match(/^ {4}\/.*\/admin-key$/gm)).toHaveLength(1);
    const call = callerOf(terse.url);
    const key = firstKeyIn(dataFolder);
    const created = await call('POST', '/api/v1/links', { key, body: { longUrl: 'https://example.com/' } });
    expect(created.status).toBe(201);
    const visits = new VisitTally(sampleVisits({ codes: [created.body.shortCode] }));
    await sendVisits({ url: terse.url, visits, connections: 8, count: 64, visitsPerConnection: 1 });
    const seen = await Promise.all(Array.from({ length: 5 }, () => scrape(terse.url)));
    for (const shown of seen) {
      expect(shown.get('url_redirects_total{status="302"}')).toBe(64);
      expect(shown.get('terse_workers_reporting')).toBe(8);
    }
    expect(await terse.stop()).toBe(0);
  },
  heavyTestMaxMs,
);

describe('what cannot be started', () => {
  /** Starts two workers that fail; returns the output, the exit code, and the workers that are left. */
  async function fail(env: Readonly<Record<string, string>>): Promise<{ said: string[]; exitCode: number }> {
    const command = [process.execPath, join(import.meta.dir, '../../src/main.ts'), 'serve'];
    const child = Bun.spawn(command, {
      env: { PATH: process.env.PATH, PORT: '0', TERSE_DATA: dataFolder, TERSE_WORKERS: '2', ...env },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    // A remaining worker would keep these pipes open.
    const [said, printed] = await Promise.all([child.stderr.text(), child.stdout.text()]);
    expect(printed).toBe('');
    return { said: said.trim().split('\n'), exitCode: await child.exited };
  }

  test('because the port is taken says so in one line', async () => {
    const stranger = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
    const { said, exitCode } = await fail({ PORT: String(stranger.port) });
    stranger.stop();
    expect(said).toEqual([
      `terse: port ${stranger.port} is already in use: choose another with --port or PORT`,
    ]);
    expect(exitCode).toBe(1);
  });

  test('because the data folder is none says so in one line, once', async () => {
    const file = join(dataFolder, 'file');
    await Bun.write(file, '');
    const { said, exitCode } = await fail({ TERSE_DATA: file });
    expect(said).toEqual([expect.stringMatching(/^terse: the server could not start: .*file/)]);
    expect(exitCode).toBe(1);
  });

  test('because a setting is wrong in a way that only a worker finds out says so in one line, once', async () => {
    const { said, exitCode } = await fail({ TERSE_RESERVED_FILE: join(dataFolder, 'missing') });
    expect(said).toEqual([expect.stringMatching(/^terse: TERSE_RESERVED_FILE .*missing cannot be used/)]);
    expect(exitCode).toBe(2);
  });
});
