/**
 * Takes the pictures in docs/screenshots: every page, light and dark, on a desktop and on a phone, from seeded data and
 * with a stopped clock. `npm run screenshots` runs it; names given on the command line limit it.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { findChromium, launchChromium } from './kit/chromium.ts';
import { openTab, signIn } from './kit/dashboard-page.ts';
import { startSeededTerse } from './kit/seeded-terse.ts';
import { smallPng } from './kit/small-png.ts';
import { storyNowMs } from './kit/story.ts';

const folder = join(import.meta.dir, '../../docs/screenshots');

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly prepare?: (page: Page) => Promise<void>;
}

const pictures: readonly Picture[] = [
  { name: 'overview', path: '/dashboard' },
  { name: 'links', path: '/dashboard/links' },
  { name: 'link', path: '/dashboard/links/autumn?compare=previous' },
  { name: 'filtered', path: '/dashboard/links/autumn?country=DE&device=mobile' },
  {
    name: 'range',
    path: '/dashboard/links/autumn',
    prepare: page => page.getByRole('button', { name: /^Time range/ }).click(),
  },
  {
    name: 'create',
    path: '/dashboard/links',
    async prepare(page) {
      await page.keyboard.press('c');
      await page
        .getByRole('textbox', { name: 'Destination' })
        .fill('https://shop.nordlicht.example/winter?utm_source=newsletter');
      await page.getByLabel('Short link', { exact: true }).fill('winter');
      await page.getByText('Available').waitFor();
    },
  },
  {
    name: 'import',
    path: '/dashboard/links',
    async prepare(page) {
      await page.getByRole('button', { name: 'Import' }).click();
      await page
        .getByLabel('Addresses or CSV')
        .fill('url,alias\nhttps://shop.nordlicht.example/a,first\nnot an address,second\n');
      await page.getByRole('button', { name: 'Check' }).click();
      await page.getByText('Not a web address').waitFor();
    },
  },
  {
    name: 'qr',
    path: '/dashboard/links',
    async prepare(page) {
      await page.getByRole('button', { name: 'More for autumn' }).click();
      await page.getByRole('menuitem', { name: 'QR code' }).click();
      await page.getByLabel('Margin').waitFor();
    },
  },
  {
    name: 'share',
    path: '/dashboard/links/autumn',
    prepare: page => page.getByRole('button', { name: 'Share statistics' }).click(),
  },
  {
    name: 'values',
    path: '/dashboard/links/autumn',
    prepare: page =>
      page
        .getByRole('button', { name: /^Show all/ })
        .first()
        .click(),
  },
  {
    name: 'palette',
    path: '/dashboard/links',
    async prepare(page) {
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').getByRole('combobox').fill('pod');
    },
  },
  { name: 'keys', path: '/dashboard/keys' },
  { name: 'account', path: '/dashboard/account' },
  { name: 'accounts', path: '/dashboard/accounts' },
  { name: 'queue', path: '/dashboard/moderation' },
  { name: 'blocklists', path: '/dashboard/moderation/blocklists' },
  { name: 'audit', path: '/dashboard/moderation/audit' },
  // Last, because the tab stays German.
  {
    name: 'german',
    path: '/dashboard/account',
    async prepare(page) {
      await page.getByRole('button', { name: 'Deutsch' }).click();
      await page.goto('/dashboard/links/autumn');
      await page.locator('.stats[aria-busy=false] .figures').waitFor();
    },
  },
];

/** Pictures before signing in. */
const entrances: readonly Picture[] = [
  {
    name: 'sign-in',
    path: '/dashboard',
    prepare: page => page.getByRole('heading', { name: 'Sign in' }).waitFor(),
  },
  {
    name: 'sign-up',
    path: '/dashboard',
    async prepare(page) {
      await page.getByRole('link', { name: 'Create an account' }).click();
      await page.getByRole('heading', { name: 'Create an account' }).waitFor();
    },
  },
];

