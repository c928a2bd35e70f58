/**
 * Terse where nothing can be written but its data folder, and with no power that ordinary programs lack: what the
 * container, the service and the pods promise it can live with. The system is made so for one process and its children.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { callerOf } from '../kit/client.ts';
import { startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { browser } from '../kit/visitors.ts';

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The folder becomes a place of its own, so that it stays as it is when everything around it becomes read-only. */
const script = `
mount --bind "$0" "$0"
for place in $(cut -d' ' -f2 /proc/self/mounts); do
  case $place in /proc*|/sys*|/dev*|"$0") ;; *) mount -o remount,bind,ro "$place" 2>/dev/null;; esac
done
if touch "$0/../terse-written" 2>/dev/null; then exit 99; fi
exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"`;
const confined = (command: readonly string[]): string[] => [
  'unshare',
  '--map-root-user',
  '--mount',
  'sh',
  '-c',
  script,
  folder,
  ...command,
];
const canConfine =
  Bun.which('unshare') !== null && Bun.which('setpriv') !== null && Bun.spawnSync(confined(['true'])).success;

describe.skipIf(!canConfine)('with a read-only file system and no capabilities', () => {
  test('Terse starts, makes links, counts their clicks, restarts and stops', async () => {
    const env = { TERSE_WORKERS: '2', TMPDIR: '/nowhere', HOME: '/nowhere' };
    for (const round of [1, 2]) {
      const terse = await startTerseProcess({ dataFolder: folder, env, wrap: confined });
      const call = callerOf(terse.url);
      const customAlias = `round-${round}`;
      const body = { longUrl: 'https://example.com/', customAlias };
      expect((await call('POST', '/api/v1/links', { body })).status).toBe(201);
      const visit = await fetch(`${terse.url}/round-1`, { headers: browser, redirect: 'manual' });
      expect(visit.status).toBe(302);
      const countedClicks = async (): Promise<number> =>
        (await call('GET', '/api/v1/links/round-1/stats')).body.totalClicks;
      await until('the click', async () => (await countedClicks()) >= round);
      expect(await countedClicks()).toBe(round);
      expect(await terse.stop()).toBe(0);
    }
  });
});
