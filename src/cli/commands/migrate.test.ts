import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { loadConfig } from '../../config/config.ts';
import { insertItem, sampleLink } from '../../links/store-samples.ts';
import { openStores, type Stores } from '../../stores/stores.ts';
import { createLog } from '../../telemetry/log.ts';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-migrate-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const place = (name: string): string => `sqlite:${join(folder, name)}`;
const migrate = (...argv: string[]) => api.terse(['migrate', ...argv]);

/** Opens a folder as a server does. */
function openFolder(name: string): Promise<Stores> {
  const config = loadConfig({ argv: ['--data', join(folder, name)], env: {}, readFile: () => '{}' });
  const log = createLog({ level: 'silent', clock: systemClock, write: () => undefined });
  return openStores(config, { clock: systemClock, random: systemRandom, log });
}

async function fill(name: string, ...codes: string[]): Promise<void> {
  const { links: store } = await openFolder(name);
  await store.installationSecret(new Uint8Array(32).fill(1));
  await store.insert(codes.map(code => insertItem(sampleLink(code))));
  await store.close();
}

describe('migrate', () => {
  test('copies a data folder, follows it, and ends with counts and checksums', async () => {
    await fill('one', 'a', 'b');
    const first = await migrate('--from', place('one'), '--to', place('two'), '--rate', '1000000');
    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    expect(first.stdout).toContain('copied 2 links\n');
    expect(first.stdout).toContain('run the same command with --final');
    await fill('one', 'c');
    const last = await migrate('--from', place('one'), '--to', place('two'), '--final');
    expect(last.exitCode).toBe(0);
    expect(last.stdout).toMatch(/^links +3 ([0-9a-f]{16}) +3 \1 +equal$/m);
    expect(last.stdout).toContain('Verified: start Terse on the target now.');
    const again = await migrate('--from', place('one'), '--to', place('two'), '--final');
    expect(again.stdout).toContain('This migration was finished and verified at');
  });

  test('keeps servers off the target until it is finished', async () => {
    await fill('one', 'a');
    const open = () => openFolder('two');
    await migrate('--from', place('one'), '--to', place('two'));
    await expect(open()).rejects.toThrow(
      `the store holds an unfinished copy of sqlite ${join(folder, 'one')}: finish it with`,
    );
    await migrate('--from', place('one'), '--to', place('two'), '--final');
    const stores = await open();
    expect(await stores.links.find('a')).toBeDefined();
    await stores.links.close();
  });

  test('as a dry run reports the records and creates nothing', async () => {
    await fill('one', 'a', 'b');
    const tried = await migrate('--from', place('one'), '--to', place('two'), '--dry-run');
    expect(tried).toMatchObject({ exitCode: 0 });
    expect(tried.stdout).toContain('links: 2\n');
    expect(existsSync(join(folder, 'two'))).toBe(false);
  });

  test('rejects a target that is in use, in one line', async () => {
    await fill('one', 'a');
    await fill('two', 'b');
    for (const more of [[], ['--dry-run'], ['--final']]) {
      expect(await migrate('--from', place('one'), '--to', place('two'), ...more)).toMatchObject({
        exitCode: 1,
        stderr: `terse: sqlite ${join(folder, 'two')} is not empty (it has installation): choose an empty target\n`,
      });
    }
  });

  test('rejects a source that does not exist, and does not create it', async () => {
    const outcome = await migrate('--from', place('none'), '--to', place('two'));
    expect(outcome).toMatchObject({
      exitCode: 1,
      stderr: `terse: there is no Terse installation in sqlite ${join(folder, 'none')}\n`,
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('says in one line what is wrong with an address, and no password', async () => {
    await fill('one', 'a');
    const nonsense = await migrate('--from', 'mysql://root:hunter2@db/terse', '--to', place('two'));
    expect(nonsense).toMatchObject({
      exitCode: 1,
      stderr: 'terse: --from is not a store: use sqlite:FOLDER, postgres://… or dynamodb://…\n',
    });
    const addresses = [
      'postgres://root:hunter2@127.0.0.1:1/terse',
      'postgres://root:hunter2@127.0.0.1:1/terse?pool=0',
      'dynamodb://x?endpoint=http://127.0.0.1:1',
    ];
    for (const address of addresses) {
      const { exitCode, stderr } = await migrate('--from', place('one'), '--to', address);
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/^terse: --to cannot be opened: .+\n$/);
      expect(stderr).not.toContain('hunter2');
    }
  });

  test('needs both stores, and a rate that can be kept', async () => {
    expect(await migrate('--from', place('one'))).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('both stores are needed'),
    });
    const rate = await migrate('--from', place('one'), '--to', place('two'), '--rate', '0');
    expect(rate).toMatchObject({ exitCode: 2, stderr: 'terse: --rate must be from 1 to 10000000\n' });
  });
});
