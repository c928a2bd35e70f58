/**
 * A real Chromium: the one on PATH, or the distribution's package unpacked into the cache folder. Where neither is
 * available, browser tests are skipped by name, unless TERSE_TEST_REQUIRE names `chromium`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { environmentWithLibraries, unpackPackages } from '../../kit/engines/debian-packages.ts';
import { isRequired } from '../../kit/engines/describe-with-engine.ts';

const cacheFolder = join(import.meta.dir, '../../../.cache');
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const folder = join(cacheFolder, 'chromium');
const unpacked = 'usr/lib/chromium/chromium';

export interface FoundChromium {
  readonly path: string | undefined;
  /** Why there is no Chromium. */
  readonly reason: string;
}

export async function findChromium(): Promise<FoundChromium> {
  const installed = names.map(name => Bun.which(name)).find(path => path !== null);
  if (installed !== undefined && installed !== null && (await works(installed)))
    return { path: installed, reason: '' };
  const path = join(folder, unpacked);
  if (unpackPackages(folder, ['chromium', 'chromium-common'], unpacked) && (await works(path)))
    return { path, reason: '' };
  const reason = 'no Chromium on PATH, and no package of one that works when it is unpacked';
  if (isRequired('chromium')) throw new Error(reason);
  return { path: undefined, reason };
}

async function works(path: string): Promise<boolean> {
  const child = Bun.spawn([path, '--version'], {
    env: environmentWithLibraries(folder),
    stdout: 'ignore',
    stderr: 'ignore',
  });
  return (await child.exited) === 0;
}

/** With a well-drawn font where one is available, so that pictures look alike on every machine. */
export async function launchChromium(path: string): Promise<Browser> {
  const fonts = await fontConfiguration();
  return chromium.launch({
    executablePath: path,
    // A container has no user namespaces to build the sandbox from, and the tests load pages of our own only.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--font-render-hinting=none', '--hide-scrollbars'],
    env: { ...environmentWithLibraries(folder), ...(fonts !== undefined && { FONTCONFIG_FILE: fonts }) },
  });
}

async function fontConfiguration(): Promise<string | undefined> {
  const folder = join(cacheFolder, 'fonts');
  const font = 'usr/share/fonts/opentype/inter/Inter-Regular.otf';
  if (!existsSync(join(folder, font)) && !unpackPackages(folder, ['fonts-inter'], font)) return undefined;
  const file = join(folder, 'fonts.conf');
  await Bun.write(
    file,
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>${join(folder, 'usr/share/fonts')}</dir>
  <cachedir>${join(folder, 'cache')}</cachedir>
</fontconfig>
`,
  );
  return file;
}
