import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointFile } from './checkpoint-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-kept-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('the next process reads the number, in a folder that is created if missing', () => {
  const path = join(folder, 'new', 'number');
  expect(new CheckpointFile(path).read()).toBeUndefined();
  new CheckpointFile(path).write(7);
  new CheckpointFile(path).write(12_345_678_901);
  expect(new CheckpointFile(path).read()).toBe(12_345_678_901);
  expect(readdirSync(join(folder, 'new'))).toEqual(['number']);
  new CheckpointFile(path).forget();
  expect(new CheckpointFile(path).read()).toBeUndefined();
});

test.each(['', '7', '-1\n', '1.5\n', '7\n8\n', 'seven\n'])('%j is no number', text => {
  const path = join(folder, 'number');
  writeFileSync(path, text);
  expect(new CheckpointFile(path).read()).toBeUndefined();
});

test('a write that was cut off leaves the old number', () => {
  const path = join(folder, 'number');
  new CheckpointFile(path).write(7);
  writeFileSync(`${path}.new`, '1');
  expect(new CheckpointFile(path).read()).toBe(7);
  new CheckpointFile(path).write(8);
  expect(new CheckpointFile(path).read()).toBe(8);
});
