/**
 * The first run, signing up, a forgotten password, a limit, an unknown link, another language. The pages of the dashboard
 * on the way are checked by axe in accessible.test.ts.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { callerOf } from '../kit/client.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { adminKey } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { browser as visitor } from '../kit/visitors.ts';
import { axeViolations } from './kit/axe.ts';
import { openTab, signIn, type Tab, type TabOptions } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';

const password = 'a few words are enough';
const next = 'some other words are better';
const screens = [
  ['on a desk', {}],
  ['on a phone', { width: 390, height: 844 }],
] as const;
const openOf = ({ url }: TerseHere): string => url.replace('127.0.0.1', 'localhost');
const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name });
const focused = (page: Page): Promise<string> =>
  page.evaluate('document.activeElement.labels?.[0]?.textContent ?? document.activeElement.tagName');

await describeInBrowser('coming in', browser => {
  const started: TerseHere[] = [];
  const tabs: Tab[] = [];
  const start = async (env: Record<string, string> = {}): Promise<TerseHere> => {
    const terse = await startTerseHere({ env });
    started.push(terse);
    return terse;
  };
  const open = async (terse: TerseHere, options: TabOptions = {}): Promise<Tab> => {
    const tab = await openTab(browser(), openOf(terse), options);
    tabs.push(tab);
    return tab;
  };
  let shared: TerseHere;
  beforeAll(async () => {
    shared = await start({ TERSE_SIGNUP: 'on', TERSE_LIMITS: 'signIn=off,signUp=off' });
  });
  // Open tabs would keep rendering and sending requests.
  afterEach(async () => {
    for (const { context } of tabs.splice(0)) await context.close();
  });
  afterAll(async () => {
    for (const terse of started) await terse.stop();
  });
  const expectNoErrors = ({ consoleErrors, foreignRequests }: Tab): void =>
    expect({ consoleErrors, foreignRequests }).toEqual({ consoleErrors: [], foreignRequests: [] });

  test.each(screens)('the first run asks for the key and lists the first steps, %s', async (_, size) => {
    const terse = await start();
    const tab = await open(terse, size);
    const { page } = tab;
    await page.goto('/dashboard');
    await page.getByLabel('API key', { exact: true }).waitFor();
    await until('the focus', async () => (await focused(page)) === 'API key');
    await page.keyboard.type(adminKey);
    await page.keyboard.press('Enter');
    const list = page.getByRole('region', { name: 'Getting started' });
    await list.getByText('0 of 4 done').waitFor();

    const call = callerOf(terse.url);
    const link = (await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' } })).body;
    await call('POST', '/api/v1/accounts', { body: { name: 'Ada' } });
    await fetch(link.shortUrl, { redirect: 'manual', headers: visitor });
    await until(
      'the click is counted',
      async () => (await call('GET', '/api/v1/stats')).body.totalClicks === 1,
    );
    await page.reload();
    await list.getByText('3 of 4 done').waitFor();
    await list.getByRole('link', { name: 'Set a password' }).click();
    await page.getByLabel('E-mail address').fill('root@example.com');
    await page.getByRole('form', { name: 'Profile' }).getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').waitFor();
    await page.getByLabel('New password').fill(password);
    await page.getByRole('form', { name: 'Set a password' }).getByRole('button', { name: 'Save' }).click();
    await page.getByRole('form', { name: 'Change the password' }).waitFor();
    await page.goto('/dashboard');
    await page.getByText('Most clicked links').waitFor();
    // All steps are done, so the list is gone.
    expect(await list.count()).toBe(0);
    expectNoErrors(tab);
  });

  test('the list of first steps can be hidden, and stays hidden', async () => {
    const tab = await open(shared);
    await signIn(tab);
    await tab.page.getByRole('button', { name: 'Hide this list' }).click();
    await tab.page.getByRole('region', { name: 'Getting started' }).waitFor({ state: 'detached' });
    await tab.page.reload();
    await tab.page.getByRole('heading', { name: 'Welcome to Terse' }).waitFor();
    expect(await tab.page.getByRole('region', { name: 'Getting started' }).count()).toBe(0);
  });

  test.each(screens)('a newcomer signs up and is signed in, %s', async (where, size) => {
    const tab = await open(shared, size);
    const { page } = tab;
    const email = `${where.replaceAll(' ', '-')}@example.com`;
    await page.goto('/dashboard');
    await page.getByRole('link', { name: 'Create an account' }).click();
    await heading(page, 'Create an account').waitFor();
    await page.getByLabel('Name').fill('Newcomer');
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Create account' }).click();
    await heading(page, 'Overview').waitFor();
    // A member cannot invite, and already has a password.
    await page.getByText('1 of 3 done').waitFor();
    expectNoErrors(tab);
  });

  test('signing up with an address that has an account does not sign in, and says what to do', async () => {
    const { page } = await open(shared);
    await page.goto('/dashboard/sign-up');
    await page.getByLabel('Name').fill('Impostor');
    await page.getByLabel('E-mail address').fill('on-a-desk@example.com');
    await page.getByLabel('New password').fill(next);
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('alert').getByText('or choose another address').waitFor();
  });

  test('where sign-up is closed the page says so, and signing in does not offer it', async () => {
    const { page } = await open(await start());
    await page.goto('/dashboard/sign-up');
    await heading(page, 'This server does not offer sign-up').waitFor();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await heading(page, 'Sign in').waitFor();
    await page.getByLabel('API key', { exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'Create an account' }).count()).toBe(0);
  });

  test('a forgotten password is replaced by a link that an admin hands out, once', async () => {
    const admin = await open(shared);
    await signIn(admin, '/dashboard/accounts');
    await admin.page.getByRole('button', { name: 'More for Newcomer' }).first().click();
    await admin.page.getByRole('menuitem', { name: 'Reset password' }).click();
    await admin.page.getByText('Send this link to Newcomer. It works once, for 24 hours').waitFor();
    const link = await admin.page.locator('.secret code').innerText();

    const { page } = await open(shared);
    await page.goto('/dashboard');
    await page.getByLabel('E-mail address').waitFor();
    await until('the focus', async () => (await focused(page)) === 'E-mail address');
    await page.getByText('Forgot your password?').click();
    await page.getByText('Ask an administrator of this server').waitFor();
    await page.goto(link);
    await heading(page, 'Choose a new password').waitFor();
    expect(await page.getByLabel('Your account').inputValue()).toBe('on-a-desk@example.com');
    expect(await page.getByLabel('Your account').isEditable()).toBe(false);
    await page.getByLabel('New password').fill(next);
    await page.getByRole('button', { name: 'Set password' }).click();
    await heading(page, 'Overview').waitFor();

    const late = await open(shared);
    await late.page.goto(link);
    await heading(late.page, 'This invitation is no longer valid').waitFor();
    await late.page.getByRole('link', { name: 'Go to sign-in' }).click();
    await heading(late.page, 'Sign in').waitFor();
  });

  test('too many attempts say which limit was reached, and for how many minutes', async () => {
    const { page } = await open(await start({ TERSE_LIMITS: 'signIn=2/h' }));
    await page.goto('/dashboard');
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await page.getByLabel('API key', { exact: true }).fill('not a key');
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('alert').waitFor();
      await until('the focus', async () => (await focused(page)) === 'API key');
    }
    await page.getByText('Too many attempts to sign in from this network: 2 an hour are allowed').waitFor();
    await page.getByText(/Try again in 30 minutes/).waitFor();
  });

  test.each(screens)('an unknown link is not found, and there is a way back, %s', async (_, size) => {
    const tab = await open(shared, size);
    await signIn(tab, '/dashboard/links/no-such-link');
    const { page } = tab;
    await heading(page, 'Link not found').waitFor();
    await page.getByText('There is no link “no-such-link”').waitFor();
    expect(await page.getByText('Try again').count()).toBe(0);
    await page.getByRole('link', { name: 'Go to all links' }).click();
    await heading(page, 'Links').waitFor();
  });

  test('Escape does not close the form over a page whose session has ended', async () => {
    const tab = await open(shared);
    const { page } = tab;
    await signIn(tab, '/dashboard/account');
    await tab.context.clearCookies();
    // Not by the pointer: a read in the background may have opened the dialog already.
    await page.getByRole('link', { name: 'API keys' }).first().dispatchEvent('click');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await until('the focus', async () => (await focused(page)) === 'API key');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    expect(await dialog.isVisible()).toBe(true);
  });

  test.each(screens)('the language is that of the browser until another is chosen, %s', async (_, size) => {
    const tab = await open(shared, { ...size, locale: 'de-AT' });
    const { page } = tab;
    await page.goto('/dashboard');
    await heading(page, 'Anmelden').waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('de');
    await page.getByRole('button', { name: 'Passwort' }).click();
    await page.getByLabel('E-Mail-Adresse').fill('typed@example.com');
    await page.getByRole('button', { name: 'English' }).click();
    await heading(page, 'Sign in').waitFor();
    // The typed text stays.
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('typed@example.com');
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
    await page.reload();
    await heading(page, 'Sign in').waitFor();
    await signIn(tab, '/dashboard/account');
    await page.getByRole('button', { name: 'Deutsch' }).click();
    await heading(page, 'Konto').waitFor();
    await page.reload();
    await heading(page, 'Konto').waitFor();
    expectNoErrors(tab);
  });

  test('the account menu switches the language', async () => {
    const tab = await open(shared);
    await signIn(tab);
    await tab.page.locator('.account-button').click();
    await tab.page.getByRole('menuitem', { name: 'Deutsch' }).click();
    await heading(tab.page, 'Übersicht').waitFor();
    await tab.page.locator('.account-button').click();
    await tab.page.getByRole('menuitem', { name: 'English' }).click();
    await heading(tab.page, 'Overview').waitFor();
    expectNoErrors(tab);
  });

  test('an English reader loads no German, and the script of the first page stays small', async () => {
    const tab = await open(shared);
    const loaded: string[] = [];
    let scriptBytes = 0;
    tab.page.on('response', async response => {
      loaded.push(response.url());
      if (!/\/assets\/dashboard\.\w+\.js$/.test(response.url())) return;
      const { responseBodySize } = await response.request().sizes();
      scriptBytes = responseBodySize;
    });
    await tab.page.goto('/dashboard');
    await heading(tab.page, 'Sign in').waitFor();
    await until('the script was loaded', () => scriptBytes > 0);
    expect(scriptBytes).toBeLessThan(100_000);
    expect(loaded.filter(url => url.includes('german'))).toEqual([]);
  });
});

await describeInBrowser('the landing page', browser => {
  let terse: TerseHere;
  beforeAll(async () => {
    terse = await startTerseHere({ env: { TERSE_LIMITS: 'anonymous=off,standardBurst=off' } });
  });
  afterAll(() => terse.stop());

  const shorten = async (page: Page, address: string): Promise<void> => {
    await page.goto('/');
    await page.getByLabel('Long web address').fill(address);
    await page.getByRole('button', { name: 'Shorten' }).click();
  };

  test.each(screens)('a link that is held is not shown as a success, %s', async (_, size) => {
    const tab = await openTab(browser(), openOf(terse), size);
    const { page } = tab;
    await shorten(page, 'https://paypa1-secure.example/login/verify?session=8f31');
    await page.getByRole('heading', { name: 'This link does not work' }).waitFor();
    await page.getByText('blocked unless a moderator allows it').waitFor();
    expect(await page.getByRole('button', { name: 'Copy' }).isVisible()).toBe(false);
    expect(await page.locator('#short-link').getAttribute('href')).toBeNull();
    expect(await axeViolations(page)).toEqual([]);
    await shorten(page, 'https://login-microsoft.example.top/password/reset');
    await page.getByRole('heading', { name: 'Your link is being checked' }).waitFor();
    await shorten(page, 'https://example.com/');
    await page.getByRole('heading', { name: 'Your short link' }).waitFor();
    expect(await page.locator('#result-note').isVisible()).toBe(false);
    expect(await page.getByRole('button', { name: 'Copy' }).isVisible()).toBe(true);
    // A key would not help with a destination that is not allowed.
    const problem = { code: 'url_blocked', field: 'longUrl', detail: 'This destination is on a list.' };
    await page.route('**/api/v1/links', route =>
      route.fulfill({ status: 403, body: JSON.stringify(problem) }),
    );
    await page.getByRole('button', { name: 'Shorten' }).click();
    await page.getByText('This destination is on a list.').waitFor();
    expect(await page.getByLabel('Long web address').getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByLabel('API key').isVisible()).toBe(false);
    await tab.context.close();
  });
});
