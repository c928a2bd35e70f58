/**
 * For `bun build --compile`: puts the finished dashboard in place of prebuilt.ts, so that an executable needs
 * neither the sources nor the bundler at run time.
 */
import type { BunPlugin } from 'bun';
import { buildDashboard } from './build.ts';
import type { DashboardFile } from './bundle.ts';

export function embedDashboard(): BunPlugin {
  return {
    name: 'embed the dashboard',
    async setup(build) {
      // Before the build around it begins: one inside the other would wait for each other.
      const contents = prebuiltModule(Object.entries(await buildDashboard()));
      build.onLoad({ filter: /[\\/]dashboard[\\/]prebuilt\.ts$/ }, () => ({ contents, loader: 'js' }));
    },
  };
}

function prebuiltModule(files: readonly (readonly [string, DashboardFile])[]): string {
  const members = files.map(([name, { gzip, ...file }]) => {
    const bytes = `Uint8Array.fromBase64(${JSON.stringify(Buffer.from(gzip).toString('base64'))})`;
    return `${name}: { ...${JSON.stringify(file)}, gzip: ${bytes} }`;
  });
  return `export const prebuilt = { ${members.join(', ')} };`;
}
