/** An owner's first day: signs in, creates a link, sees its clicks, edits it, disables it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { until } from '../kit/until.ts';
import { browser as visitor } from '../kit/visitors.ts';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';

await describeInBrowser('the dashboard for an owner', browser => {
  let terse: TerseHere;
  let url: string;
  let tab: Tab;
  const visit = (path: string): Promise<Response> =>
    fetch(url + path, { redirect: 'manual', headers: visitor });
  const clicksOf = async (code: string): Promise<number> =>
    (await callerOf(url)('GET', `/api/v1/links/${code}/stats`)).body.totalClicks;

  beforeAll(async () => {
    terse = await startTerseHere();
    url = terse.url.replace('127.0.0.1', 'localhost');
    tab = await openTab(browser(), url, { hasMotion: true });
  });
  afterAll(async () => {
    await tab.context.close();
    await terse.stop();
  });

  test('a wrong key is rejected with a message, the right one opens an empty overview', async () => {
    const { page } = tab;
    await page.goto('/dashboard');
    await page.getByRole('button', { name: 'API key' }).click();
    await page.getByLabel('API key', { exact: true }).fill('not-a-key-at-all');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page
      .getByRole('alert')
      .getByText(/not valid/)
      .waitFor();
    // The browser itself logs the rejection; there must be no other error so far.
    expect(tab.consoleErrors.splice(0).every(text => text.includes('401'))).toBe(true);
    await signIn(tab);
    await page.getByRole('heading', { name: 'Welcome to Terse' }).waitFor();
  });

  test('an address pasted anywhere becomes a link with the alias that was free', async () => {
    const { page } = tab;
    await page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', 'https://example.com/a/long/path');
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    }`);
    expect(await page.getByRole('textbox', { name: 'Destination' }).inputValue()).toBe(
      'https://example.com/a/long/path',
    );
    await page.getByLabel('Short link', { exact: true }).fill('admin');
    await page.getByText('This alias is reserved.').waitFor();
    await page.getByLabel('Short link', { exact: true }).fill('first');
    await page.getByText('Available').waitFor();
    await page.getByLabel('Tags').fill('spring,');
    await page.getByText('Campaign (UTM)').click();
    await page.getByLabel('Source').fill('mail');
    await page.getByRole('button', { name: 'Create link' }).click();
    await page.getByRole('heading', { name: 'Your link is ready' }).waitFor();
    const answer = await visit('/first');
    expect(answer.headers.get('location')).toBe('https://example.com/a/long/path?utm_source=mail');
    // A click that is already counted is not shown as live on the next page.
    await until('the click to be counted', async () => (await clicksOf('first')) === 1);
    await page.getByRole('button', { name: 'See statistics' }).click();
    await page.getByRole('heading', { name: /\/first$/ }).waitFor();
    await page.locator('.link-meta').getByText('spring').waitFor();
  });

  test('a click shows up live and then in the numbers, without a reload', async () => {
    const { page } = tab;
    await page.getByText('since you opened this page').waitFor();
    await visit('/first');
    await page.locator('[data-testid=live-count]').getByText('1', { exact: true }).waitFor();
    await page.getByRole('listitem').filter({ hasText: 'Chrome' }).first().waitFor();
    await page.locator('.figure', { hasText: 'Clicks' }).first().getByText('2', { exact: true }).waitFor();
  });

  test('an edit changes where the link leads, and its history says so', async () => {
    const { page } = tab;
    await page.keyboard.press('e');
    await page.getByRole('textbox', { name: 'Destination' }).fill('https://example.com/elsewhere');
    await page.getByRole('textbox', { name: 'Title' }).fill('<b>Spring</b>');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Link saved').waitFor();
    expect((await visit('/first')).headers.get('location')).toBe('https://example.com/elsewhere');
    // Shown as text, not as markup.
    await page.locator('.link-title').getByText('<b>Spring</b>').waitFor();
    await page.locator('.history').getByText('https://example.com/elsewhere').waitFor();
  });

  test('the QR code can be downloaded as SVG and as PNG', async () => {
    const { page } = tab;
    await page.keyboard.press('q');
    await page.getByRole('img', { name: 'QR code of the short link' }).waitFor();
    const contents: string[] = [];
    for (const kind of ['SVG', 'PNG']) {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: `Download ${kind}` }).click();
      const file = await (await download).path();
      contents.push(
        Buffer.from(await Bun.file(file).bytes())
          .toString('latin1')
          .slice(0, 5),
      );
    }
    expect(contents).toEqual(['<svg ', '\x89PNG\r']);
    await page.keyboard.press('Escape');
  });

  test('the keyboard can skip the navigation, and the command palette scrolls to the selected option', async () => {
    const { page } = tab;
    await page.goto('/dashboard');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.className')).toBe('skip-link');
    await page.keyboard.press('Enter');
    await until('the content to have the focus', async () =>
      Boolean(await page.evaluate('document.activeElement.id === "content"')),
    );
    await page.setViewportSize({ width: 1280, height: 420 });
    await page.keyboard.press('ControlOrMeta+k');
    await page.getByRole('dialog').getByRole('combobox').waitFor();
    await page.keyboard.press('ArrowUp');
    const last = page.getByRole('dialog').getByRole('option', { selected: true });
    await until('the chosen one to be in view', () =>
      last.evaluate(option => {
        const { bottom } = option.getBoundingClientRect();
        return bottom <= option.closest('.dialog-body')!.getBoundingClientRect().bottom + 1;
      }),
    );
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  test('an error of the server is shown at its field, or above the form', async () => {
    const { page } = tab;
    await page.goto('/dashboard/links/first');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByText('More options').click();
    await page.getByLabel('Click limit').fill('0');
    await page.getByText('More options').click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/“maxClicks”/).waitFor();
    expect(await page.getByLabel('Click limit').getAttribute('aria-invalid')).toBe('true');
    const problem = { code: 'invalid_request', field: 'domain', detail: 'No such domain.' };
    await page.route(
      '**/api/v1/links/first',
      route => route.fulfill({ status: 400, body: JSON.stringify(problem) }),
      { times: 1 },
    );
    await page.getByLabel('Click limit').fill('');
    await page.getByRole('textbox', { name: 'Title' }).fill('Another');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('No such domain.').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    // The browser itself logs both.
    expect(tab.consoleErrors.splice(0).every(text => text.includes('400'))).toBe(true);
  });

  test('a disabled link answers 410 at once, an enabled one leads on again', async () => {
    const { page } = tab;
    const choose = async (name: string): Promise<void> => {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await choose('Disable');
    await page.getByText('1 link disabled').waitFor();
    expect((await visit('/first')).status).toBe(410);
    await choose('Enable');
    await page.getByText('1 link enabled').waitFor();
    expect((await visit('/first')).status).toBe(302);
  });

  test('deleting stops a link at once and can be undone; left alone, it is final', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const deleted = page.locator('.toast', { hasText: '1 link deleted' });
    await deleted.waitFor();
    expect((await visit('/first')).status).toBe(410);
    await deleted.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name: /\/first$/ }).waitFor();
    await until('the link to redirect', async () => (await visit('/first')).status === 302);
    await page.getByRole('button', { name: 'More for first' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByText('No links yet').waitFor();
    // Leaving the page deletes the link at once, but the deletion may arrive after the first requests of the next page.
    await page.goto('/dashboard/links');
    await until('the link to be deleted', async () =>
      (await (await visit('/first')).text()).includes('deleted'),
    );
    await page.reload();
    await page.getByText('No links yet').waitFor();
  });

  test('a key is shown once, and works until it is revoked', async () => {
    const { page } = tab;
    await page.keyboard.press('g');
    await page.keyboard.press('k');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name').fill('script');
    await page.getByRole('button', { name: 'Create key' }).click();
    const key = await page.locator('.secret code').innerText();
    const ask = () => fetch(`${url}/api/v1/links`, { headers: { Authorization: `Bearer ${key}` } });
    expect((await ask()).status).toBe(200);
    await page.getByRole('button', { name: 'I’ve saved it' }).click();
    await page.getByRole('button', { name: 'More for script' }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('“script” is revoked').waitFor();
    expect((await ask()).status).toBe(401);
  });

  test('there were no console errors and no requests to other servers', () => {
    expect({ consoleErrors: tab.consoleErrors, foreignRequests: tab.foreignRequests }).toEqual({
      consoleErrors: [],
      foreignRequests: [],
    });
  });
});
