/** Edge cases of the dashboard: concurrent users, lost answers, held keys. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { type Call, callerOf } from '../kit/client.ts';
import { addAccount } from '../kit/stored-rows.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';

const phoneSize = { width: 390, height: 844 };
const dangerous = 'https://paypa1-secure.example/login/verify?session=8f31';

await describeInBrowser('the dashboard at its edges', browser => {
  let terse: TerseHere;
  let url: string;
  let call: Call;
  let tab: Tab;

  beforeAll(async () => {
    terse = await startTerseHere();
    url = terse.url.replace('127.0.0.1', 'localhost');
    call = callerOf(terse.url);
    tab = await openTab(browser(), url);
    await tab.page.clock.install();
    await signIn(tab, '/dashboard/links');
  });
  afterAll(async () => {
    await tab.context.close();
    await terse.stop();
  });

  const make = async (fields: object, options: { key?: undefined } = {}): Promise<string> => {
    const body = { longUrl: 'https://example.com/', ...fields };
    return (await call('POST', '/api/v1/links', { ...options, body })).body.shortCode;
  };
  const asStranger = { key: undefined };
  const reported = async (longUrl: string): Promise<string> => {
    const shortCode = await make({ longUrl }, asStranger);
    await call('POST', '/api/v1/reports', { ...asStranger, body: { shortCode, category: 'spam' } });
    return shortCode;
  };

  test('a case stays open, with the typed reason, while a riskier one enters the queue before it', async () => {
    const { page } = tab;
    const code = await reported('https://example.com/first');
    await page.goto('/dashboard/moderation');
    await page.getByRole('article', { name: `Case ${code}` }).waitFor();
    await page.getByLabel('Reason (visible to the owner)').fill('typed');
    await make({ longUrl: dangerous }, asStranger);
    await page.clock.runFor(16_000);
    await page.getByText('2 links waiting for a decision').waitFor();
    expect(await page.getByRole('article').getAttribute('aria-label')).toBe(`Case ${code}`);
    expect(await page.getByLabel('Reason (visible to the owner)').inputValue()).toBe('typed');
  });

  test('beside the list, Escape leaves the open case and its reason alone', async () => {
    const { page } = tab;
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    expect(await page.getByLabel('Reason (visible to the owner)').inputValue()).toBe('typed');
  });

  test('a user who moves on to another case stays there when the decision on the last one is answered', async () => {
    const { page } = tab;
    const code = (await page.getByRole('article').getAttribute('aria-label'))!.slice('Case '.length);
    const others = [
      await reported('https://example.com/second'),
      await reported('https://example.com/third'),
    ];
    await page.clock.runFor(16_000);
    await page.getByText('4 links waiting for a decision').waitFor();
    const decided = Promise.withResolvers<void>();
    await page.route(`**/moderation/links/${code}/decision`, async route => {
      await decided.promise;
      await route.continue();
    });
    await page.keyboard.press('a');
    await page.locator('.queue-item', { hasText: others[1]! }).click();
    await page.getByRole('article', { name: `Case ${others[1]}` }).waitFor();
    await page.getByLabel('Reason (visible to the owner)').fill('of the third');
    decided.resolve();
    await page.getByText('3 links waiting for a decision').waitFor();
    expect(await page.getByLabel('Reason (visible to the owner)').inputValue()).toBe('of the third');
    for (const other of others) {
      const { link } = (await call('GET', `/api/v1/moderation/links/${other}`)).body;
      const body = { decision: 'allow', reason: 'For a test', version: link.version };
      await call('POST', `/api/v1/moderation/links/${other}/decision`, { body });
    }
    await reported('https://example.com/fourth');
  });

  test('an empty filter does not say that the queue is empty', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: 'Appeals' }).click();
    await page.getByRole('heading', { name: 'No case matches this filter' }).waitFor();
  });

  test('on a phone, the keys of a decision do nothing while the list is shown', async () => {
    const phone = await openTab(browser(), url, phoneSize);
    await signIn(phone, '/dashboard/moderation');
    await phone.page.locator('.queue-item').first().waitFor();
    expect(await phone.page.locator('.case').count()).toBe(0);
    await phone.page.keyboard.press('b');
    await phone.page.locator('.queue-item').first().click();
    await phone.page.getByRole('article').waitFor();
    expect((await call('GET', '/api/v1/moderation/queue')).body.waiting).toBe(2);
    await phone.context.close();
  });

  test('an incomplete expiry is reported at its field, and nothing is saved', async () => {
    const { page } = tab;
    const expiresAt = '2999-01-31T00:00:00.000Z';
    await make({ customAlias: 'ends', expiresAt });
    await page.goto('/dashboard/links/ends');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Date and time').fill('');
    await page.getByText('Enter a date and a time').waitFor();
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
  });

  test('a suggested tag replaces the typed text', async () => {
    const { page } = tab;
    await make({ tags: ['newsletter'] });
    await page.goto('/dashboard/links');
    await page.getByRole('button', { name: 'New link' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Tags').pressSequentially('news');
    await dialog.getByRole('button', { name: 'newsletter', exact: true }).click();
    await dialog.getByRole('button', { name: 'Remove the tag newsletter' }).waitFor();
    expect(await dialog.getByRole('button', { name: /^Remove the tag/ }).count()).toBe(1);
    await dialog.getByLabel('Tags').fill('typed');
    await dialog.getByLabel('Title').click();
    await dialog.getByRole('button', { name: 'Remove the tag typed' }).waitFor();
  });

  test('campaign fields wait for a destination', async () => {
    const { page } = tab;
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Campaign (UTM)').click();
    expect(await dialog.getByLabel('Source').isDisabled()).toBe(true);
    await dialog.getByLabel('Destination').fill('example.com/once');
    await dialog.getByLabel('Source').fill('mail');
    expect(await dialog.getByLabel('Destination').inputValue()).toContain('utm_source=mail');
  });

  test('an error of a field disappears once the field is changed', async () => {
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByLabel('Short link').fill('ends');
    const rejected = tab.page.waitForResponse(response => response.request().method() === 'POST');
    await dialog.getByRole('button', { name: 'Create link' }).click();
    expect((await rejected).status()).toBe(409);
    await dialog.locator('.field-problem').waitFor();
    await dialog.getByLabel('Short link').fill('');
    await dialog.locator('.field-problem').waitFor({ state: 'detached' });
  });

  test('a link whose answer is lost is created once, however often it is sent', async () => {
    const { page } = tab;
    const dialog = page.getByRole('dialog');
    await page.route(
      '**/api/v1/links',
      async route => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await dialog.getByRole('button', { name: 'Create link' }).click();
    await dialog.getByText('nothing is created twice').waitFor();
    await dialog.getByRole('button', { name: 'Create link' }).click();
    await page.getByRole('dialog', { name: 'Your link is ready' }).waitFor();
    expect((await call('GET', '/api/v1/links?search=example.com/once')).body.links).toHaveLength(1);
    await page.keyboard.press('Escape');
  });

  test('a new link that is blocked is not presented as ready', async () => {
    const { page } = tab;
    await page.keyboard.press('c');
    await page.getByLabel('Destination').fill(`${dangerous}2`);
    await page.getByRole('button', { name: 'Create link' }).click();
    const dialog = page.getByRole('dialog', { name: 'This link does not work' });
    await dialog.waitFor();
    expect(await dialog.getByRole('button', { name: 'Copy link' }).count()).toBe(0);
    await page.keyboard.press('Escape');
  });

  test('a deletion waits while its message has the keyboard, and z undoes it', async () => {
    const { page } = tab;
    await make({ customAlias: 'spared' });
    await page.goto('/dashboard/links');
    const row = page.getByRole('link', { name: /\/spared$/ });
    await row.waitFor();
    await page.getByRole('button', { name: 'More for spared' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).focus();
    await page.clock.runFor(20_000);
    await page.keyboard.press('z');
    await row.waitFor();
    await page.locator('.link-row', { has: row }).getByText('Disabled').waitFor({ state: 'detached' });
    expect((await call('GET', '/api/v1/links/spared')).body.status).toBe('active');
  });

  test('links that a filter hides are no longer selected', async () => {
    const { page } = tab;
    await page.getByLabel('Select spared').check();
    await page.getByLabel('Search links').fill('ends');
    await page.getByRole('region', { name: 'Selected links' }).waitFor({ state: 'detached' });
    await page.getByLabel('Search links').fill('');
    expect(await page.getByLabel('Select spared').isChecked()).toBe(false);
  });

  test('the menu offers the themes that are not chosen', async () => {
    const { page } = tab;
    await page.locator('.account-button').click();
    await page.getByRole('menuitem', { name: 'Switch to dark' }).click();
    await page.locator('.account-button').click();
    await page.getByRole('menuitem', { name: 'Follow the system' }).click();
    await page.locator('.account-button').click();
    expect(await page.getByRole('menuitem', { name: 'Follow the system' }).count()).toBe(0);
    await page.keyboard.press('Escape');
  });

  test('a search changes the address once typing pauses, and a link that has expired says so', async () => {
    const { page } = tab;
    await make({ customAlias: 'over', expiresAt: new Date(Date.now() + 2_000).toISOString() });
    await page.goto('/dashboard/links');
    await page.evaluate(
      'history.replaceState = new Proxy(history.replaceState, { apply: (...all) => { globalThis.replaced = (globalThis.replaced ?? 0) + 1; return Reflect.apply(...all); } })',
    );
    await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 100);
    await page.getByLabel('Search links').pressSequentially('over');
    await page.getByRole('link', { name: /\/over$/ }).waitFor();
    expect(await page.evaluate('globalThis.replaced ?? 0')).toBe(0);
    await page.clock.runFor(1_000);
    await page.clock.resume();
    await page.waitForURL(/search=over$/);
    expect(await page.evaluate('globalThis.replaced')).toBe(1);
    await page.clock.runFor(10_000);
    await page.getByRole('link', { name: /\/over$/ }).click();
    await page.getByText(/^expired /).waitFor();
  });

  test('the chart is a table for those who cannot see it', async () => {
    const { page } = tab;
    await page.goto('/dashboard/links/spared?range=7d&interval=day');
    const table = page.getByRole('table', { name: 'Clicks over time' });
    await table.getByRole('row').nth(7).waitFor({ state: 'attached' });
    expect(await table.getByRole('row').count()).toBe(8);
    await page.goto('/dashboard/links/spared?range=7d&interval=hour&compare=on');
    await table.getByRole('row').nth(168).waitFor({ state: 'attached' });
    expect(await page.evaluate(spaceBelow)).toBeLessThan(100);
  });

  test('numbers that cannot be reloaded stay, below the error', async () => {
    const { page } = tab;
    await page.goto('/dashboard/links/spared');
    await page.getByRole('region', { name: 'Clicks over time' }).waitFor();
    await page.route('**/links/spared/stats?**', route =>
      route.fulfill({ status: 503, json: { code: 'x', detail: 'Come back later.' } }),
    );
    await page.clock.runFor(31_000);
    await page.locator('.stats-numbers').getByText('Come back later.').waitFor();
    expect(await page.getByRole('region', { name: 'Clicks over time' }).isVisible()).toBe(true);
    await page.unroute('**/links/spared/stats?**');
  });

  test('a history goes back to the creation of the link', async () => {
    const { page } = tab;
    for (let index = 0; index < 51; index += 1)
      await call('PATCH', '/api/v1/links/spared', { body: { title: `Title ${index}` } });
    await page.reload();
    const history = page.getByRole('region', { name: 'History' });
    await history.getByRole('button', { name: 'Show older entries' }).click();
    await history.getByText('Created', { exact: true }).waitFor();
  });

  test('another page starts with the focus on its heading', async () => {
    const { page } = tab;
    await page.getByRole('link', { name: 'API keys' }).first().click();
    await focusOn(page, 'API keys');
  });

  test('neither Back nor Escape loses a new key without a question', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name').fill('script');
    await page.getByRole('button', { name: 'Create key' }).click();
    const shown = page.getByRole('dialog', { name: 'Your new key' });
    await shown.waitFor();
    await page.goBack();
    const question = page.getByRole('dialog', { name: 'Close without saving it?' });
    await question.getByRole('button', { name: 'Go back' }).click();
    await page.keyboard.press('Escape');
    await question.getByRole('button', { name: 'Go back' }).click();
    expect(await shown.isVisible()).toBe(true);
    expect(page.url()).toEndWith('/dashboard/keys');
    await shown.getByRole('button', { name: 'I’ve saved it' }).click();
  });

  test('a menu that is taller than the window scrolls', async () => {
    const low = await openTab(browser(), url, { width: 1000, height: 235 });
    await signIn(low, '/dashboard/links');
    await low.page
      .getByRole('button', { name: /^More for/ })
      .first()
      .click();
    await low.page.locator('[role=menuitem]:focus').waitFor();
    await low.page.keyboard.press('End');
    const last = low.page.getByRole('menuitem', { name: 'Delete' });
    await low.page.locator('[role=menuitem]:focus', { hasText: 'Delete' }).waitFor();
    expect(await last.isVisible()).toBe(true);
    expect(await low.page.evaluate("document.querySelector('[role=menu]').scrollTop")).toBeGreaterThan(0);
    await low.context.close();
  });

  test('single keys can be switched off', async () => {
    const { page } = tab;
    await page.keyboard.press('?');
    await page.getByRole('switch', { name: 'Single-key shortcuts' }).click();
    await page.keyboard.press('Escape');
    await page.keyboard.press('c');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Command palette' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(1);
    await page.keyboard.press('Escape');
  });

  test('the shorten box of the landing page copies the new link', async () => {
    const own = await openTab(browser(), url);
    await own.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await own.page.goto('/');
    await own.page.locator('#long-url').fill('example.com/landing');
    await own.page.locator('#shorten-button').click();
    await own.page.getByText('✓ Copied').waitFor();
    expect(await own.page.evaluate('navigator.clipboard.readText()')).toContain(url);
    await own.context.close();
  });

  test('a tab does not continue as one account when another one has signed in in another tab', async () => {
    const { page, context } = tab;
    const strangerKey = addAccount(terse.dataFolder, 'stranger');
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Escape');
    await page
      .getByRole('button', { name: /New link/ })
      .first()
      .click();
    await page.getByLabel('Destination').fill('https://example.com/of-the-first');
    const other = await context.newPage();
    await other.goto('/dashboard/account');
    await other.locator('.account-button').click();
    await other.getByRole('menuitem', { name: 'Sign out' }).click();
    await other.getByLabel('API key', { exact: true }).fill(strangerKey);
    await other.getByRole('button', { name: 'Sign in', exact: true }).click();
    await other.locator('.account-button', { hasText: 'stranger' }).waitFor();
    await page.locator('.account-button', { hasText: 'stranger' }).waitFor();
    await page
      .getByRole('button', { name: /New link/ })
      .first()
      .click();
    expect(await page.getByLabel('Destination').inputValue()).toBe('');
    expect(tab.consoleErrors.filter(text => !/503|409|ERR_FAILED/.test(text))).toEqual([]);
  });
});

/** How far the page can be scrolled below its content. */
const spaceBelow =
  'document.documentElement.scrollHeight - scrollY - document.querySelector("main").getBoundingClientRect().bottom';

async function focusOn(page: Page, heading: string): Promise<void> {
  await page.locator('h1:focus', { hasText: heading }).waitFor();
}
