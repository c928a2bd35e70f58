import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../terse-process.ts';
import { unpackOnce } from './unpacked-package.ts';

let cache: string;
beforeEach(() => {
  cache = temporaryFolder();
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

const folderIn = (name = 'engine') => join(cache, name);
const fillWith = (text: string) => (into: string) => {
  mkdirSync(join(into, 'bin'));
  writeFileSync(join(into, 'bin/program'), text);
  return true;
};
const unpack = (fill: (into: string) => boolean) => unpackOnce(folderIn(), 'bin/program', fill);
const contents = () => readFileSync(join(folderIn(), 'bin/program'), 'utf8');

describe('a package in the cache', () => {
  test('is unpacked once', () => {
    expect(unpack(fillWith('first'))).toBe(true);
    expect(unpack(fillWith('second'))).toBe(true);
    expect(contents()).toBe('first');
  });

  test('is not there before it is whole', () => {
    unpack(into => {
      fillWith('half')(into);
      expect(existsSync(folderIn())).toBe(false);
      return true;
    });
    expect(contents()).toBe('half');
  });

  test('is the first one finished when two unpack at once', () => {
    const isDone = unpack(into => {
      mkdirSync(folderIn());
      fillWith('faster')(folderIn());
      return fillWith('slower')(into);
    });
    expect(isDone).toBe(true);
    expect(contents()).toBe('faster');
    expect(readdirSync(cache)).toEqual(['engine']);
  });

  test.each([
    ['cannot be fetched', () => false],
    ['lacks the program', () => true],
    [
      'breaks',
      () => {
        throw new Error('no space left');
      },
    ],
  ])('leaves nothing behind when it %s', (_why, fill) => {
    expect(unpack(fill)).toBe(false);
    expect(readdirSync(cache)).toEqual([]);
  });

  test('takes the place of one that lacks its program', () => {
    mkdirSync(folderIn());
    expect(unpack(fillWith('whole'))).toBe(true);
    expect(contents()).toBe('whole');
  });
});
