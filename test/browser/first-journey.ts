/**
 * The first minute of a new user: from `npm start` on an empty folder to a link that was made, followed and shared, with
 * its statistics open. A person's pauses are part of it: reading a page, aiming at a button, pasting. It prints steps,
 * clicks and seconds; run it with `bun test/browser/first-journey.ts`.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freeEnginePorts } from '../kit/engines/free-port.ts';
import { until } from '../kit/until.ts';
import { browser as visitor } from '../kit/visitors.ts';
import { findChromium, launchChromium } from './kit/chromium.ts';
import { openTab } from './kit/dashboard-page.ts';

const readMs = 2_500;
const aimMs = 1_000;
const pasteMs = 1_500;

const { path, reason } = await findChromium();
if (path === undefined) throw new Error(reason);
const browser = await launchChromium(path);
const folder = mkdtempSync(join(tmpdir(), 'terse-journey-'));
const [port] = freeEnginePorts(1);
const url = `http://localhost:${port}`;

let clicks = 0;
const startedMs = performance.now();
const step = (what: string): void => {
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  process.stdout.write(`${seconds.padStart(5)} s, ${clicks} clicks: ${what}\n`);
};

const server = Bun.spawn(['npm', 'start'], {
  env: { ...process.env, TERSE_DATA: folder, PORT: String(port) },
  // In a process group with all that npm starts, so that it can be ended together.
  detached: true,
  stdout: 'ignore',
  stderr: 'inherit',
});
try {
  const keyFile = join(folder, 'admin-key');
  await until('the key', () => existsSync(keyFile));
  const key = readFileSync(keyFile, 'utf8').trim();
  step('Terse is ready');
  const { page, context } = await openTab(browser, url, { hasMotion: true });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: url });
  const click = async (
    name: string | RegExp,
    role: 'button' | 'switch' | 'link' = 'button',
  ): Promise<void> => {
    await page.waitForTimeout(aimMs);
    await page.getByRole(role, { name }).first().click();
    clicks += 1;
  };
  const paste = async (text: string): Promise<void> => {
    await page.waitForTimeout(pasteMs);
    await page.keyboard.insertText(text);
  };

  await page.goto('/dashboard');
  await page.getByLabel('API key', { exact: true }).waitFor();
  await page.waitForTimeout(readMs);
  await paste(key);
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Getting started' }).waitFor();
  step('signed in with the key');
  await page.waitForTimeout(readMs);
  await click(/^New link/);
  await page.getByRole('textbox', { name: 'Destination' }).waitFor();
  await paste('https://example.com/a/long/path?of=an&article');
  await page.waitForTimeout(aimMs);
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Create/ })
    .click();
  clicks += 1;
  const isCopied = 'navigator.clipboard.readText().then(text => text.startsWith(location.origin))';
  await until('the copy', async () => (await page.evaluate(isCopied)) === true);
  step('the link is made and copied');
  const short = (await page.evaluate('navigator.clipboard.readText()')) as string;
  await page.waitForTimeout(pasteMs);
  // The redirect is not followed, because no other host can be reached here.
  await fetch(short, { redirect: 'manual', headers: visitor });
  step('the link is followed');
  await page.waitForTimeout(readMs);
  await page.goto(`/dashboard/links/${new URL(short).pathname.slice(1)}`);
  clicks += 1;
  const one = page.locator('.figure', { hasText: 'Clicks' }).locator('dd[data-value="1"]').first();
  await one.waitFor();
  step('its statistics are open and show the click');
  await page.waitForTimeout(readMs);
  await click('Share statistics');
  await page.waitForTimeout(readMs);
  await click('Public page', 'switch');
  const address = page.getByLabel('Address of the public page');
  await address.waitFor();
  await click('Copy address');
  const stranger = await openTab(browser, url, { hasMotion: true });
  await stranger.page.goto(await address.inputValue());
  await stranger.page.getByRole('region', { name: 'Clicks over time' }).waitFor();
  step('a stranger sees the shared statistics');
} finally {
  await browser.close();
  process.kill(-server.pid);
  await server.exited;
  rmSync(folder, { recursive: true, force: true });
}
