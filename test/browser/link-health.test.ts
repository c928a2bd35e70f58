/** What an owner sees if a destination does not answer, and if it does. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { createHealthStore, destinationOf } from '../../src/health/health.ts';
import { createSqliteRecords } from '../../src/records/drivers/sqlite.ts';
import { openEmbedded } from '../../src/stores/embedded.ts';
import { callerOf } from '../kit/client.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';

await describeInBrowser('link health in the dashboard', browser => {
  let terse: TerseHere;
  let tab: Tab;

  beforeAll(async () => {
    // Without the role that checks destinations: the test writes the results.
    terse = await startTerseHere({ env: { TERSE_LINK_HEALTH: 'on', TERSE_ROLES: 'api,redirect' } });
    const call = callerOf(terse.url);
    const { reader, writer } = await openEmbedded(terse.dataFolder);
    const store = createHealthStore(
      createSqliteRecords(reader, writer, systemClock),
      systemClock,
      systemRandom,
    );
    const now = Date.now();
    for (const [customAlias, failingSince, httpStatus] of [
      ['broken', now - 3 * 60 * 60_000, 410],
      ['fine', null, 200],
    ] as const) {
      const longUrl = `https://example.com/${customAlias}`;
      await call('POST', '/api/v1/links', { body: { longUrl, customAlias } });
      const record = {
        destination: destinationOf(longUrl),
        checkedAt: now,
        failingSince,
        httpStatus,
        reason: null,
      };
      await store.save([{ code: customAlias, ...record }], now, 60_000);
    }
    await writer.close();
    reader.close();
    tab = await openTab(browser(), terse.url.replace('127.0.0.1', 'localhost'));
    await signIn(tab, '/dashboard/links');
  });
  afterAll(async () => {
    await tab.context.close();
    await terse.stop();
  });

  test('the list marks the link whose destination does not answer, and only that', async () => {
    const { page } = tab;
    await page.getByText('Not answering').waitFor();
    expect(await page.getByText('Not answering').count()).toBe(1);
    expect(await page.getByRole('listitem').filter({ hasText: 'Not answering' }).textContent()).toContain(
      'broken',
    );
  });

  test('the page of a link shows since when and why it does not answer, or when it last did', async () => {
    const { page } = tab;
    await page.goto('/dashboard/links/broken');
    await page.getByText('destination not answering, first seen 3 hr. ago: it answers with 410').waitFor();
    await page.goto('/dashboard/links/fine');
    await page.getByText(/destination answered/).waitFor();
    expect(tab.consoleErrors).toEqual([]);
  });
});
