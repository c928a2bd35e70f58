import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';
import { problemTable } from '../../../base/errors.ts';
import { countingIn } from '../texts/frame.ts';
import { german } from '../texts/german.ts';
import { english, replaceTexts } from '../texts.ts';
import { messageOfProblem } from './api/request.ts';
import { preferredLanguage } from './language.ts';
import { contrastOf } from './links/qr-image.ts';

const clientFolder = import.meta.dir;
/** In English the server names these itself. */
const onlyTranslated = /^(?:errors\.byCode|stats\.listHeadings)\./;

/** Every text by its path, functions called with sample values. */
function* flat(value: unknown, path = ''): Generator<[string, string]> {
  if (typeof value === 'string') yield [path, value];
  else if (typeof value === 'function') {
    const samples = Array.from({ length: value.length }, (_, index) => index + 2);
    yield [path, String(Reflect.apply(value, undefined, samples.map(textual)))];
  } else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value))
      yield* flat(inner, path === '' ? name : `${path}.${name}`);
}

/** A sample that a text can use as a number or as a word. */
const textual = (sample: number): unknown =>
  Object.assign(String(sample), { [Symbol.toPrimitive]: () => sample });

describe('German', () => {
  const [original, translated] = [new Map(flat(english)), new Map(flat(german))];

  test('has every text, and none that English has no place for', () => {
    expect([...original.keys()].filter(path => !translated.has(path))).toEqual([]);
    expect([...translated.keys()].filter(path => !original.has(path) && !onlyTranslated.test(path))).toEqual(
      [],
    );
  });

  test('has words for every problem that a person can meet, and for no other', () => {
    // Requests of the dashboard are never malformed in these ways.
    const neverMet = ['head_too_large', 'http_version', 'unsupported_media_type', 'method_not_allowed'];
    const met = Object.keys(problemTable).filter(code => !neverMet.includes(code));
    expect(Object.keys(german.errors.byCode).toSorted()).toEqual(met.toSorted());
  });

  test('leaves no text empty that has words in English', () => {
    const empty = [...original].filter(([path, text]) => text !== '' && translated.get(path) === '');
    expect(empty.map(([path]) => path)).toEqual([]);
  });

  test('has the placeholders of every sentence of the audit log', () => {
    const placeholders = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).toSorted();
    for (const [path, text] of original)
      if (path.startsWith('audit.actions.'))
        expect([path, placeholders(translated.get(path)!)]).toEqual([path, placeholders(text)]);
  });

  test('addresses nobody: neither familiar nor formal', () => {
    const personal = [...translated].filter(([, text]) =>
      /\b(?:du|dein\w*|dich|dir|Ihr\w*|Ihnen)\b/.test(text),
    );
    expect(personal).toEqual([]);
  });
});

test.each([
  [english.blocklists.entries, '1 entry', '1,000 entries'],
  [german.blocklists.entries, '1 Eintrag', '1.000 Einträge'],
  [english.links.deleted, '1 link deleted', '1,000 links deleted'],
  [english.links.clicks, '1 click in total', '1,000 clicks in total'],
  [german.links.counting, 'Bisher 1 Link …', 'Bisher 1.000 Links …'],
  [english.queue.reportsTitle, '1 report', '1,000 reports'],
  [german.queue.count, '1 Link wartet auf eine Entscheidung', '1.000 Links warten auf eine Entscheidung'],
])('a number agrees with its word: %p', (text, one, thousand) => {
  expect([text(1), text(1_000)]).toEqual([one, thousand]);
});

describe('a problem in German', () => {
  beforeAll(() => replaceTexts(german));
  afterAll(() => replaceTexts(english));

  test.each([
    ['invalid_request', '“maxClicks” must be at least 1', 'Diese Eingabe ist nicht gültig.'],
    ['forbidden', 'Your current password is needed for this.', 'Dafür fehlt die Berechtigung.'],
  ])('says in German what kind it is and what the server says is wrong: %s', (code, detail, sentence) => {
    const { title } = problemTable[code as 'forbidden'];
    const message = messageOfProblem({ code, detail, title });
    expect(message).toStartWith(sentence);
    expect(message).toContain(detail);
    expect(messageOfProblem({ code, detail: title, title })).toBe(sentence);
  });

  test('says only what the server says if we have no words for it, and only ours if they say all', () => {
    expect(messageOfProblem({ code: 'new_kind', detail: 'Something new.' })).toBe('Something new.');
    expect(messageOfProblem({ code: 'alias_taken', detail: 'It is taken.', title: 'Taken' })).toBe(
      'Dieser Alias ist vergeben.',
    );
  });
});

