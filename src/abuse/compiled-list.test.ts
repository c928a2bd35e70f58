import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { acceptList, compileFile, compileList, entryCount } from './compiled-list.ts';
import { HeldBack } from './watched-file.ts';

const key = new Uint8Array(8).fill(7);
const folder = mkdtempSync(join(tmpdir(), 'terse-list-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const feed = (count: number): string =>
  Array.from({ length: count }, (_, index) => `evil${index}.example\n`).join('');
const list = (text: string) => compileList(text, key);

describe('a list file', () => {
  const compiled = (content: string | Uint8Array) => {
    const path = join(folder, 'list');
    writeFileSync(path, content);
    return compileFile(path, key);
  };

  test('is read whole', async () => {
    expect(entryCount(await compiled(feed(10)))).toBe(10);
  });

  test('is the same list in however many chunks it is read', async () => {
    const text = `${feed(40_000)}# bücher, 例え\nlast.example`;
    const path = join(folder, 'long');
    writeFileSync(path, text);
    expect(await compileFile(path, key)).toEqual(list(text));
  });

  test('without a byte is a download that failed; one with a comment is an empty list', async () => {
    await expect(compiled('')).rejects.toThrow('empty');
    expect(entryCount(await compiled('# nothing is blocked\n'))).toBe(0);
  });

  test('that is not text is rejected', async () => {
    await expect(compiled(Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0))).rejects.toThrow('not text');
    await expect(compiled(Uint8Array.of(0x65, 0xff, 0xfe, 0x0a))).rejects.toThrow('not UTF-8');
  });
});

describe('a new version of a list', () => {
  test('replaces the old one', () => {
    const next = list('b.example\n');
    expect(acceptList(next, list('a.example\n'), false)).toBe(next);
    expect(acceptList(next, undefined, false)).toBe(next);
  });

  test('with an unreadable line is rejected, if it has few lines', () => {
    const current = list('a.example\nb.example\n');
    expect(() => acceptList(list('a.example\ngoo'), current, false)).toThrow(
      '1 of 2 lines cannot be read: line 2: "goo" is not a domain or URL',
    );
    const next = list(`${feed(20)}goo\n`);
    expect(acceptList(next, current, false)).toBe(next);
  });

  test('may have lines that are rejected for their effect', () => {
    const next = list('co.uk\ncom\nevil.example\n');
    expect(acceptList(next, list('a.example\n'), false)).toBe(next);
  });

  test('is accepted at the start as far as it is readable, unless that is less than half', () => {
    const next = list('a.example\nb.example\ngoo\n');
    expect(acceptList(next, undefined, false)).toBe(next);
    expect(() => acceptList(list('<html>\n<body>\na.example\n'), undefined, false)).toThrow('2 of 3 lines');
  });

  test('that lost most of a long list, or its last line break, is held back until it is confirmed', () => {
    const current = list(feed(2_000));
    const cutInHalf = list(feed(900));
    const cutInLine = list(feed(1_900).slice(0, -4));
    for (const next of [cutInHalf, cutInLine]) {
      expect(() => acceptList(next, current, false)).toThrow(HeldBack);
      expect(acceptList(next, current, true)).toBe(next);
    }
  });

  test('may be shorter when it is short, or only a little', () => {
    const oneLeft = list('a.example');
    expect(acceptList(oneLeft, list(feed(900)), false)).toBe(oneLeft);
    const someLess = list(feed(1_500));
    expect(acceptList(someLess, list(feed(2_000)), false)).toBe(someLess);
  });
});
