/** The dashboard over our own TLS: a browser accepts the certificate, the cookie and the live view. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { selfSigned, writePair } from '../kit/self-signed.ts';
import { adminKey, startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { browser as visitor } from '../kit/visitors.ts';
import { signIn } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';

await describeInBrowser('the dashboard over TLS', browser => {
  const folder = temporaryFolder();
  const pair = selfSigned();
  let terse: TerseProcess;

  beforeAll(async () => {
    terse = await startTerseProcess({ env: writePair(folder, pair) });
    await fetch(`${terse.url}/api/v1/links`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${adminKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ longUrl: 'https://example.com/', customAlias: 'secure' }),
      tls: { ca: pair.certificate },
    });
  });
  afterAll(async () => {
    await terse.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('is signed in to with a cookie that never leaves TLS, and shows clicks as they come', async () => {
    const baseURL = terse.url.replace('127.0.0.1', 'localhost');
    // The certificate of the test is not signed by an authority.
    const context = await browser().newContext({ baseURL, ignoreHTTPSErrors: true });
    const page = await context.newPage();
    const consoleErrors: string[] = [];
    page.on('pageerror', error => consoleErrors.push(String(error)));
    await signIn({ page }, '/dashboard/links/secure');
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ name: '__Host-terse_session', secure: true, httpOnly: true });
    await page.getByText('since you opened this page').waitFor();
    const tls = { ca: pair.certificate };
    await fetch(`${terse.url}/secure`, { headers: visitor, redirect: 'manual', tls });
    await page.locator('[data-testid=live-count]').getByText('1', { exact: true }).waitFor();
    expect(consoleErrors).toEqual([]);
    await context.close();
  });
});