test('plurals follow the rules of the language', () => {
  expect([0, 1, 2].map(count => countingIn('en').plural(count, 'link', 'links'))).toEqual([
    'links',
    'link',
    'links',
  ]);
});

test.each([
  [null, ['de-AT', 'en'], 'de'],
  [null, ['fr', 'en-GB', 'de'], 'en'],
  [null, ['fr'], 'en'],
  ['en', ['de'], 'en'],
  ['toString', ['de'], 'de'],
] as const)('the language chosen as %p by a browser that wants %p is %p', (chosen, wanted, expected) => {
  expect(preferredLanguage(chosen, wanted)).toBe(expected);
});

describe('the components', async () => {
  const sources = await Array.fromAsync(new Glob('**/*.{ts,tsx}').scan(clientFolder));
  const files = await Promise.all(
    sources
      .filter(name => !name.includes('.test.'))
      .map(async name => [name, await Bun.file(join(clientFolder, name)).text()] as const),
  );

  test('have no text of their own', () => {
    const found = files
      .filter(([name]) => name.endsWith('.tsx'))
      .flatMap(([name, text]) => literalsIn(name, text));
    expect(found).toEqual([]);
  });

  test('name no language when they format', () => {
    expect(files.filter(([, text]) => /new Intl\.\w+\(\s*['"`]/.test(text)).map(([name]) => name)).toEqual(
      [],
    );
  });

  test('read their texts while they render: at the top of a file they would stay in the first language', () => {
    const kept = files.flatMap(([name, text]) =>
      text
        .split('\n')
        .flatMap(line =>
          /^(?:export )?(?:const|let) [^>]*=(?!>)(?!.*Object\.keys)[^>]*\btexts\./.test(line)
            ? [`${name}: ${line}`]
            : [],
        ),
    );
    expect(kept).toEqual([]);
  });

  test('a literal text would be found', () => {
    expect(literalsIn('x.tsx', 'export const X = () => <p title="Some words">More words {1}</p>;')).toEqual([
      'x.tsx: children: "More words ',
      'x.tsx: title: "Some words',
    ]);
  });
});

/** Words between tags, and in attributes that people read. */
function literalsIn(name: string, source: string): string[] {
  const script = new Bun.Transpiler({
    loader: 'tsx',
    tsconfig: { compilerOptions: { jsx: 'react-jsx', jsxImportSource: 'preact' } },
  }).transformSync(source);
  const said =
    /\b(?:children|title|alt|placeholder|text|help|note|label|"aria-label"): (?:\[\s*)?"(?!https:)[^"]*\p{L}{2}[^"]*/gu;
  return [...script.matchAll(said)].map(([match]) => `${name}: ${match.replace(/\[\s*/, '')}`).toSorted();
}

test('every decision about many links is a sentence of the audit log', () => {
  for (const { audit } of [english, german])
    for (const kind of ['domain', 'account']) expect(audit.actions[`${kind}.linksDecided`]).toBeString();
});

test.each(['light', 'dark'])('the border of a control can be seen by everyone: %s', async theme => {
  const css = await Bun.file(join(clientFolder, 'styles/base.css')).text();
  const [light = '', dark = ''] = css.split('data-theme="dark"');
  const colour = (name: string): string =>
    new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(theme === 'dark' ? dark : light)![1]!;
  for (const ground of ['surface', 'paper', 'sunken']) {
    const [darker, lighter] = [colour('control'), colour(ground)];
    const contrast = Math.max(contrastOf(darker, lighter), contrastOf(lighter, darker));
    expect([ground, contrast >= 3]).toEqual([ground, true]);
  }
});
