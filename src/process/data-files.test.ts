/** Fixing file modes: of everything that is ours, of nothing else, and not through symbolic links. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeToOthers } from './data-files.ts';

let folder: string;
const at = (name: string): string => join(folder, name);
const modeOf = (name: string): string => (statSync(at(name)).mode & 0o7777).toString(8);

function write(name: string, mode: number): void {
  writeFileSync(at(name), name);
  chmodSync(at(name), mode);
}

function make(name: string, mode: number): void {
  mkdirSync(at(name));
  chmodSync(at(name), mode);
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-private-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a folder and everything in it lose the rights of group and others, and keep those of the owner', () => {
  chmodSync(folder, 0o777);
  write('terse.db', 0o644);
  write('run', 0o755);
  make('clicks', 0o755);
  make('clicks/2026-01-01', 0o775);
  write('clicks/2026-01-01/a.log', 0o666);
  expect(closeToOthers(folder)).toEqual([]);
  const modes = ['', 'terse.db', 'run', 'clicks', 'clicks/2026-01-01', 'clicks/2026-01-01/a.log'].map(modeOf);
  expect(modes).toEqual(['700', '600', '700', '700', '700', '600']);
});

test('entries that are not ours keep their modes', () => {
  write('terse.db', 0o644);
  write('notes.txt', 0o644);
  make('public', 0o755);
  closeToOthers(folder, name => name.startsWith('terse'));
  expect(['terse.db', 'notes.txt', 'public'].map(modeOf)).toEqual(['600', '644', '755']);
});

test('a symbolic link and its target keep their modes', () => {
  make('elsewhere', 0o755);
  write('elsewhere/file', 0o644);
  make('clicks', 0o755);
  symlinkSync(at('elsewhere'), at('clicks/day'));
  symlinkSync(at('elsewhere/file'), at('clicks/a.log'));
  closeToOthers(folder, name => name === 'clicks');
  expect(['clicks', 'elsewhere', 'elsewhere/file'].map(modeOf)).toEqual(['700', '755', '644']);
});

test('a missing folder is not an error', () => {
  expect(closeToOthers(at('missing'))).toEqual([]);
  writeFileSync(at('file'), '');
  expect(closeToOthers(at('file/below'))).toEqual([]);
});
