/** A moderator's desk: one key per decision, and what it does to visitors. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Call, callerOf } from '../kit/client.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';

await describeInBrowser('the dashboard for a moderator', browser => {
  let terse: TerseHere;
  let call: Call;
  let tab: Tab;
  const codes: string[] = [];

  beforeAll(async () => {
    terse = await startTerseHere();
    call = callerOf(terse.url);
    for (const page of ['one', 'two', 'three']) {
      const { body } = await call('POST', '/api/v1/links', {
        key: undefined,
        body: { longUrl: `https://example.com/${page}` },
      });
      codes.push(body.shortCode);
      const report = {
        shortCode: body.shortCode,
        category: 'spam',
        text: `<img src=x onerror=alert(1)> ${page}`,
      };
      await call('POST', '/api/v1/reports', { key: undefined, body: report });
    }
    tab = await openTab(browser(), terse.url.replace('127.0.0.1', 'localhost'));
    await signIn(tab, '/dashboard/moderation');
  });
  afterAll(async () => {
    await tab.context.close();
    await terse.stop();
  });

  const statusOf = async (code: string): Promise<string> =>
    (await call('GET', `/api/v1/moderation/links/${code}`)).body.link.status;

  test('the queue shows what was reported, as text, and the destination without a link', async () => {
    const { page } = tab;
    await page.getByText('3 waiting for a decision').waitFor();
    await page.getByText('<img src=x onerror=alert(1)> one').waitFor();
    expect(await page.locator('.case a[href^="https://example.com"]').count()).toBe(0);
  });

  test('a, q and b decide, and the next case is there at once', async () => {
    const { page } = tab;
    for (const [key, code] of [
      ['a', codes[0]!],
      ['q', codes[1]!],
      ['b', codes[2]!],
    ] as const) {
      await page.getByRole('article', { name: `Case ${code}` }).waitFor();
      await page.keyboard.press(key);
      await page.getByRole('article', { name: `Case ${code}` }).waitFor({ state: 'detached' });
    }
    await page.getByRole('heading', { name: 'Queue is empty' }).waitFor();
    expect(await Promise.all(codes.map(statusOf))).toEqual(['active', 'quarantined', 'blocked']);
  });

  test('every decision is in the audit, with its reason', async () => {
    const { page } = tab;
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByText('The destination breaks the rules of this server.').waitFor();
    expect(await page.locator('.history').getByText('Decided').count()).toBe(3);
  });

  test('an entry of the blocklist is active at once and can be removed', async () => {
    const { page } = tab;
    await page.getByRole('link', { name: 'Blocklists' }).click();
    await page.getByLabel('Domain or address').fill('evil.example');
    await page.getByRole('button', { name: 'Block', exact: true }).click();
    await page.getByText('evil.example was added to the list').waitFor();
    const create = () => call('POST', '/api/v1/links', { body: { longUrl: 'https://evil.example/' } });
    expect((await create()).status).toBe(403);
    await page.getByRole('button', { name: 'Remove from the list: evil.example' }).click();
    await page.getByText('No entries of your own').waitFor();
    expect((await create()).status).toBe(201);
  });

  test('the status page shows the numbers of the process', async () => {
    const { page } = tab;
    await page.getByRole('link', { name: 'Status' }).click();
    await page.getByRole('region', { name: 'Codes available' }).waitFor();
    await page.getByRole('region', { name: 'API answers' }).getByText('/s').waitFor();
    expect({ complaints: tab.complaints, foreign: tab.foreign }).toEqual({ complaints: [], foreign: [] });
  });
});
