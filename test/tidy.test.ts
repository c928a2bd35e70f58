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

/**
 * How many real sleeps and timers tests have: how long a fault lasts, when a process is killed, and what proves that
 * nothing happens. Lower a number when one goes; it is never raised.
 */
const sleepsMax: Readonly<Record<string, number>> = {
  src: 19,
  bench: 4,
  'test/attacks': 9,
  'test/browser': 0,
  'test/e2e': 8,
  'test/faults': 55,
  'test/fuzz': 2,
  'test/kit': 24,
};

describe('in this repository', () => {
  test('there are files to look at', () => {
    expect(files.map(file => file.path)).toContain('src/links/link.ts');
    expect(files.map(file => file.path)).toContain('test/tidy.test.ts');
  });

  test.each(rules.map(rule => [rule.promise, rule] as const))('%s', (_promise, rule) => {
    expect(offencesAgainst(rule, files)).toEqual([]);
  });

  test('tests wait for events, not for time: real sleeps per folder become fewer, never more', () => {
    const counts = Object.fromEntries(Object.keys(sleepsMax).map(folder => [folder, 0]));
    for (const { path, code } of files) {
      if (!isTestMaterial(path) && !path.startsWith('test/')) continue;
      if (path === 'test/kit/until.ts') continue;
      const folder = Object.keys(sleepsMax).find(each => path.startsWith(`${each}/`)) ?? path;
      counts[folder] = (counts[folder] ?? 0) + [...code.matchAll(/\bBun\.sleep\(|\bsetTimeout\(/g)].length;
    }
    const over = Object.entries(counts).filter(([folder, count]) => count > (sleepsMax[folder] ?? 0));
    // Await an event, use ManualClock, or `until` of test/kit/until.ts.
    expect(over).toEqual([]);
  });

  test('a comment names only files that exist', () => {
    const scripts = new Bun.Glob('scripts/*.ts').scanSync({ cwd: root });
    const paths = [...files.map(({ path }) => path), ...scripts];
    const names = new Set(paths.map(path => path.slice(path.lastIndexOf('/') + 1)));
    const missing = files
      .filter(({ path }) => !path.startsWith('test/tidy-'))
      .flatMap(({ path, comments }) =>
        [...comments.matchAll(/[\w.-]+\.tsx?\b/g)]
          .map(([name]) => name)
          .filter(name => !names.has(name))
          .map(name => `${path} names ${name}`),
      );
    expect(missing).toEqual([]);
  });

  test('every folder of src has its row in the import table', () => {
    const product = files.filter(({ path }) => path.startsWith('src/') && !isTestMaterial(path));
    const folders = new Set(product.map(({ path }) => path.split('/')[1]!));
    expect([...folders].filter(folder => mayImport[folder] === undefined)).toEqual([]);
  });

  test('no two folders of src import each other, not even through others', () => {
    const graph = new Map<string, Set<string>>();
    for (const { path, imports } of files) {
      if (!path.startsWith('src/') || isTestMaterial(path)) continue;
      const from = folderOf(path);
      const targets = imports.map(({ target }) => target).filter(target => target.startsWith('src/'));
      const folders = targets.map(folderOf).filter(folder => folder !== from);
      graph.set(from, new Set([...(graph.get(from) ?? []), ...folders]));
    }
    expect(cycleIn(graph)).toEqual([]);
    expect(cycleIn(new Map([...graph, ['base', new Set(['http'])]]))).not.toEqual([]);
  });
});

/** The dashboard's client is a program of its own: it runs in browsers. */
const folderOf = (path: string): string =>
  path.startsWith('src/web/dashboard/client/') ? 'dashboard client' : path.split('/')[1]!;

/** The folders on a cycle, in order; empty when there is none. */
function cycleIn(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const done = new Set<string>();
  const visit = (folder: string, path: readonly string[]): string[] => {
    if (path.includes(folder)) return [...path.slice(path.indexOf(folder)), folder];
    if (done.has(folder)) return [];
    for (const next of graph.get(folder) ?? []) {
      const cycle = visit(next, [...path, folder]);
      if (cycle.length > 0) return cycle;
    }
    done.add(folder);
    return [];
  };
  for (const folder of graph.keys()) {
    const cycle = visit(folder, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

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
