/**
 * The repository's rules, run over its sources. A failure lists the offenders by file and line. Browser scripts
 * under src/web/assets are not TypeScript and are left out.
 */
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { importFault, mayImport, packagePlaces } from './tidy-imports.ts';
import { linesMax, offencesAgainst, rules } from './tidy-rules.ts';
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
    const folders = new Set(
      files.filter(file => file.path.startsWith('src/')).map(file => file.path.split('/')[1]!),
    );
    expect([...folders].filter(folder => mayImport[folder] === undefined)).toEqual([]);
  });
});

/** The start of a rule's promise, a file that breaks it, and what the rule then says. */
const offending: readonly (readonly [promise: string, path: string, text: string, found: string])[] = [
  [
    'files import',
    'src/base/clock.ts',
    "import { log } from '../ops/log.ts';",
    'src/ops/log.ts may not be imported from base',
  ],
  [
    'files import',
    'src/web/page.ts',
    "import type { Link } from '../links/link.ts';",
    'src/links/link.ts may not',
  ],
  [
    'files import',
    'src/resolve/l1.ts',
    "export type { Click } from '../clicks/click.ts';",
    'src/clicks/click.ts may not',
  ],
  [
    'files import',
    'src/cli/show.ts',
    "const it = await import('../links/read.ts');",
    'src/links/read.ts may not',
  ],
  ['files import', 'src/codes/x.ts', "let it: import('../links/link.ts').Link;", 'src/links/link.ts may not'],
  [
    'files import',
    'src/http/x.ts',
    "new URL('../app/worker.ts', import.meta.url)",
    'src/app/worker.ts may not',
  ],
  [
    'files import',
    'src/links/create.ts',
    "import './create.test.ts';",
    'src/links/create.test.ts is test material',
  ],
  ['files import', 'src/links/create.ts', "import '../../bench/zipf.ts';", 'bench/zipf.ts is outside of src'],
  [
    'files import',
    'src/stray/x.ts',
    "import '../base/clock.ts';",
    'src/base/clock.ts is imported by stray, which has no row',
  ],
  [
    'a vendor',
    'src/links/create.ts',
    "import { Database } from 'bun:sqlite';",
    'bun:sqlite has its own place',
  ],
  ['a vendor', 'src/links/stores/memory.ts', "import 'bun:sqlite';", 'bun:sqlite has its own place'],
  ['a vendor', 'src/web/page.ts', "import { html } from 'hono/html';", 'hono/html has its own place'],
  ['a vendor', 'src/links/create.ts', "import { z } from 'zod';", 'zod has its own place'],
  [
    'a vendor',
    'src/links/create.ts',
    "import { z } from '@hono/zod-openapi';",
    '@hono/zod-openapi has its own place',
  ],
  ['a vendor', 'src/http/qr.ts', "import { generate } from 'lean-qr';", 'lean-qr has its own place'],
  ['a vendor', 'src/http/redirect.ts', "import { isbot } from 'isbot';", 'isbot has its own place'],
  [
    'a vendor',
    'src/resolve/l1.ts',
    "import { LRUCache } from 'lru-cache';",
    'lru-cache is not a package that src may use',
  ],
  [
    'a vendor',
    'src/base/hash.ts',
    "import { createHash } from 'node:crypto';",
    'node:crypto base imports nothing',
  ],
  ['the environment', 'src/app/compose.ts', 'const home = process.env.HOME;', 'process.env'],
  ['the environment', 'src/http/server.ts', 'const port = Bun.env["PORT"];', 'Bun.env'],
  ['the environment', 'src/http/server.ts', "const env = process['env'];", 'process['],
  ['the environment', 'src/http/server.ts', 'const { env } = process;', '} = process;'],
  ['the environment', 'src/http/server.ts', "import { env } from 'node:process';", 'node:process'],
  ...[
    'Date.now()',
    'new Date()',
    'new Date( )',
    'new Date',
    'performance.now()',
    'setTimeout(f)',
    'setInterval(f)',
  ].map(
    code => ['time and', 'src/links/create.ts', `const it = ${code};`, code.replace(/\(.*/, '')] as const,
  ),
  ...[
    'Math.random()',
    'crypto.getRandomValues(x)',
    'randomBytes(8)',
    'crypto.randomUUID()',
    'Bun.sleep(1)',
  ].map(
    code =>
      ['time and', 'src/codes/x.ts', `const it = ${code};`, code.replace(/\(.*|crypto\./g, '')] as const,
  ),
  ['time and', 'src/codes/x.ts', 'const it = `${Date.now()}`;', 'Date.now'],
  ['nothing is written', 'src/http/server.ts', "console.log('up');", 'console.'],
  ['files and folders', 'src/links/createLink.ts', '', 'src/links/createLink.ts'],
  ['files and folders', 'src/Links/create.ts', '', 'src/Links/create.ts'],
  ['files and folders', 'src/links/create_link.ts', '', 'src/links/create_link.ts'],
  ...['utils', 'helpers', 'index', 'common'].map(
    name => ['no file hides', `src/links/${name}.ts`, '', `src/links/${name}.ts`] as const,
  ),
  ['no file passes on', 'src/links/all.ts', "export * from './link.ts';", 'export *'],
  ['no file passes on', 'src/links/all.ts', "export * as link from './link.ts';", 'export *'],
  ['no file has more', 'src/links/long.ts', 'x;\n'.repeat(linesMax + 1), `${linesMax + 1} lines`],
  ['no test runs alone', 'src/links/x.test.ts', "test.only('x', () => {});", '.only('],
  ['no test runs alone', 'test/x.test.ts', "describe.only.each(x)('x', () => {});", '.only'],
  ['a skipped test', 'test/x.test.ts', "test.skip('x', () => {});", '.skip('],
  ['a skipped test', 'test/x.test.ts', 'test.skip(name, () => {});', '.skip('],
  ['nothing is left', 'src/links/create.ts', '// TODO: later', 'TODO'],
  ['nothing is left', 'bench/x.ts', '/* FIXME */', 'FIXME'],
  ['a file of more', 'src/links/create.ts', `export const a = 1;\n${'a;\n'.repeat(40)}`, 'no header comment'],
  [
    'a file of more',
    'src/links/create.ts',
    `import './a.ts';\nfunction a() {\n// A comment inside, which is late.\n${'a;\n'.repeat(40)}}`,
    'no header',
  ],
  ['a relative import', 'src/links/create.ts', "import { a } from './link';", './link'],
  ['a relative import', 'src/links/create.ts', "import { a } from './link.js';", './link.js'],
  ['a relative import', 'test/x.ts', "import { a } from '..';", '..'],
  ['no path of', 'src/app/config.ts', "const data = '/home/me/data';", '/home/me'],
  ['no path of', 'src/app/config.ts', '// See /work/notes.', '/work/notes'],
  [
    'no download',
    'src/app/config.ts',
    "const from = 'https://registry.npmjs.org/bun';",
    'https://registry.npmjs.org',
  ],
  [
    'no download',
    'src/app/config.ts',
    '// http://mirror.example:8081/artifactory/npm',
    'http://mirror.example:8081/artifactory/',
  ],
];

/** The start of a rule's promise and a file that the rule must let pass. */
const harmless: readonly (readonly [promise: string, path: string, text: string])[] = [
  [
    'files import',
    'src/links/create.ts',
    "import type { Clock } from '../base/clock.ts';\nimport './link.ts';",
  ],
  [
    'files import',
    'src/resolve/resolver.ts',
    "import type { Link } from '../links/link.ts';\nimport '../links/store.ts';",
  ],
  ['files import', 'src/links/create.test.ts', "import '../app/compose.ts';\nimport './stores/memory.ts';"],
  ['files import', 'src/links/store.conformance.ts', "import '../app/compose.ts';"],
  [
    'files import',
    'src/links/create.ts',
    "// import '../app/compose.ts'\nconst a = \"import '../app/compose.ts'\";",
  ],
  ['files import', 'src/app/version.ts', "import manifest from '../../package.json';"],
  ['a vendor', 'src/engines/sqlite/database.ts', "import { Database } from 'bun:sqlite';"],
  ['a vendor', 'src/accounts/stores/sqlite.ts', "import { Database } from 'bun:sqlite';"],
  ['a vendor', 'src/web/qr.ts', "import { toSvg } from 'lean-qr/extras/svg';"],
  ['a vendor', 'src/links/create.test.ts', "import fc from 'fast-check';"],
  ['a vendor', 'src/codes/sip.ts', "import { hash } from 'node:crypto';"],
  ['the environment', 'src/app/config.ts', 'const home = process.env.HOME;'],
  ['the environment', 'src/http/server.ts', '/** Never reads process.env. */ process.exit(1);'],
  ['time and', 'src/base/clock.ts', 'const now = Date.now();'],
  ['time and', 'src/http/view.ts', 'const at = new Date(link.createdAt); // not Date.now()'],
  [
    'time and',
    'src/http/view.ts',
    "const words = 'Date.now()' + `setTimeout ${at} Math.random()` + /setTimeout/.source;",
  ],
  ['nothing is written', 'src/http/server.ts', "out.write('console.log');"],
  ['files and folders', 'src/links/stores/sqlite/store.test.ts', ''],
  ['no file hides', 'src/links/index-hint.ts', ''],
  ['no file passes on', 'src/links/all.ts', "export { a } from './link.ts'; const b = 2 * 3;"],
  ['no file has more', 'src/links/long.ts', 'x;\n'.repeat(linesMax)],
  ['no test runs alone', 'test/x.test.ts', "test('.only( is refused', () => {});"],
  ['a skipped test', 'test/x.test.ts', "test.skip('x, because Redis is not here', () => {});"],
  ['nothing is left', 'src/links/create.ts', "const TODO = 'FIXME';"],
  [
    'a file of more',
    'src/links/create.ts',
    `import './a.ts';\n/** Makes a link, in one conditional write. */\n${'a;\n'.repeat(40)}`,
  ],
  ['a file of more', 'src/links/short.ts', 'export const a = 1;\n'],
  [
    'a relative import',
    'src/web/assets.ts',
    "import css from './assets/terse.css';\nimport js from './assets/landing.js';",
  ],
  ['no path of', 'src/app/config.ts', "const page = 'https://example.com/home/me'; import './work/x.ts';"],
  ['no download', 'src/app/config.ts', "const page = 'https://example.com/';"],
];

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

describe('a driver', () => {
  const from = 'src/links/stores/sqlite/store.ts';

  test.each([
    'src/links/store.ts',
    'src/links/link.ts',
    'src/base/errors.ts',
    'src/engines/sqlite/database.ts',
    'src/links/stores/sqlite/rows.ts',
    'src/links/stores/row-cursor.ts',
  ])('may import %s', to => {
    expect(importFault(from, to)).toBeUndefined();
  });

  test.each([
    'src/engines/redis/connection.ts',
    'src/links/stores/memory.ts',
    'src/accounts/stores/sqlite/store.ts',
    'src/codes/base62.ts',
    'src/app/config.ts',
  ])('may not import %s', to => {
    expect(importFault(from, to)).toBeString();
  });

  test('and its engine are picked by app alone', () => {
    for (const to of [from, 'src/engines/sqlite/database.ts']) {
      expect(importFault('src/app/compose.ts', to)).toBeUndefined();
      for (const importer of [
        'src/links/create.ts',
        'src/http/api.ts',
        'src/resolve/resolver.ts',
        'src/main.ts',
      ]) {
        expect(importFault(importer, to)).toBeString();
      }
    }
  });
});

describe('the reader of sources', () => {
  const codeOf = (text: string) => readSource('src/x.ts', text).code;

  test('keeps every view as long as the file and its lines where they are', () => {
    for (const file of files) {
      for (const view of [file.code, file.comments]) {
        expect(view.length).toBe(file.text.length);
        expect(view.split('\n').length).toBe(file.text.split('\n').length);
      }
    }
  });

  test.each([
    ['a line comment', 'a // b\nc', 'a     \nc'],
    ['a block comment', 'a /* b\n */ c', 'a     \n    c'],
    ['a string', "a('b')", "a(' ')"],
    ['an escaped quote', "a('b\\'c') + d", "a('    ') + d"],
    ['a comment mark in a string', "a('//') + b", "a('  ') + b"],
    ['a quote in a comment', "a // it's\nb", 'a        \nb'],
    ['a template', 'a(`b ${c + `d`} e`) + f', 'a(`  ${c + ` `}  `) + f'],
    ['braces in a template', 'a(`b ${{ c: {} }} d`) + e', 'a(`  ${{ c: {} }}  `) + e'],
    ['a regular expression', "a(/'b/) + c", 'a(/  /) + c'],
    ['a slash in a character class', 'a = /[/"]b/g + c', 'a = /     /g + c'],
    ['a division', "a / b / 'c'", "a / b / ' '"],
    ['a regular expression after return', 'return /"/', 'return / /'],
    ['an apostrophe in markup', "<p>don't</p>\nb", "<p>don'     \nb"],
    ['an unfinished comment', 'a /* b', 'a     '],
    ['a comment on the last line', 'a // b', 'a     '],
  ])('knows %s', (_what, text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  test('sees every way to import', () => {
    const text = `
      import a from './a.ts';
      import type { B } from './b.ts';
      import { c,
        d } from "../c.ts";
      import './d.ts';
      export { e } from './e.ts';
      export * from './f.ts';
      const g = await import('./g.ts');
      type H = import('./h.ts').H;
      const i = require('./i.ts');
      new Worker(new URL('./j.ts', import.meta.url));
      import k from 'hono';
      const from = './not-an-import.ts';
      export const l = './not-an-import.ts';
      // import m from './not-an-import.ts';
      const n = "import m from './not-an-import.ts'";
      new URL('/not-an-import', request.url);
    `;
    const targets = readSource('src/x/y.ts', text).imports.map(({ target }) => target);
    const own = ['a', 'b'].map(name => `src/x/${name}.ts`);
    const rest = [...'defghij'].map(name => `src/x/${name}.ts`);
    expect(targets).toEqual([...own, 'src/c.ts', ...rest, 'hono']);
  });
});

test('the table of packages names only what package.json installs', async () => {
  const manifest = await Bun.file(join(root, 'package.json')).json();
  const installed = Object.keys(manifest.dependencies);
  expect(
    Object.keys(packagePlaces).filter(name => !name.startsWith('bun:') && !installed.includes(name)),
  ).toEqual([]);
});
