/** From an admin's invitation to a member who signs in with a password and sees only the pages of a member. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';

const password = 'a few words are enough';

await describeInBrowser('accounts in the dashboard', browser => {
  let terse: TerseHere;
  let admin: Tab;
  let member: Tab;
  let invitation = '';

  beforeAll(async () => {
    terse = await startTerseHere();
    const url = terse.url.replace('127.0.0.1', 'localhost');
    admin = await openTab(browser(), url);
    member = await openTab(browser(), url);
    await signIn(admin, '/dashboard/accounts');
  });
  afterAll(async () => {
    await admin.context.close();
    await member.context.close();
    await terse.stop();
  });

  test('an admin creates an account and gets an invitation to hand over', async () => {
    const { page } = admin;
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByLabel('Name').fill('Ada');
    await page.getByLabel('E-mail address').fill('ada@example.com');
    await page.getByRole('button', { name: 'Create and invite' }).click();
    invitation = await page.locator('.secret code').innerText();
    expect(invitation).toContain('/dashboard/invitation#');
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('rowheader', { name: 'Ada' }).waitFor();
  });

  test('its holder chooses a password and is signed in, as a member', async () => {
    const { page } = member;
    await page.goto(invitation);
    await page.getByLabel('New password').fill(password);
    await page.getByRole('heading', { name: /^admin invites you to localhost/ }).waitFor();
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.getByRole('link', { name: 'Review queue' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Status' }).count()).toBe(0);
  });

  test('signing out forgets everything, and the password opens the same account again', async () => {
    const { page } = member;
    await page.getByRole('button', { name: /Ada/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByLabel('E-mail address').fill('ada@example.com');
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  test('an account that signs in where another was signed in sees and keeps nothing of it', async () => {
    await callerOf(terse.url)('POST', '/api/v1/links', {
      body: { longUrl: 'https://example.com/', customAlias: 'of-admin' },
    });
    const shared = await openTab(browser(), terse.url.replace('127.0.0.1', 'localhost'));
    const { page } = shared;
    await signIn(shared, '/dashboard/links');
    await page.getByRole('link', { name: /\/of-admin$/ }).waitFor();
    await page.keyboard.press('c');
    await page.getByRole('textbox', { name: 'Destination' }).fill('https://example.com/typed-by-admin');
    await shared.context.clearCookies();
    // Not by the pointer: a read in the background may have opened the dialog already.
    await page.getByRole('button', { name: 'Create link' }).dispatchEvent('click');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByRole('button', { name: 'Password' }).click();
    await dialog.getByLabel('E-mail address').fill('ada@example.com');
    await dialog.getByLabel('Password', { exact: true }).fill(password);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'No links yet' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.keyboard.press('c');
    expect(await page.getByRole('textbox', { name: 'Destination' }).inputValue()).toBe('');
    await shared.context.close();
  });

  test('a suspension signs the member out', async () => {
    const { page } = admin;
    await page.getByRole('button', { name: 'More for Ada' }).click();
    await page.getByRole('menuitem', { name: 'Suspend' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('rowheader', { name: 'Ada' }).getByText('Suspended').waitFor();
    expect({ consoleErrors: admin.consoleErrors, foreignRequests: admin.foreignRequests }).toEqual({
      consoleErrors: [],
      foreignRequests: [],
    });
    await member.page.getByRole('link', { name: 'Links' }).first().click();
    await member.page
      .getByText(/suspended|session has ended/)
      .first()
      .waitFor();
  });
});
