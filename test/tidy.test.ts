/**
 * The repository's rules, run over its sources. A failure lists the offenders by file and line. Browser scripts
 * under src/web/assets are not TypeScript and are left out.
 */
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { isTestMaterial, mayImport } from './tidy-imports.ts';
import { offencesAgainst, rules } from './tidy-rules.ts';
import { harmless, offending } from './tidy-samples.ts';
import { readSource } from './tidy-source.ts';

const root = join(import.meta.dir, '..');

async function readAll() {
  const paths = await Array.fromAsync(new Bun.Glob('{src,test,bench}/**/*.{ts,tsx}').scan({ cwd: root }));
  const ours = paths.filter(path => !path.startsWith('src/web/assets/')).sort();
  return Promise.all(ours.map(async path => readSource(path, await Bun.file(join(root, path)).text())));
}

const files = await readAll();

describe('in this repository', () => {
  test('there are files to look at', () => {
    expect(files.map(file => file.path)).toContain('src/links/link.ts');
    expect(files.map(file => file.path)).toContain('test/tidy.test.ts');
  });

  test.each(rules.map(rule => [rule.promise, rule] as const))('%s', (_promise, rule) => {
    expect(offencesAgainst(rule, files)).toEqual([]);
  });

  test('every folder of src has its row in the import table', () => {
    const product = files.filter(({ path }) => path.startsWith('src/') && !isTestMaterial(path));
    const folders = new Set(product.map(({ path }) => path.split('/')[1]!));
    expect([...folders].filter(folder => mayImport[folder] === undefined)).toEqual([]);
  });
});

function ruleOf(start: string) {
  const found = rules.filter(rule => rule.promise.startsWith(start));
  if (found.length !== 1) throw new Error(`${found.length} rules start with "${start}"`);
  return found[0]!;
}

describe('a rule objects to', () => {
  test.each(offending)('%s: %s', (promise, path, text, found) => {
    const offences = offencesAgainst(ruleOf(promise), [readSource(path, text)]);
    expect(offences).toEqual([expect.stringContaining(found)]);
    expect(offences[0]).toStartWith(`${path}:`);
  });

  test('something: each has been seen to fail', () => {
    const seen = new Set(offending.map(([promise]) => ruleOf(promise)));
    expect(rules.filter(rule => !seen.has(rule)).map(rule => rule.promise)).toEqual([]);
  });
});

describe('a rule lets pass', () => {
  test.each(harmless)('%s: %s', (promise, path, text) => {
    expect(offencesAgainst(ruleOf(promise), [readSource(path, text)])).toEqual([]);
  });
});
