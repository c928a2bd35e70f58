/**
 * `npm run size`: how much product code there is, how it is spread over files, and how many files a typical addition
 * touches. `--at COMMIT` measures an old commit beside the working tree; `--files` prints the files behind the figures.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Glob } from 'bun';
import { readSource, type SourceFile } from '../test/tidy-source.ts';

export interface Size {
  readonly folders: ReadonlyMap<string, { lines: number; files: number }>;
  readonly lines: number;
  readonly files: number;
  readonly medianLines: number;
  readonly p90Lines: number;
  /** Product files that exactly one other product file imports. */
  readonly oneImporter: readonly string[];
  readonly oneImporterSmall: readonly string[];
  /** Exported names that two or more product files declare, with those files. */
  readonly declaredTwice: ReadonlyMap<string, readonly string[]>;
  readonly touched: readonly Touched[];
}

export interface Touched {
  readonly addition: string;
  readonly exemplar: string;
  readonly files: readonly string[];
}

const smallLines = 40;
const isTestMaterial = (path: string) =>
  /\.test\.tsx?$|\.conformance\.tsx?$|\/fake-|-samples\.ts$/.test(path);
/** Where an exemplar is served and shown; a new record kind needs none of it. */
const isSurface = (path: string) => /^src\/(?:http|web|cli)\//.test(path);
/**
 * Formats of earlier versions, which name what there was then and are never edited: the first tables of links, the bits of
 * the cache's records, and the import of tables that have become records. An addition is only in the tables of today.
 */
const isFrozen = (path: string) =>
  /^src\/stores\/former-|^src\/links\/stores\/(?:postgres|sqlite)\/schema\.ts$|^src\/resolve\/caches\/redis\.ts$/.test(
    path,
  );

/** What an addition touches is what mentions an existing one of its kind, outside of comments. */
const exemplars = [
  { addition: 'a boolean link field', exemplar: 'forwardQuery', mention: /\bforward_?query\b/i },
  { addition: 'a boolean link field', exemplar: 'publicStats', mention: /\bpublic_?stats\b/i },
  {
    addition: 'a record kind with what uses it',
    exemplar: "the operator's blocklist entries",
    mention: /OperatorEntr|operatorEntr|block_entries|blockEntryKind/,
    leaveOut: isSurface,
  },
  { addition: 'a click dimension', exemplar: 'os', mention: /(?<!node:)\bos\b/ },
];
const exemplarSetting = 'linkHealthRate';

export async function measure(root: string): Promise<Size> {
  const paths = [...new Glob('src/**/*.{ts,tsx,css}').scanSync(root)].filter(path => !isTestMaterial(path));
  const sources = await Promise.all(
    paths.sort().map(async path => readSource(path, await Bun.file(join(root, path)).text())),
  );
  const lengths = sources.map(lineCount).sort((left, right) => left - right);
  const folders = new Map<string, { lines: number; files: number }>();
  for (const source of sources) {
    const folder = source.path.split('/').slice(0, 2).join('/');
    const { lines, files } = folders.get(folder) ?? { lines: 0, files: 0 };
    folders.set(folder, { lines: lines + lineCount(source), files: files + 1 });
  }
  const code = sources.filter(({ path }) => !path.endsWith('.css'));
  const living = code.filter(({ path }) => !isFrozen(path));
  const oneImporter = filesWithOneImporter(code);
  return {
    folders,
    lines: lengths.reduce((sum, length) => sum + length, 0),
    files: sources.length,
    medianLines: quantile(lengths, 0.5),
    p90Lines: quantile(lengths, 0.9),
    oneImporter: oneImporter.map(({ path }) => path),
    oneImporterSmall: oneImporter.filter(file => lineCount(file) < smallLines).map(({ path }) => path),
    declaredTwice: namesDeclaredTwice(code),
    touched: [
      ...exemplars.map(({ addition, exemplar, mention, leaveOut = () => false }) => ({
        addition,
        exemplar,
        files: living
          .filter(file => !leaveOut(file.path) && mention.test(withoutComments(file)))
          .map(file => file.path),
      })),
      ...kindsTouched(living),
      ...settingsTouched(living),
    ],
  };
}

const lineCount = ({ text }: SourceFile) => text.split('\n').length - 1;
const quantile = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

function withoutComments({ text, comments }: SourceFile): string {
  return [...text].map((character, at) => (comments[at]?.trim() ? ' ' : character)).join('');
}

function filesWithOneImporter(files: readonly SourceFile[]): SourceFile[] {
  const importers = new Map<string, Set<string>>();
  for (const { path, imports } of files) {
    for (const { target } of imports) importers.set(target, (importers.get(target) ?? new Set()).add(path));
  }
  return files.filter(({ path }) => importers.get(path)?.size === 1);
}

