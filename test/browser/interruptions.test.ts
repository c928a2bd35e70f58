/** Interruptions: a session that ends, a server that goes down and comes back. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { callerOf } from '../kit/client.ts';
import { freeEnginePorts } from '../kit/engines/free-port.ts';
import { adminKey, startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';

await describeInBrowser('the dashboard in trouble', browser => {
  const dataFolder = temporaryFolder();
  // A port that no other process gets while the server is down.
  const PORT = String(freeEnginePorts(1)[0]);
  let terse: TerseProcess;
  let url: string;
  let tab: Tab;

  beforeAll(async () => {
    terse = await startTerseProcess({ dataFolder, env: { PORT } });
    url = terse.url.replace('127.0.0.1', 'localhost');
    const call = callerOf(terse.url);
    await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/', customAlias: 'kept' } });
    tab = await openTab(browser(), url);
    await signIn(tab, '/dashboard/links');
  });
  afterAll(async () => {
    await tab.context.close();
    await terse.stop();
    rmSync(dataFolder, { recursive: true, force: true });
  });

  test('a session that ends while the user types asks to sign in again, and then saves the typed text', async () => {
    const { page } = tab;
    await page.getByRole('link', { name: /\/kept$/ }).click();
    await page.getByRole('heading', { name: /\/kept$/ }).waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Typed before the session ended');
    await tab.context.clearCookies();
    // Not by the pointer: a read in the background may have opened the dialog already.
    await page.getByRole('button', { name: 'Save' }).dispatchEvent('click');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByRole('button', { name: 'API key' }).click();
    await dialog.getByLabel('API key', { exact: true }).fill(adminKey);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('Link saved').waitFor();
    expect(page.url()).toEndWith('/dashboard/links/kept');
    const { body } = await callerOf(terse.url)('GET', '/api/v1/links/kept');
    expect(body.title).toBe('Typed before the session ended');
  });

  test('a server that fails while a page loads does not sign the user out', async () => {
    const { page } = tab;
    let refused = 0;
    await page.route('**/api/v1/account', route => {
      refused += 1;
      return refused > 2 ? route.continue() : route.fulfill({ status: 503, body: '{}' });
    });
    await page.goto('/dashboard/links');
    await page.getByRole('link', { name: /\/kept$/ }).waitFor();
    expect(refused).toBe(3);
    await page.unroute('**/api/v1/account');
    await page.reload();
    await page.getByRole('link', { name: /\/kept$/ }).waitFor();
  });

  test('a link is deleted when the page is left, even if it was still being disabled', async () => {
    const { page } = tab;
    const call = callerOf(terse.url);
    await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/', customAlias: 'going' } });
    await page.goto('/dashboard/links');
    const row = page.getByRole('link', { name: /\/going$/ });
    await row.waitFor();
    await page.evaluate(`{
      const real = fetch;
      globalThis.fetch = (url, options) => options?.method === 'PATCH' ? new Promise(() => {}) : real(url, options);
    }`);
    await page.getByRole('button', { name: 'More for going' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
    expect((await call('GET', '/api/v1/links/going')).body.status).toBe('active');
    await page.goto('/dashboard');
    // The requests of a page that is left may arrive after those of the next page.
    await page.getByRole('region', { name: 'Clicks over time' }).waitFor();
    await until('the deletion', async () => (await call('GET', '/api/v1/links/going')).status !== 200);
    expect((await call('GET', '/api/v1/links/going')).status).toBe(410);
  });

  test('a link is deleted when its owner signs out before the time for undo is over', async () => {
    const call = callerOf(terse.url);
    await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/', customAlias: 'last' } });
    const own = await openTab(browser(), url);
    await signIn(own, '/dashboard/links');
    await own.page.getByRole('button', { name: 'More for last' }).click();
    await own.page.getByRole('menuitem', { name: 'Delete' }).click();
    await own.page.getByText('1 link deleted').waitFor();
    await own.page.locator('.account-button').click();
    await own.page.getByRole('menuitem', { name: 'Sign out' }).click();
    await own.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect((await call('GET', '/api/v1/links/last')).status).toBe(410);
    expect(await own.page.locator('.toast').count()).toBe(0);
    await own.context.close();
  });

  test('signing out works after the session was ended elsewhere', async () => {
    const own = await openTab(browser(), url);
    await signIn(own, '/dashboard/account');
    await own.page.locator('.account-button').click();
    await own.context.clearCookies();
    // Not by the pointer: a read in the background may have opened the dialog already.
    await own.page.getByRole('menuitem', { name: 'Sign out' }).dispatchEvent('click');
    await own.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await own.context.close();
  });

  test('an answer from before a change does not replace it', async () => {
    const own = await openTab(browser(), url);
    const { page } = own;
    await signIn(own, '/dashboard/links/kept');
    const heading = page.getByRole('heading', { level: 1, name: /\/kept$/ });
    await heading.waitFor();
    const { promise: changed, resolve: release } = Promise.withResolvers<void>();
    const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>();
    const { promise: isAnswered, resolve: answer } = Promise.withResolvers<void>();
    await page.route(/\/api\/v1\/links\/kept$/, async route => {
      if (route.request().method() !== 'GET') return route.continue();
      const response = await route.fetch();
      hold();
      await changed;
      await route.fulfill({ response }).catch(() => {});
      answer();
    });
    // A page that is online again reloads everything.
    await page.route('**/api/v1/links/kept/stats**', route => route.abort(), { times: 1 });
    await page.getByRole('button', { name: /^Time range/ }).click();
    await page.getByRole('button', { name: 'Last 90 days' }).click();
    await isHeld;
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Changed meanwhile');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changed meanwhile').waitFor();
    release();
    await isAnswered;
    await page.evaluate('new Promise(done => requestAnimationFrame(() => setTimeout(done)))');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    expect(await page.getByRole('textbox', { name: 'Title' }).inputValue()).toBe('Changed meanwhile');
    await own.context.close();
  });

  test('an outage is shown in a banner, a change is rejected, and everything works again afterwards', async () => {
    const { page } = tab;
    await page.goto('/dashboard/links');
    await page.getByRole('link', { name: /\/kept$/ }).waitFor();
    await terse.kill();
    await page.getByRole('button', { name: 'More for kept' }).click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    await page.getByText('it is not known whether the change was made').waitFor();
    const banner = page.getByRole('alert').filter({ hasText: 'The server cannot be reached.' });
    await banner.waitFor();
    // A read waits for the server instead of failing.
    await page.getByRole('link', { name: 'Overview' }).first().click();
    terse = await startTerseProcess({ dataFolder, env: { PORT } });
    // The page also retries by itself; if it is faster, the button is gone.
    const click = banner.getByRole('button', { name: 'Try now' }).click();
    await Promise.race([click.catch(() => {}), banner.waitFor({ state: 'detached' })]);
    await banner.waitFor({ state: 'detached' });
    await page.getByRole('region', { name: 'Clicks over time' }).waitFor();
    expect((await callerOf(terse.url)('GET', '/api/v1/links/kept')).body.status).toBe('active');
  });
});
