import { expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentWithLibraries } from './debian-packages.ts';

test('the loader only looks where unpacked packages have libraries', () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-packages-'));
  const put = (path: string): void => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), '');
  };
  put('usr/lib/x86_64-linux-gnu/libpulse.so.0');
  put('usr/lib/x86_64-linux-gnu/pulseaudio/libpulsecommon-16.1.so');
  put('usr/lib/x86_64-linux-gnu/pkgconfig/libpulse.pc');
  put('lib/x86_64-linux-gnu/libdbus-1.so.3');
  const looked = environmentWithLibraries(folder).LD_LIBRARY_PATH!.split(':');
  expect(looked.filter(path => path.startsWith(folder)).map(path => path.slice(folder.length))).toEqual([
    '/usr/lib/x86_64-linux-gnu',
    '/usr/lib/x86_64-linux-gnu/pulseaudio',
    '/lib/x86_64-linux-gnu',
  ]);
  rmSync(folder, { recursive: true, force: true });
});

test('where nothing is unpacked the environment is unchanged', () => {
  expect(environmentWithLibraries(join(tmpdir(), 'terse-nowhere'))).toBe(
    process.env as Record<string, string>,
  );
});
