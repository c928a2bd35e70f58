/**
 * Text that strangers write into titles, addresses, reports and headers is kept unchanged and shown as text, in a real
 * browser, under the strict policy: nothing of it runs, and it does not change the direction of the text around it.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { findChromium, launchChromium } from '../browser/kit/chromium.ts';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { heavyTestMaxMs } from '../kit/scale.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { adminKey } from '../kit/terse-process.ts';

const chromium = await findChromium();
const browserTests =
  chromium.path === undefined ? `in a browser (skipped: ${chromium.reason})` : 'in a browser';

const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);

const run = 'window.hostileRan=1';
const hostileTexts = {
  script: `</title></textarea></script><script>${run}</script>`,
  image: `"><img src=x onerror="${run}"><svg onload=${run}>`,
  'event handler': `' autofocus onfocus='${run}' x='`,
  template: `{{constructor.constructor('${run}')()}} \${${run}}`,
  'turned around': '\u202Emoc.elpmaxe//:sptth\u202C \u2067evil\u2069 \u200F',
  'control characters': 'bell\u0007 escape\u001B[31m delete\u007F next\u0085',
  markup: '&lt;script&gt; <!-- --> <style>*{display:none}</style> <base href=//evil.example>',
} as const;

const addresses = {
  script: `https://example.com/?q=<script>${run}</script>#"><script>${run}</script>`,
  handler: `https://example.com/' onclick='${run}' x='`,
  'turned around': 'https://example.com/\u202Egpj.exe',
  'another alphabet': 'https://пример.example/страница',
  'right to left': 'https://مثال.example/صفحة',
  'a scheme inside': 'https://example.com/javascript:alert(1)//data:text/html,x',
} as const;

async function create(body: object): Promise<{ shortCode: string; longUrl: string; title: string | null }> {
  const answer = await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/', ...body } });
  expect(answer.status).toBe(201);
  return answer.body;
}
async function quarantine(code: string): Promise<void> {
  const body = { decision: 'quarantine', reason: hostileTexts.script, version: 1 };
  expect((await call('POST', `/api/v1/moderation/links/${code}/decision`, { body })).status).toBe(200);
}

describe('over the API', () => {
  test.each(Object.entries(hostileTexts))('%s comes back unchanged, wherever it was put', async (_, text) => {
    const { shortCode, title } = await create({ title: text, tags: [text.slice(0, 50)] });
    expect(title).toBe(text);
    const report = { shortCode, category: 'other', text };
    expect((await call('POST', '/api/v1/reports', { key: undefined, body: report })).status).toBe(202);
    const casePath = `/api/v1/moderation/links/${shortCode}`;
    const decision = { decision: 'block', reason: text, version: 1 };
    expect((await call('POST', `${casePath}/decision`, { body: decision })).status).toBe(200);
    expect((await call('POST', `${casePath}/notes`, { body: { text } })).status).toBe(201);
    expect((await call('POST', `/api/v1/links/${shortCode}/appeal`, { body: { text } })).status).toBe(202);
    const { headers, body } = await call('GET', casePath);
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(body.reports[0].text).toBe(text);
    expect(body.review.appeal.text).toBe(text);
    expect(body.history.entries.map(({ reason }: { reason: string }) => reason)).toEqual([text, text, text]);
  });

  test('a null byte or half a character is rejected everywhere', async () => {
    const { shortCode } = await create({});
    for (const text of ['a\0b', 'a\uD800b']) {
      const attempts = [
        ['POST', '/api/v1/links', { longUrl: 'https://example.com/', title: text }],
        ['PATCH', `/api/v1/links/${shortCode}`, { title: text }],
        ['POST', '/api/v1/reports', { shortCode, category: 'other', text }],
        ['POST', `/api/v1/moderation/links/${shortCode}/notes`, { text }],
        [
          'POST',
          `/api/v1/moderation/links/${shortCode}/decision`,
          { decision: 'block', reason: text, version: 1 },
        ],
        ['POST', `/api/v1/links/${shortCode}/appeal`, { text }],
      ] as const;
      for (const [method, path, body] of attempts)
        expectProblem(await call(method, path, { body }), 400, 'invalid_request');
    }
  });

  test('long hostile headers are harmless', async () => {
    const { shortCode } = await create({});
    const visit = (headers: Record<string, string>) =>
      call('GET', `/${shortCode}`, { key: undefined, headers });
    expect((await visit({ 'User-Agent': 'x'.repeat(64 * 1024) })).status).toBe(431);
    const agent = `Mozilla/5.0 <script>${run}</script> ${'x'.repeat(8_000)}`;
    const referer = `https://evil.example/"><script>${run}</script>`;
    expect((await visit({ 'User-Agent': agent, Referer: referer })).status).toBe(302);
    expect((await visit({ Referer: `javascript:${run}` })).status).toBe(302);
    expect((await visit({})).status).toBe(302);
  });
});

describe(browserTests, () => {
  let browser: Browser;
  let page: Page;
  let consoleErrors: string[];

  if (chromium.path === undefined) {
    test.skip('nothing runs, because no Chromium was found', () => undefined);
    return;
  }
  const { path } = chromium;

  beforeAll(async () => {
    browser = await launchChromium(path);
    const context = await browser.newContext({ baseURL: terse.url });
    page = await context.newPage();
    consoleErrors = [];
    // Runs before the page's own scripts, and reports what the policy stops.
    await page.addInitScript({
      content: `addEventListener('securitypolicyviolation', event => {
        console.error('policy: ' + event.violatedDirective);
      });`,
    });
    page.on('console', message => {
      if (message.type() === 'error' || message.type() === 'warning') consoleErrors.push(message.text());
    });
    page.on('pageerror', error => consoleErrors.push(error.message));
    page.on('dialog', dialog => {
      consoleErrors.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
  }, heavyTestMaxMs);
  afterAll(() => browser?.close());

  const shown = async (): Promise<string> => page.locator('main').innerText();
  const hasRun = (): Promise<boolean> => page.evaluate("'hostileRan' in window");
  /** The text as a browser shows it: white space is collapsed, and characters not allowed in a document are replaced. */
  const asShown = (text: string): string =>
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the very characters to take out.
    text.replace(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g, '\uFFFD').replace(/ +/g, ' ');

  async function open(path: string, status: number): Promise<void> {
    consoleErrors.length = 0;
    const response = await page.goto(path);
    expect(response?.status()).toBe(status);
    expect(await hasRun()).toBe(false);
    // A status of 400 and more is itself a line in the console.
    expect(consoleErrors.filter(text => !text.startsWith('Failed to load resource'))).toEqual([]);
  }

  test('these tests would notice a script that runs, and one that the policy stops', async () => {
    const script = `<script>${run}</script>`;
    await page.route('**/careless', route => route.fulfill({ contentType: 'text/html', body: script }));
    await page.route('**/stopped', route =>
      route.fulfill({
        contentType: 'text/html',
        body: script,
        headers: { 'Content-Security-Policy': "default-src 'none'" },
      }),
    );
    await page.goto('/careless');
    expect(await hasRun()).toBe(true);
    consoleErrors.length = 0;
    await page.goto('/stopped');
    expect(await hasRun()).toBe(false);
    expect(consoleErrors.join('\n')).toContain('policy: script-src');
  });

  test.each(Object.entries(addresses))(
    'a preview and a warning show %s in an address as text',
    async (_, longUrl) => {
      const link = await create({ longUrl });
      const { host } = new URL(link.longUrl);
      await open(`/${link.shortCode}+`, 200);
      expect(await shown()).toContain(link.longUrl);
      await quarantine(link.shortCode);
      await open(`/${link.shortCode}`, 200);
      expect(await shown()).toContain(link.longUrl);
      expect(await page.locator('.destination-url strong').innerText()).toBe(host);
      expect(await page.locator(`a[href^="http"], a[href^="javascript"]`).count()).toBe(0);
    },
  );

  test('a warning lets a visitor continue by its link, but not by an address that was shared', async () => {
    const { shortCode, longUrl } = await create({ longUrl: 'https://destination.example/arrived' });
    await quarantine(shortCode);
    const fulfil = { contentType: 'text/html', body: '<main>arrived</main>' };
    await page.route('https://destination.example/**', route => route.fulfill(fulfil));
    await open(`/${shortCode}`, 200);
    const way = await page.getByRole('link', { name: /Continue to/ }).getAttribute('href');
    await page.goto(way ?? '');
    expect(page.url()).not.toBe(longUrl);
    await page.getByRole('link', { name: /Continue to/ }).click();
    await page.waitForURL(longUrl);
    expect(await shown()).toBe('arrived');
  });

  test('pages for missing links show nothing of the requested path', async () => {
    for (const path of ['/%00', '/%3Cscript%3E', '/%E2%80%AEx', `/${'x'.repeat(5_000)}`, '/a/<script>'])
      await open(path, 404);
    const { shortCode } = await create({ title: hostileTexts.script });
    await call('DELETE', `/api/v1/links/${shortCode}`);
    await open(`/${shortCode}`, 410);
  });

  test('the report page shows what its address says as text, and sends it', async () => {
    const { shortCode } = await create({});
    for (const text of Object.values(hostileTexts)) {
      await open(`/report?code=${encodeURIComponent(text)}`, 200);
      expect(await page.getByLabel('Short link').inputValue()).toBe(asShown(text).replace(/ +/g, ' '));
    }
    await open(`/report?code=${shortCode}`, 200);
    await page.getByLabel('Short link').fill(`${terse.url}/${shortCode}+`);
    await page.getByLabel('What you saw').fill(hostileTexts.image);
    await page.getByRole('button', { name: 'Send the report' }).click();
    await page.getByText('The report was received').waitFor();
    expect(await hasRun()).toBe(false);
    const { reports } = (await call('GET', `/api/v1/moderation/links/${shortCode}`)).body;
    expect(reports[0].text).toBe(hostileTexts.image);
    await open('/report?code=of-nobody', 200);
    await page.getByRole('button', { name: 'Send the report' }).click();
    await page.getByText('Link not found').waitFor();
  });

  test('answers of the API opened as a page, and the reference, run nothing', async () => {
    const { shortCode } = await create({ title: hostileTexts.script });
    const report = { shortCode, category: 'other', text: hostileTexts.image };
    await call('POST', '/api/v1/reports', { key: undefined, body: report });
    await page.setExtraHTTPHeaders({ Authorization: `Bearer ${adminKey}` });
    for (const path of [`/api/v1/moderation/links/${shortCode}`, '/api/v1/moderation/queue', '/api/v1/audit'])
      await open(path, 200);
    await page.setExtraHTTPHeaders({});
    await open('/docs', 200);
  });
});
