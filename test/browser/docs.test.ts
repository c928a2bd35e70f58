/** The API reference in a browser: under the policy of every page, without any other server, and usable by everyone. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { callerOf } from '../kit/client.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { adminKey } from '../kit/terse-process.ts';
import { axeObjections } from './kit/axe.ts';
import { openTab, type Tab, type TabOptions } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';

await describeInBrowser('the API reference', browser => {
  let terse: TerseHere;
  beforeAll(async () => {
    // Readers see it under another name than the public one, too.
    terse = await startTerseHere({ env: { TERSE_BASE_URL: 'https://short.example' } });
  });
  afterAll(() => terse.stop());

  async function openDocs(options: TabOptions = {}, fragment = ''): Promise<Tab> {
    const tab = await openTab(browser(), terse.url, options);
    await tab.page.goto(`/docs${fragment}`);
    await tab.page.locator('.opblock').first().waitFor();
    return tab;
  }
  const operation = (page: Page, id: string) => page.locator(`.opblock[id$="-${id}"]`);

  test('shows every operation and sends a request with the key of the reader, within the policy of every page', async () => {
    const { page, context, complaints, foreign } = await openDocs();
    const { body } = await callerOf(terse.url)('GET', '/api/v1/openapi.json');
    const ids = Object.values<object>(body.paths)
      .flatMap(Object.values)
      .flatMap(({ operationId }) => operationId ?? []);
    expect(ids.length).toBeGreaterThan(40);
    for (const id of ids) expect([id, await operation(page, id).count()]).toEqual([id, 1]);
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    const dialog = page.locator('.dialog-ux');
    await dialog.getByRole('textbox').first().fill(adminKey);
    await dialog.getByRole('button', { name: 'Apply credentials' }).first().click();
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    const list = operation(page, 'listLinks');
    await list.locator('.opblock-summary-control').click();
    await list.getByRole('button', { name: 'Try it out' }).click();
    await list.getByRole('button', { name: 'Execute' }).click();
    const answer = list.locator('.live-responses-table .response-col_status').last();
    await answer.waitFor();
    expect(await answer.textContent()).toContain('200');
    expect([complaints, foreign]).toEqual([[], []]);
    await context.close();
  });

  test('opens with how to shorten a URL, before anything else', async () => {
    const { page, context } = await openDocs();
    const introduction = page.locator('.info .description, .info .info__description').first();
    expect(await introduction.innerText()).toStartWith('Shorten a URL');
    await page.locator('.info').getByText('curl https://short.example/api/v1/links').waitFor();
    expect(await page.locator('.opblock-summary-description').first().textContent()).toBe('Shorten a URL');
    await context.close();
  });

  test('leads to the problem that the address names', async () => {
    const { page, context } = await openDocs({}, '#problem-rate_limited');
    await page.waitForFunction(
      'document.getElementById("problem-rate_limited").getBoundingClientRect().top < innerHeight',
    );
    await context.close();
  });

  test.each<[string, TabOptions]>([
    ['light', { theme: 'light' }],
    ['dark', { theme: 'dark' }],
    ['light on a phone', { theme: 'light', width: 390, height: 844 }],
  ])('has nothing that axe objects to, closed and open (%s)', async (_view, options) => {
    const { page, context } = await openDocs(options);
    await operation(page, 'createLink').locator('.opblock-summary-control').click();
    await operation(page, 'createLink').locator('.opblock-body').waitFor();
    expect(await axeObjections(page)).toEqual([]);
    await context.close();
  });
});
