/**
 * The rules of this repository that a machine can check, one function each. A rule returns what it objects to;
 * `tidy.test.ts` runs all of them over the sources and shows each of them failing on a sample.
 */
import { importFault, isTestMaterial, packageFault } from './tidy-imports.ts';
import { lineAt, type SourceFile } from './tidy-source.ts';

export interface Rule {
  readonly promise: string;
  appliesTo(path: string): boolean;
  check(file: SourceFile): Offence[];
}

export interface Offence {
  readonly position: number;
  readonly what: string;
}

export const linesMax = 400;
const headerNeededLines = 40;

const inSrc = (path: string) => path.startsWith('src/');
const inProduct = (path: string) => inSrc(path) && !isTestMaterial(path);
const everywhere = () => true;

export const rules: readonly Rule[] = [
  {
    promise: 'files import only what the import table allows',
    appliesTo: inSrc,
    check: file =>
      relativeImports(file).flatMap(({ target, position }) =>
        objection(position, target, importFault(file.path, target)),
      ),
  },
  {
    promise: 'a vendor package appears only in its place',
    appliesTo: inSrc,
    check: file =>
      packageImports(file).flatMap(({ specifier, position }) =>
        objection(position, specifier, packageFault(file.path, specifier)),
      ),
  },
  {
    promise: 'the environment is read in src/config/config.ts only',
    appliesTo: path => inProduct(path) && path !== 'src/config/config.ts',
    check: file => [
      ...findInCode(
        file,
        /\b(?:process|Bun|import\s*\.\s*meta)\s*\??\.\s*env\b|\bprocess\s*\[|\}\s*=\s*process\s*;/g,
      ),
      ...packageImports(file)
        .filter(({ specifier }) => /^(?:node:)?process$/.test(specifier))
        .map(({ specifier, position }) => ({ position, what: specifier })),
    ],
  },
  {
    promise: 'time and randomness come from src/base only',
    appliesTo: path => inProduct(path) && !path.startsWith('src/base/'),
    check: file => findInCode(file, clockOrChance),
  },
  {
    promise: 'nothing is written to the console',
    appliesTo: inProduct,
    check: file => findInCode(file, /\bconsole\s*\??\s*[.[]/g),
  },
  {
    promise: 'files and folders have kebab-case names',
    appliesTo: everywhere,
    check: ({ path }) =>
      path.split('/').every(part => kebabCase.test(part)) ? [] : [{ position: 0, what: path }],
  },
  {
    promise: 'no file hides what it is for behind a vague name',
    appliesTo: everywhere,
    check: ({ path }) =>
      /\/(?:utils?|helpers?|index|common|misc|shared)\.[^/]+$/.test(path)
        ? [{ position: 0, what: path }]
        : [],
  },
  {
    promise: 'no file passes on all that another exports',
    appliesTo: everywhere,
    check: file => findInCode(file, /\bexport\s*(?:type\s*)?\*/g),
  },
  {
    promise: `no file has more than ${linesMax} lines`,
    appliesTo: inSrc,
    check: file => (lineCount(file) > linesMax ? [{ position: 0, what: `${lineCount(file)} lines` }] : []),
  },
  {
    promise: 'no test runs alone',
    appliesTo: everywhere,
    check: file => findInCode(file, /\.only\s*(?:\.\w+\s*)?\(/g),
  },
  {
    promise: 'a skipped test gives its reason in its name',
    appliesTo: everywhere,
    check: file =>
      findInCode(file, /\.skip\s*\(\s*/g).filter(({ position, what }) => {
        const title = /^(['"`])(.*?)\1/.exec(file.text.slice(position + what.length))?.[2];
        return !/because |\(.+\)$/.test(title ?? '');
      }),
  },
  {
    promise: 'comments and texts use plain words (docs/glossary.md)',
    appliesTo: path => !path.startsWith('test/tidy-'),
    check: file => [...find(file.comments, privateWords), ...find(file.texts, privateWords)],
  },
  {
    promise: 'names use plain words (docs/glossary.md)',
    appliesTo: path => inSrc(path) || path.startsWith('test/'),
    check: file => findInCode(file, privateNames),
  },
  {
    promise: 'nothing is left for later',
    appliesTo: everywhere,
    check: file => find(file.comments, /\b(?:TODO|FIXME|XXX|HACK)\b/g),
  },
  {
    promise: `a file of more than ${headerNeededLines} lines says first why it exists`,
    appliesTo: path => inSrc(path) && !path.includes('.test.'),
    check: file => {
      if (lineCount(file) <= headerNeededLines) return [];
      const firstDeclaration = file.code.search(
        /^(?:export|const|let|var|async|function|abstract|class|interface|type|declare)\b/m,
      );
      const header = file.comments.slice(0, firstDeclaration === -1 ? undefined : firstDeclaration).trim();
      return header.length < 30 ? [{ position: 0, what: 'no header comment' }] : [];
    },
  },
  {
    promise: 'a relative import names its file with the extension',
    appliesTo: everywhere,
    check: file =>
      relativeImports(file)
        .filter(
          ({ target }) => !/\.(?:tsx?|css|html|svg|png|txt|json|mjs)$|\/assets\/[^/]+\.js$/.test(target),
        )
        .map(({ specifier, position }) => ({ position, what: specifier })),
  },
  {
    promise: "no path of anybody's machine is written down",
    appliesTo: inSrc,
    check: file =>
      find(
        file.text,
        /(?<![\w.~/-])(?:\/(?:home|root|Users|work|tmp|private|mnt)\/[\w.-]+|[A-Z]:\\\\?[\w.-]+)/g,
      ),
  },
  {
    promise: 'no download address of a package registry is written down',
    appliesTo: inSrc,
    check: file => find(file.text, registryAddress),
  },
];

/** The offences of all files against one rule, each as one line to click on. */
export function offencesAgainst(rule: Rule, files: readonly SourceFile[]): string[] {
  return files
    .filter(file => rule.appliesTo(file.path))
    .flatMap(file =>
      rule.check(file).map(({ position, what }) => `${file.path}:${lineAt(file, position)} ${what}`),
    );
}

/**
 * Words that readers would not search for; say down, unavailable, rejected, notified, received, again, recount, compute,
 * available, active, any client.
 */
export const privateWords =
  /\b(?:anew|who(?:m)?ever|reckon\w*|at hand|(?:is|are|was|were|be|goes|went) away|turned away|(?:is|are|was|were) told|unless told|tells? of|hears? of|heard of|gives way|by and by|in force|in vain|astray|lest)\b/gi;
const privateNames =
  /(?<![A-Za-z])(?:told|anew|whoever|astray|reckon\w*|teller|farewell|patience|betimes)(?![a-z])|(?<![A-Za-z])heard(?=[A-Z])|(?<=[a-z])(?:Told|Anew|Away|Astray|Heard|Teller|Farewell|Patience)(?![a-z])/g;
const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)*$/;
const clockOrChance = new RegExp(
  [
    String.raw`\bDate\s*\.\s*now\b|\bnew\s+Date\b(?!\s*\(\s*[^\s)])|\bperformance\s*\.\s*now\b`,
    String.raw`\bhrtime\b|\bBun\s*\.\s*(?:nanoseconds|sleep|sleepSync)\b`,
    String.raw`\b(?:setTimeout|setInterval|setImmediate)\b`,
    String.raw`\bMath\s*\.\s*random\b(?!\w)|\bgetRandomValues\b|\brandom(?:Bytes|Int|FillSync|UUID|UUIDv7)\b`,
  ].join('|'),
  'g',
);
const registryAddress = new RegExp(
  [
    String.raw`https?:\/\/(?:[\w.-]+\.)?(?:npmjs\.(?:org|com)|yarnpkg\.com|jsr\.io|pypi\.org|crates\.io|golang\.org)\b`,
    String.raw`https?:\/\/(?:[\w.-]+\.)?(?:maven\.(?:org|apache\.org)|debian\.org|ubuntu\.com|pkg\.github\.com)\b`,
    String.raw`https?:\/\/[\w.:-]+\/(?:artifactory|nexus|repository)\/`,
  ].join('|'),
  'g',
);

function relativeImports(file: SourceFile) {
  return file.imports.filter(({ specifier }) => specifier.startsWith('.'));
}

function packageImports(file: SourceFile) {
  return file.imports.filter(({ specifier }) => !specifier.startsWith('.'));
}

function objection(position: number, subject: string, fault: string | undefined): Offence[] {
  return fault === undefined ? [] : [{ position, what: `${subject} ${fault}` }];
}

function findInCode(file: SourceFile, pattern: RegExp): Offence[] {
  return find(file.code, pattern);
}

function find(view: string, pattern: RegExp): Offence[] {
  return [...view.matchAll(pattern)].map(match => ({ position: match.index, what: match[0] }));
}

function lineCount(file: SourceFile): number {
  return file.text.trimEnd().split('\n').length;
}
