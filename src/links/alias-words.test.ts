import { describe, expect, test } from 'bun:test';
import { parseWordFile } from './alias-words.ts';

const defaults = ['admin', 'api', 'docs'];

describe('a word file', () => {
  test('that is empty leaves the defaults', () => {
    expect(parseWordFile('', defaults)).toEqual(defaults);
    expect(parseWordFile('\n\n  \n# nothing but a comment\n', defaults)).toEqual(defaults);
  });

  test('adds words, with or without a plus', () => {
    expect(parseWordFile('acme\n+team', defaults)).toEqual([...defaults, 'acme', 'team']);
  });

  test('removes defaults, and ignores the removal of a word that is not a default', () => {
    expect(parseWordFile('-docs\n-never-there', defaults)).toEqual(['admin', 'api']);
  });

  test('replaces the defaults when it starts with !only', () => {
    expect(parseWordFile('!only\nacme', defaults)).toEqual(['acme']);
    expect(parseWordFile('# Ours.\n\n!only # all of it\nacme', defaults)).toEqual(['acme']);
    expect(parseWordFile('!only', defaults)).toEqual([]);
  });

  test('is read in any case, with comments, any line ends and a byte order mark', () => {
    const text = '\ufeff!ONLY\r\nAcme # ours\r\n\tteam \rlast';
    expect(parseWordFile(text, defaults)).toEqual(['acme', 'team', 'last']);
  });

  test('yields a word once, however often it is listed', () => {
    expect(parseWordFile('api\nacme\n+ACME', defaults)).toEqual([...defaults, 'acme']);
  });

  test('is applied from top to bottom', () => {
    expect(parseWordFile('acme\n-acme', defaults)).toEqual(defaults);
    expect(parseWordFile('-api\n+api', defaults)).toEqual(['admin', 'docs', 'api']);
  });

  test('keeps the prefixes of offensive terms, and removes by them', () => {
    expect(parseWordFile('=tit\n~title\n-=ass', ['=ass'])).toEqual(['=tit', '~title']);
  });

  test('can name a word that starts with one of its own signs', () => {
    expect(parseWordFile('+-dash\n++plus', [])).toEqual(['-dash', '+plus']);
  });

  test('with an invalid line is rejected by line number', () => {
    expect(() => parseWordFile('acme\n\ntwo words', defaults)).toThrow('line 3: "two words" is not a word');
    expect(() => parseWordFile('acme\n!only', defaults)).toThrow('line 2: "!only" is not a word');
    expect(() => parseWordFile('!onyl', defaults)).toThrow('line 1: "!onyl" is not a word');
    expect(() => parseWordFile('-', defaults)).toThrow('line 1: "-" is not a word');
  });
});
