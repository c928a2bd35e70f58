/**
 * A real Chromium: the one on PATH, or the distribution's package unpacked into the cache folder. Where neither can
 * be had, browser tests are skipped by name, unless TERSE_TEST_REQUIRE names `chromium`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { neededPackages, unpackPackages } from '../../../bench/kit/debian-packages.ts';

const cacheFolder = join(import.meta.dir, '../../../.cache');
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const folder = join(cacheFolder, 'chromium');
const unpacked = 'usr/lib/chromium/chromium';

export interface FoundChromium {
  readonly path: string | undefined;
  /** Why there is none. */
  readonly reason: string;
}

export async function findChromium(): Promise<FoundChromium> {
  const installed = names.map(name => Bun.which(name)).find(path => path !== null);
  if (installed !== undefined && installed !== null && (await works(installed)))
    return { path: installed, reason: '' };
  const path = join(folder, unpacked);
  if ((await unpackAll()) && (await works(path))) return { path, reason: '' };
  const reason = 'no Chromium on PATH, and no package of one that works when it is unpacked';
  if (/\bchromium\b/.test(process.env.TERSE_TEST_REQUIRE ?? '')) throw new Error(reason);
  return { path: undefined, reason };
}

/** With the libraries that the machine lacks, which are the most of it on one without a desktop. */
async function unpackAll(): Promise<boolean> {
  if (existsSync(join(folder, unpacked))) return true;
  const packages = ['chromium', 'chromium-common'];
  return unpackPackages(folder, [...new Set([...packages, ...(await neededPackages(packages))])], unpacked);
}

async function works(path: string): Promise<boolean> {
  const child = Bun.spawn([path, '--version'], { env: environment(), stdout: 'ignore', stderr: 'ignore' });
  return (await child.exited) === 0;
}

/** Unpacked libraries lie where no loader looks. */
function environment(): Record<string, string> {
  const libraries = ['x86_64', 'aarch64'].map(machine => join(folder, `usr/lib/${machine}-linux-gnu`));
  const own = libraries.filter(existsSync);
  const inherited = process.env as Record<string, string>;
  if (own.length === 0) return inherited;
  return { ...inherited, LD_LIBRARY_PATH: [...own, inherited.LD_LIBRARY_PATH].filter(Boolean).join(':') };
}

/** With a well-drawn font where one can be had, so that pictures look alike on every machine. */
export async function launchChromium(path: string): Promise<Browser> {
  const fonts = await fontConfiguration();
  return chromium.launch({
    executablePath: path,
    // A container has no user namespaces to build the sandbox from, and the tests load pages of our own only.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--font-render-hinting=none', '--hide-scrollbars'],
    env: { ...environment(), ...(fonts !== undefined && { FONTCONFIG_FILE: fonts }) },
  });
}

async function fontConfiguration(): Promise<string | undefined> {
  const folder = join(cacheFolder, 'fonts');
  const font = 'usr/share/fonts/opentype/inter/Inter-Regular.otf';
  if (!existsSync(join(folder, font)) && !(await unpackPackages(folder, ['fonts-inter'], font)))
    return undefined;
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
