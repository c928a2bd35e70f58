/** deploy/terse.service, as systemd itself reads it where there is one, and as far as we can tell where not. */
import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingNames, settingOf } from '../../src/config/settings.ts';
import { handover } from '../../src/process/shutdown.ts';
import { temporaryFolder } from '../kit/terse-process.ts';

const unit = readFileSync(join(import.meta.dir, '../../deploy/terse.service'), 'utf8');
const program = '/usr/local/bin/terse';
const valuesOf = (name: string): string[] =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value!);

test('gives settings of ours', () => {
  const known = settingNames.map(name => settingOf(name).env);
  for (const value of valuesOf('Environment')) expect(known).toContain(value.split('=')[0]!);
});

test('writes to the folder that it is given, and to no other', () => {
  expect(valuesOf('Environment')).toContain(`TERSE_DATA=/var/lib/${valuesOf('StateDirectory')[0]}`);
  expect(valuesOf('ProtectSystem')).toEqual(['strict']);
  expect(valuesOf('ReadWritePaths')).toEqual([]);
});

test('waits for a stop for as long as one may take', () => {
  expect(Number(valuesOf('TimeoutStopSec')[0]) * 1_000).toBeGreaterThan(handover.finishMaxMs);
});

test('starts the command that exists, and reloads by the signal that it handles', () => {
  expect(valuesOf('ExecStart')).toEqual([`${program} serve`]);
  expect(valuesOf('ExecReload')[0]).toContain('-HUP');
});

describe.skipIf(Bun.which('systemd-analyze') === null)('systemd', () => {
  const folder = temporaryFolder();
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const copy = join(folder, 'terse.service');
  // Terse is not installed here, and systemd wants to see a program.
  writeFileSync(copy, unit.replaceAll(program, process.execPath));
  const analyze = (...options: string[]) => {
    const { success, stdout, stderr } = Bun.spawnSync(['systemd-analyze', ...options, copy]);
    return { success, said: stdout.toString() + stderr.toString() };
  };

  test('finds nothing wrong with it', () => {
    expect(analyze('verify')).toEqual({ success: true, said: '' });
  });

  test('finds it well protected', () => {
    // In tenths: 10 is what an unprotected service comes near to, and the network that it serves makes up most of this.
    const { success, said } = analyze('security', '--offline=true', '--threshold=20', '--no-pager');
    expect(said).toContain('Overall exposure level');
    expect(success).toBe(true);
  });
});
