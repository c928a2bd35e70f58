/** Bundles the dashboard from its sources. It takes a tenth of a second of CPU time, so a thread runs it. */
import { join } from 'node:path';
import type { BunPlugin } from 'bun';
import type { DashboardBundle, DashboardFile } from './serve.ts';
import { worldMap } from './world-map.ts';

const clientFolder = join(import.meta.dir, 'client');
const scriptType = 'text/javascript; charset=utf-8';

export async function buildDashboard(): Promise<DashboardBundle> {
  const [script, german, theme, style] = await Promise.all([
    bundled('main.tsx', 'esm'),
    bundled('../texts/german.ts', 'esm'),
    bundled('theme.ts', 'iife'),
    bundled('styles/main.css', 'esm'),
  ]);
  return {
    script: named('dashboard', 'js', scriptType, script),
    german: named('german', 'js', scriptType, german),
    theme: named('theme', 'js', scriptType, theme),
    style: named('dashboard', 'css', 'text/css; charset=utf-8', style),
    map: named('world', 'json', 'application/json', JSON.stringify(worldMap())),
  };
}

async function bundled(entry: string, format: 'esm' | 'iife'): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(clientFolder, entry)],
    target: 'browser',
    format,
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    jsx: { runtime: 'automatic', importSource: 'preact', development: false },
  });
  const [output] = outputs;
  if (output === undefined || outputs.length !== 1) throw new Error(`${entry} does not bundle into one file`);
  return output.text();
}

function named(name: string, extension: string, contentType: string, text: string): DashboardFile {
  const hash = new Bun.CryptoHasher('sha256').update(text).digest('hex').slice(0, 12);
  return { path: `/assets/${name}.${hash}.${extension}`, contentType, text };
}

/**
 * For `bun build --compile`: puts the finished dashboard in place of prebuilt.ts, so that an executable needs
 * neither the sources nor the bundler at run time.
 */
export function embedDashboard(): BunPlugin {
  return {
    name: 'embed the dashboard',
    async setup(build) {
      // Before the surrounding build begins: one inside the other would deadlock.
      const contents = `export const prebuilt = ${JSON.stringify(await buildDashboard())};`;
      build.onLoad({ filter: /[\\/]dashboard[\\/]prebuilt\.ts$/ }, () => ({ contents, loader: 'js' }));
    },
  };
}