/** Public pages outside of the dashboard. */
const publicPages: readonly Picture[] = [
  { name: 'landing', path: '/' },
  { name: 'preview', path: '/autumn+' },
  {
    name: 'warning',
    path: 'about:blank',
    async prepare(page) {
      const { entries } = (await seeded.call('GET', '/api/v1/moderation/queue')).body;
      const held = entries.find(({ link }: { link: { status: string } }) => link.status === 'quarantined');
      await page.goto(`/${held.link.shortCode}`);
    },
  },
  { name: 'not-found', path: '/no-such-link' },
  { name: 'disabled', path: '/podcast-11' },
  { name: 'report', path: '/report?code=autumn' },
  {
    name: 'api-reference',
    path: '/docs',
    prepare: page => page.getByText('Shorten a URL').first().waitFor(),
  },
];

async function tokenOf(kind: string, owner: string): Promise<string> {
  const { accounts } = (await seeded.call('GET', '/api/v1/accounts')).body;
  const { id } = accounts.find(({ name }: { name: string }) => name === owner);
  return (await seeded.call('POST', `/api/v1/accounts/${id}/${kind}`)).body.token;
}

/** Pictures of pages that are opened with a token of the account. */
const tokenPictures = Object.entries({ invitation: 'Marketing', 'password-reset': 'Jonas Weber' }).map(
  ([name, owner]): Picture => ({
    name,
    path: 'about:blank',
    async prepare(page) {
      await page.goto(`/dashboard/invitation#${await tokenOf(name, owner)}`);
      await page.getByLabel('New password').waitFor();
    },
  }),
);

const sharedPicture: Picture = {
  name: 'shared',
  path: '/dashboard/shared/autumn',
  prepare: page => page.getByRole('region', { name: 'Clicks over time' }).waitFor(),
};

const statusPicture: Picture = {
  name: 'status',
  path: '/dashboard/status',
  async prepare(page) {
    for (let look = 0; look < 4; look += 1) {
      await Promise.all(
        Array.from({ length: 120 + look * 30 }, () => seeded.call('GET', '/autumn', { key: undefined })),
      );
      seeded.advance(2_000);
      await page.waitForTimeout(2_100);
    }
  },
};

const screens = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } } as const;
const settleMs = 700;

const { path: chromiumPath, reason } = await findChromium();
if (chromiumPath === undefined) throw new Error(reason);
mkdirSync(folder, { recursive: true });
const wanted = process.argv.slice(2);
const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name);
const browser = await launchChromium(chromiumPath);
const seeded = await startSeededTerse({ TERSE_SIGNUP: 'on' });
/** Takes the pictures in every theme and on every screen. */
async function takeAll(names: readonly Picture[], signedOut: readonly Picture[]): Promise<void> {
  for (const theme of ['light', 'dark'] as const) {
    for (const [screen, size] of Object.entries(screens)) {
      const tab = await openTab(browser, seeded.url, { theme, ...size, nowMs: storyNowMs });
      const take = async (name: string): Promise<void> => {
        if (!isWanted(name)) return;
        await tab.page.waitForTimeout(settleMs);
        const picture = smallPng(await tab.page.screenshot({ animations: 'disabled' }));
        await Bun.write(join(folder, `${name}-${screen}-${theme}.png`), picture);
      };
      for (const { name, path, prepare } of signedOut.filter(picture => isWanted(picture.name))) {
        await tab.page.goto(path);
        await prepare?.(tab.page);
        await take(name);
      }
      await signIn(tab);
      for (const { name, path, prepare } of names.filter(picture => isWanted(picture.name))) {
        await tab.page.goto(path);
        await tab.page.locator('#content').getByRole('heading', { level: 1 }).waitFor();
        await tab.page.waitForTimeout(settleMs);
        await prepare?.(tab.page);
        await take(name);
      }
      if (tab.consoleErrors.length > 0) process.stderr.write(`${tab.consoleErrors.join('\n')}\n`);
      await tab.context.close();
    }
  }
}

await takeAll(pictures, [...publicPages, ...entrances]);
// Last, because they need visits, a public link and an account with a password, which would change the others.
await seeded.call('PATCH', '/api/v1/links/autumn', { body: { publicStats: true } });
await seeded.call('POST', '/api/v1/invitations/accept', {
  key: undefined,
  body: { token: await tokenOf('invitation', 'Jonas Weber'), password: 'a few words are enough' },
});
await takeAll([statusPicture], [sharedPicture, ...tokenPictures]);
await browser.close();
await seeded.stop();