function namesDeclaredTwice(files: readonly SourceFile[]): Map<string, string[]> {
  const declaration =
    /^export (?:declare |abstract |async )*(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;
  const places = new Map<string, Set<string>>();
  for (const { path, code } of files) {
    for (const [, name = ''] of code.matchAll(declaration))
      places.set(name, (places.get(name) ?? new Set()).add(path));
  }
  return new Map(
    [...places].filter(([, files]) => files.size > 1).map(([name, files]) => [name, [...files].sort()]),
  );
}

/** The kinds in the list of record kinds, once there is one: the median of the files that mention one of them. */
function kindsTouched(files: readonly SourceFile[]): Touched[] {
  const lists = files.flatMap(({ code }) => /\brecordKinds\b[^=]*= \[([^\]]*)\]/.exec(code)?.[1] ?? []);
  const names = lists.flatMap(list => list.match(/\b[a-z]\w*Kind\b/g) ?? []);
  const counts = names
    .map(name => files.filter(({ code }) => new RegExp(`\\b${name}\\b`).test(code)).map(({ path }) => path))
    .sort((left, right) => left.length - right.length);
  return [
    {
      addition: 'a record kind',
      exemplar: `median of ${names.length} kinds`,
      files: counts[counts.length >> 1] ?? [],
    },
  ];
}

/** One setting as the example, and the median of all whose names are too particular to mean anything else. */
function settingsTouched(files: readonly SourceFile[]): Touched[] {
  const row = /^ {2}(\w+): \w+\(\{\s+env: '(?:TERSE_\w+)'/gm;
  const names = files.flatMap(({ text }) => [...text.matchAll(row)].map(([, name = '']) => name));
  const mentions = (name: string) =>
    files.filter(file => new RegExp(`\\b${name}\\b`).test(withoutComments(file))).map(({ path }) => path);
  const counts = names
    .filter(name => (name.match(/[A-Z]/g) ?? []).length >= 2)
    .map(name => mentions(name))
    .sort((left, right) => left.length - right.length);
  return [
    { addition: 'a setting', exemplar: exemplarSetting, files: mentions(exemplarSetting) },
    {
      addition: 'a setting',
      exemplar: `median of ${counts.length} settings`,
      files: counts[counts.length >> 1] ?? [],
    },
  ];
}

/** The figures as rows of text; the first column names them, one column for each tree measured. */
export function rowsOf(sizes: readonly Size[]): string[][] {
  const row = (name: string, figure: (size: Size) => string | number) => [
    name,
    ...sizes.map(size => String(figure(size))),
  ];
  const folders = [...new Set(sizes.flatMap(size => [...size.folders.keys()]))].sort();
  return [
    ...folders.map(folder =>
      row(folder, ({ folders }) => {
        const { lines, files } = folders.get(folder) ?? { lines: 0, files: 0 };
        return files === 0 ? '-' : `${lines} in ${files}`;
      }),
    ),
    row('all product code', ({ lines, files }) => `${lines} in ${files}`),
    row('lines of a file, median', ({ medianLines }) => medianLines),
    row('lines of a file, p90', ({ p90Lines }) => p90Lines),
    row('files with one importer', ({ oneImporter }) => oneImporter.length),
    row(`  of them under ${smallLines} lines`, ({ oneImporterSmall }) => oneImporterSmall.length),
    row('exported names declared twice', ({ declaredTwice }) => declaredTwice.size),
    ...(sizes.at(-1)?.touched ?? []).map(({ addition, exemplar }, index) =>
      row(`files of ${addition} (${exemplar})`, ({ touched }) => touched[index]?.files.length || '-'),
    ),
  ];
}

function print(titles: readonly string[], sizes: readonly Size[], withFiles: boolean): string {
  const rows = [['lines in files', ...titles], ...rowsOf(sizes)];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)));
  const table = rows.map(([name, ...figures]) =>
    [name!.padEnd(widths[0]!), ...figures.map((figure, at) => figure.padStart(widths[at + 1]!))].join('  '),
  );
  const lists = withFiles ? sizes.flatMap((size, at) => ['', `== ${titles[at]}`, ...listsOf(size)]) : [];
  return [...table, ...lists].join('\n');
}

function listsOf(size: Size): string[] {
  return [
    ...size.touched.flatMap(({ addition, exemplar, files }) => [
      `files of ${addition} (${exemplar}):`,
      ...files.map(file => `  ${file}`),
    ]),
    `files with one importer under ${smallLines} lines:`,
    ...size.oneImporterSmall.map(file => `  ${file}`),
    'exported names declared twice:',
    ...[...size.declaredTwice].map(([name, files]) => `  ${name}: ${files.join(' ')}`),
  ];
}

/** Measures what `git archive` has of a commit, in a folder that is removed afterwards. */
async function measureCommit(root: string, commit: string): Promise<Size> {
  const folder = mkdtempSync(join(tmpdir(), 'terse-size-'));
  try {
    const archive = Bun.spawn(['git', 'archive', commit, 'src'], { cwd: root, stderr: 'inherit' });
    const unpack = Bun.spawn(['tar', '-x', '-C', folder], { stdin: archive.stdout });
    if ((await archive.exited) !== 0 || (await unpack.exited) !== 0) throw new Error(`cannot read ${commit}`);
    return await measure(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      at: { type: 'string', multiple: true, default: [] },
      files: { type: 'boolean', default: false },
    },
  });
  const root = join(import.meta.dir, '..');
  const sizes: Size[] = [];
  for (const commit of values.at) sizes.push(await measureCommit(root, commit));
  sizes.push(await measure(root));
  process.stdout.write(`${print([...values.at, 'working tree'], sizes, values.files)}\n`);
}
