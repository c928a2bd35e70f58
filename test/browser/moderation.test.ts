/** Moderation: one key per decision, and its effect on visitors. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Call, callerOf } from '../kit/client.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { axeViolations } from './kit/axe.ts';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';

const phoneSize = { width: 390, height: 844 };

/** The part of an element that is used here: browser types are not available in tests. */
interface Measured {
  getBoundingClientRect(): { readonly right: number };
}

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

  test('the queue shows reports as text, and the destination without a link', async () => {
    const { page } = tab;
    await page.getByText('3 links waiting for a decision').waitFor();
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
    for (const [index, verb] of ['allowed', 'quarantined', 'blocked'].entries())
      await page.locator('.history li').getByText(`admin ${verb} /${codes[index]}`).waitFor();
    // The stored entry is shown only on request.
    expect(await page.locator('.history').getByText('link.decided').count()).toBe(0);
    await page
      .locator('.history li', { hasText: `blocked /${codes[2]}` })
      .getByText('Details')
      .click();
    await page.getByText('"action": "link.decided"').first().waitFor();
  });

  test('a decision can be undone, and the case is there again', async () => {
    const { page } = tab;
    const longUrl = 'https://example.com/four';
    const { shortCode } = (await call('POST', '/api/v1/links', { key: undefined, body: { longUrl } })).body;
    await call('POST', '/api/v1/reports', { key: undefined, body: { shortCode, category: 'spam' } });
    await page.goto('/dashboard/moderation');
    const article = page.getByRole('article', { name: `Case ${shortCode}` });
    await article.waitFor();
    await page.keyboard.press('b');
    await article.waitFor({ state: 'detached' });
    expect(await statusOf(shortCode)).toBe('blocked');
    await page.locator('.toast', { hasText: shortCode }).getByRole('button', { name: 'Undo' }).click();
    await article.waitFor();
    expect(await statusOf(shortCode)).toBe('active');
  });

  test('a disabled link that was blocked is disabled again after Undo; a decision that changed nothing has no Undo', async () => {
    const { page } = tab;
    const longUrl = 'https://example.com/five';
    const { shortCode } = (await call('POST', '/api/v1/links', { body: { longUrl } })).body;
    await call('PATCH', `/api/v1/links/${shortCode}`, { body: { status: 'disabled' } });
    await call('POST', '/api/v1/reports', { key: undefined, body: { shortCode, category: 'spam' } });
    await page.goto(`/dashboard/moderation?link=${shortCode}`);
    const article = page.getByRole('article', { name: `Case ${shortCode}` });
    await article.waitFor();
    await page.keyboard.press('b');
    await article.waitFor({ state: 'detached' });
    expect(await statusOf(shortCode)).toBe('blocked');
    await page.locator('.toast', { hasText: shortCode }).getByRole('button', { name: 'Undo' }).click();
    await article.waitFor();
    expect(await statusOf(shortCode)).toBe('disabled');
    await page.keyboard.press('a');
    const toast = page.locator('.toast', { hasText: `/${shortCode} is allowed` });
    await toast.waitFor();
    expect(await toast.getByRole('button', { name: 'Undo' }).count()).toBe(0);
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
    await page.getByRole('dialog').getByRole('button', { name: 'Remove from the list' }).click();
    await page.getByText('No entries of your own').waitFor();
    expect((await create()).status).toBe(201);
  });

  test('the highlighted decision is the one that the risk suggests', async () => {
    const { page } = tab;
    const dangerous = 'https://paypa1-secure.example/login/verify?session=8f31';
    const { body } = await call('POST', '/api/v1/links', { key: undefined, body: { longUrl: dangerous } });
    expect(body.status).toBe('blocked');
    await page.goto(`/dashboard/moderation?link=${body.shortCode}`);
    const styleOf = (name: string): Promise<string | null> =>
      page.locator('.decision').getByRole('button', { name }).getAttribute('class');
    expect(await styleOf('Block')).toContain('button-alarm');
    expect(await styleOf('Allow')).toContain('button-plain');
  });

  test('a case on a phone replaces the list, scrolled to the top, and Escape and Back lead back', async () => {
    const phone = await openTab(browser(), terse.url.replace('127.0.0.1', 'localhost'), phoneSize);
    const { page } = phone;
    await signIn(phone, '/dashboard/moderation');
    await page.locator('.queue-item').first().click();
    const box = await page.getByRole('article').boundingBox();
    expect(box!.y).toBeLessThan(phoneSize.height / 2);
    expect(await page.locator('.queue-list').isVisible()).toBe(false);
    expect(await axeViolations(page)).toEqual([]);
    await page.getByLabel('Reason (visible to the owner)').fill('not sure yet');
    await page.keyboard.press('Escape');
    expect(await page.getByLabel('Reason (visible to the owner)').inputValue()).toBe('not sure yet');
    await page.keyboard.press('Escape');
    await page.locator('.queue-list').waitFor();
    expect(await page.getByRole('article').isVisible()).toBe(false);
    await page.locator('.queue-item').first().click();
    await page.getByRole('article').waitFor();
    await page.goBack();
    await page.locator('.queue-list').waitFor();
    expect(await page.getByRole('article').isVisible()).toBe(false);
    await phone.context.close();
  });

  test.each(['/dashboard/keys', '/dashboard/accounts', '/dashboard/moderation/blocklists'])(
    'a table on a phone shows all its columns without horizontal scrolling: %s',
    async path => {
      await call('POST', '/api/v1/blocklist', { body: { entry: 'wide.example', reason: 'to see a row' } });
      const phone = await openTab(browser(), terse.url.replace('127.0.0.1', 'localhost'), phoneSize);
      await signIn(phone, path);
      await phone.page.locator('.table-card td').first().waitFor();
      const right = await phone.page
        .locator('.table-card td')
        .evaluateAll(cells =>
          Math.max(...cells.map(cell => (cell as unknown as Measured).getBoundingClientRect().right)),
        );
      expect(right).toBeLessThanOrEqual(phoneSize.width);
      await phone.context.close();
    },
  );

  test('the status page shows the numbers of the process', async () => {
    const { page } = tab;
    await page.getByRole('link', { name: 'Status' }).click();
    await page.getByRole('region', { name: 'Codes available' }).waitFor();
    await page.getByRole('region', { name: 'API answers' }).getByText('/s').waitFor();
    expect({ consoleErrors: tab.consoleErrors, foreignRequests: tab.foreignRequests }).toEqual({
      consoleErrors: [],
      foreignRequests: [],
    });
  });
});
