/**
 * `npm run build:exe`: Terse as one file that needs nothing beside it, neither Node nor Bun nor packages. It carries the
 * server, the command line, the finished dashboard, every page's files, and the country database.
 *
 * In an executable, threads are started by the file name alone, so each thread's file is an entry point of its own and
 * no two may have the same name.
 */
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { BunPlugin } from 'bun';
import { embedDashboard } from '../src/web/dashboard/build.ts';

const root = join(import.meta.dir, '..');
export const executablePath = join(root, 'dist', process.platform === 'win32' ? 'terse.exe' : 'terse');

/** The dashboard is finished when it is embedded, so nothing is bundled at run time. */
const neededAtBuildTime = 'src/web/dashboard/build-thread.ts';
const startsThread = /new URL\('(\.\/[\w.-]+\.ts)', import\.meta\.url\)/g;
const isTestMaterial = /\.test\.ts$|\/fake-/;

async function threadFiles(): Promise<string[]> {
  const found = new Set<string>();
  for await (const path of new Bun.Glob('src/**/*.ts').scan({ cwd: root })) {
    if (isTestMaterial.test(path)) continue;
    const text = await Bun.file(join(root, path)).text();
    for (const [, file] of text.matchAll(startsThread)) found.add(join(dirname(path), file!));
  }
  found.delete(neededAtBuildTime);
  const names = [...found].map(path => basename(path));
  if (new Set(names).size < names.length) throw new Error(`two threads have one name: ${names.join(', ')}`);
  return [...found];
}

/** A part of Kafka's client reads a file that lies beside it; it has a twin that carries the file's bytes. */
const selfContained: BunPlugin = {
  name: 'self-contained packages',
  setup(build) {
    build.onResolve({ filter: /^@platformatic\/wasm-utils$/ }, ({ path, importer }) => ({
      path: Bun.resolveSync(`${path}/bundled`, dirname(importer)),
    }));
  },
};

/** Resolves with the size of the executable. */
export async function buildExecutable(): Promise<number> {
  const entries = ['src/main.ts', ...(await threadFiles())];
  await Bun.build({
    entrypoints: entries.map(path => join(root, path)),
    naming: { entry: '[name].[ext]' },
    // Whatever lies in the folder where it is started is none of its business.
    compile: { outfile: executablePath, autoloadBunfig: false, autoloadDotenv: false },
    target: 'bun',
    minify: true,
    plugins: [embedDashboard(), selfContained],
  });
  return (await stat(executablePath)).size;
}

if (import.meta.main) {
  const megabytes = (await buildExecutable()) / 1024 / 1024;
  process.stdout.write(`${executablePath}: ${megabytes.toFixed(1)} MB\n`);
}
