/** The API reference in a browser: under the policy of every page, without any other server, and usable by everyone. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { callerOf } from '../kit/client.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { adminKey } from '../kit/terse-process.ts';
import { axeViolations, axeViolationsInBothSchemes } from './kit/axe.ts';
import { openTab, type Tab, type TabOptions } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';

await describeInBrowser('the API reference', browser => {
  let terse: TerseHere;
  beforeAll(async () => {
    // The page must also work under another host name than the public one.
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
  const openCreateLink = async (page: Page): Promise<void> => {
    await operation(page, 'createLink').locator('.opblock-summary-control').click();
    await operation(page, 'createLink').locator('.opblock-body').waitFor();
  };

  describe('on a desktop', () => {
    // One tab for all tests, because the page takes seconds to build.
    let tab: Tab;
    beforeAll(async () => {
      tab = await openDocs();
    });
    afterAll(() => tab.context.close());

    test('shows first how to shorten a URL', async () => {
      const { page } = tab;
      const introduction = page.locator('.info .description, .info .info__description').first();
      expect(await introduction.innerText()).toStartWith('Shorten a URL');
      await page.locator('.info').getByText('curl https://short.example/api/v1/links').waitFor();
      expect(await page.locator('.opblock-summary-description').first().textContent()).toBe('Shorten a URL');
    });

    test('has no violations of axe, closed and open, light and dark', async () => {
      await openCreateLink(tab.page);
      expect(await axeViolationsInBothSchemes(tab.page)).toEqual([]);
    });

    test('shows every operation and sends a request with the key of the reader, within the policy of every page', async () => {
      const { page, consoleErrors, foreignRequests } = tab;
      const { body } = await callerOf(terse.url)('GET', '/api/v1/openapi.json');
      const ids = Object.values<object>(body.paths)
        .flatMap(Object.values)
        .flatMap(({ operationId }) => operationId ?? []);
      expect(ids.length).toBeGreaterThan(40);
      const shown = (await page.evaluate(
        '[...document.querySelectorAll(".opblock")].map(block => block.id.split("-").at(-1))',
      )) as string[];
      expect(shown.sort()).toEqual(ids.sort());
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
      expect([consoleErrors, foreignRequests]).toEqual([[], []]);
    });
  });

  test('on a phone, scrolls to the problem that the address names, and has no violations of axe', async () => {
    const { page, context } = await openDocs({ width: 390, height: 844 }, '#problem-rate_limited');
    await page.waitForFunction(
      'document.getElementById("problem-rate_limited").getBoundingClientRect().top < innerHeight',
    );
    await openCreateLink(page);
    expect(await axeViolations(page)).toEqual([]);
    await context.close();
  });
});
