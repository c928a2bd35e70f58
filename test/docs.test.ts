import { describe, expect, test } from 'bun:test';
import packageDocument from '../package.json' with { type: 'json' };
import lock from '../package-lock.json' with { type: 'json' };
import { generatedParts, readDocument, withPart } from './kit/generated-docs.ts';
import { privateWords } from './tidy-rules.ts';

describe('documents', () => {
  test.each(generatedParts.map(entry => [entry.file, entry.part, entry.text] as const))(
    '%s: the part “%s” says what the code says (npm run docs)',
    async (file, part, text) => {
      const document = await readDocument(file);
      expect(document).toBe(withPart(document, part, text()));
    },
  );

  test('every link between documents leads to a file', async () => {
    const missing: string[] = [];
    for await (const file of new Bun.Glob('{*.md,docs/**/*.md}').scan({ cwd: `${import.meta.dir}/..` })) {
      const folder = file.includes('/') ? file.slice(0, file.lastIndexOf('/') + 1) : '';
      for (const [, target = ''] of (await readDocument(file)).matchAll(
        /\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g,
      )) {
        if (!(await Bun.file(`${import.meta.dir}/../${folder}${target}`).exists()))
          missing.push(`${file} → ${target}`);
      }
    }
    expect(missing).toEqual([]);
  });

  test.each([
    ['A redirect', 12],
    ['A create', 15],
  ] as const)('%s is explained by at most %d files in order, each once', async (path, filesMax) => {
    const list = (await readDocument('ARCHITECTURE.md')).split(`\n${path}:\n\n`)[1]!.split('\n\n')[0]!;
    const files = [...list.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file]) => file!);
    expect(files.length).toBe(list.split('\n').length);
    expect(files.length).toBeLessThanOrEqual(filesMax);
    expect(new Set(files).size).toBe(files.length);
    const missing: string[] = [];
    for (const file of files)
      if (!(await Bun.file(`${import.meta.dir}/../${file}`).exists())) missing.push(file);
    expect(missing).toEqual([]);
  });

  test('documents use plain words (docs/glossary.md)', async () => {
    const offences: string[] = [];
    for await (const file of new Bun.Glob('{*.md,docs/**/*.md}').scan({ cwd: `${import.meta.dir}/..` })) {
      if (file === 'CHANGELOG.md') continue;
      for (const [word] of (await readDocument(file)).matchAll(privateWords))
        offences.push(`${file}: ${word}`);
    }
    expect(offences).toEqual([]);
  });

  test('nothing suggests to run the package of somebody else that is called terse', async () => {
    const root = `${import.meta.dir}/..`;
    const places = [
      '*.md',
      ...['bin', 'bench', 'deploy', 'docs', 'scripts', 'src'].map(name => `${name}/**/*`),
    ];
    const files = places.flatMap(place => [...new Bun.Glob(place).scanSync({ cwd: root, dot: true })]);
    expect(files.length).toBeGreaterThan(500);
    const suggestions: string[] = [];
    for (const file of files) {
      const [line] =
        /.*\b(?:npx|bunx|npm exec|npm x)\b(?: -\S+)* terse\b.*/.exec(await readDocument(file)) ?? [];
      if (line !== undefined) suggestions.push(`${file}: ${line}`);
    }
    expect(suggestions).toEqual([]);
  });
});

/**
 * Node only runs npm; everything else runs in Bun, which offers the API of a newer Node. So `npm ci` would warn about
 * packages that need that newer Node, without a reason: their `engines` are left out of package-lock.json, by hand
 * where npm writes them again.
 */
describe('the Node version that is stated', () => {
  const stated = `${/^>=(\d+)$/.exec(packageDocument.engines.node)?.[1]}.0.0`;
  const packages = Object.entries(lock.packages as Record<string, { engines?: { node?: string } }>);

  test('is the same everywhere', async () => {
    const [major] = stated.split('.');
    for (const file of ['README.md', 'CONTRIBUTING.md'])
      expect(await readDocument(file)).toContain(`Node ${major} or newer`);
  });

  test('lets npm ci install every package without a warning', () => {
    const warned = packages.filter(([, { engines }]) => !Bun.semver.satisfies(stated, engines?.node ?? '*'));
    expect(warned).toEqual([]);
  });

  test('or else Bun is new enough for the package', async () => {
    const unfit: string[] = [];
    for (const [path] of packages) {
      const document = Bun.file(`${import.meta.dir}/../${path}/package.json`);
      // Packages for other platforms are not installed.
      if (!(await document.exists())) continue;
      const range: string = (await document.json()).engines?.node ?? '*';
      if (![stated, process.versions.node].some(version => Bun.semver.satisfies(version, range)))
        unfit.push(`${path} needs Node ${range}`);
    }
    expect(unfit).toEqual([]);
  });
});
