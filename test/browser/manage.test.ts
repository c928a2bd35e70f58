/** Managing links on a desktop and on a phone: copying, drafts, many at once, QR codes, sharing. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { correction, generate } from 'lean-qr';
import type { Locator } from 'playwright-core';
import { type Call, callerOf } from '../kit/client.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { until } from '../kit/until.ts';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';

const screens = { desk: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } } as const;

/** The dark modules of the QR code of a text, with the usual correction and margin, as a path has them. */
function outlineOf(text: string): string {
  const level = correction.M;
  const modules = generate(text, { minCorrectionLevel: level, maxCorrectionLevel: level });
  const places = Array.from({ length: modules.size ** 2 }, (_, at) => [
    at % modules.size,
    Math.floor(at / modules.size),
  ]) as [number, number][];
  return places
    .filter(([x, y]) => modules.get(x, y))
    .map(([x, y]) => `M${x + 4} ${y + 4}h1v1h-1z`)
    .join('');
}

for (const [screen, size] of Object.entries(screens)) {
  await describeInBrowser(`managing links on a ${screen}`, browser => {
    let terse: TerseHere;
    let url: string;
    let call: Call;
    let tab: Tab;
    beforeAll(async () => {
      terse = await startTerseHere();
      url = terse.url.replace('127.0.0.1', 'localhost');
      call = callerOf(terse.url);
      for (const [customAlias, tags] of [
        ['one', ['spring', 'shop']],
        ['two', ['spring']],
        ['three', []],
      ] as const) {
        const body = { longUrl: `https://example.com/${customAlias}`, customAlias, tags };
        await call('POST', '/api/v1/links', { body });
      }
      tab = await openTab(browser(), url, size);
      await tab.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: url });
      await signIn(tab, '/dashboard/links');
    });
    afterAll(async () => {
      await tab.context.close();
      await terse.stop();
    });

    const links = async (): Promise<void> => {
      await tab.page.goto('/dashboard/links?sort=oldest');
      await tab.page.getByRole('button', { name: 'More for one' }).waitFor();
    };
    const clipboard = (): Promise<string> =>
      tab.page.evaluate('navigator.clipboard.readText()') as Promise<string>;
    const statusOf = async (code: string): Promise<string> =>
      (await call('GET', `/api/v1/links/${code}`)).body.status;
    const choose = async (item: string, of = 'one'): Promise<void> => {
      await tab.page.getByRole('button', { name: `More for ${of}` }).click();
      await tab.page.getByRole('menuitem', { name: item }).click();
    };
    const saved = async (press: Locator): Promise<string> => {
      const download = tab.page.waitForEvent('download');
      await press.click();
      return Bun.file(await (await download).path()).text();
    };
    const create = async (address: string): Promise<void> => {
      await tab.page.keyboard.press('c');
      await tab.page.getByRole('textbox', { name: 'Destination' }).fill(address);
      await tab.page.getByRole('button', { name: 'Create link' }).click();
      await tab.page.getByRole('heading', { name: 'Your link is ready' }).waitFor();
    };

    test('a new link is copied, and the button says so', async () => {
      await links();
      await create('https://example.com/copied');
      await tab.page.getByText('Copied to the clipboard').first().waitFor();
      await tab.page.getByRole('button', { name: 'Copied' }).waitFor();
      const {
        links: [newest],
      } = (await call('GET', '/api/v1/links?limit=1')).body;
      expect(await clipboard()).toBe(newest.shortUrl);
      await tab.page.keyboard.press('Escape');
    });

    test('where the browser refuses to copy, the page says what to do', async () => {
      await tab.page.evaluate(`{
        navigator.clipboard.write = navigator.clipboard.writeText = () => Promise.reject(new Error('refused'));
        document.execCommand = () => false;
      }`);
      await create('https://example.com/refused');
      await tab.page.getByText('Your browser did not allow copying').waitFor();
      await tab.page.getByRole('button', { name: 'Copy link' }).click();
      await tab.page.locator('dialog .toast', { hasText: 'did not allow' }).waitFor();
    });

    test('Escape asks before it loses typed text, and a reload keeps the text', async () => {
      await links();
      const destination = tab.page.getByRole('textbox', { name: 'Destination' });
      await tab.page.keyboard.press('c');
      await destination.waitFor();
      await tab.page.keyboard.press('Escape');
      await destination.waitFor({ state: 'detached' });
      await tab.page.keyboard.press('c');
      await destination.fill('https://example.com/half');
      for (const _time of [1, 2]) {
        await tab.page.keyboard.press('Escape');
        await tab.page.getByRole('heading', { name: 'Discard what you typed?' }).waitFor();
        await tab.page.getByRole('button', { name: 'Keep editing' }).click();
        expect(await destination.inputValue()).toBe('https://example.com/half');
      }
      await links();
      await tab.page.keyboard.press('c');
      await tab.page.getByText('Your draft was restored.').waitFor();
      expect(await destination.inputValue()).toBe('https://example.com/half');
      await tab.page.keyboard.press('Escape');
      await tab.page.getByRole('button', { name: 'Discard' }).click();
      await destination.waitFor({ state: 'detached' });
      await tab.page.keyboard.press('c');
      expect(await destination.inputValue()).toBe('');
      await tab.page.keyboard.press('Escape');
    });

    test('a key that is shown once is not lost by Escape or a click outside', async () => {
      const { page } = tab;
      await page.goto('/dashboard/keys');
      await page.getByRole('button', { name: 'New key' }).click();
      await page.getByLabel('Name').fill('script');
      await page.getByRole('button', { name: 'Create key' }).click();
      const secret = page.locator('.secret code');
      await page.getByRole('heading', { name: 'Your new key' }).waitFor();
      const shown = await secret.innerText();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Go back' }).click();
      await page.mouse.click(5, 5);
      await page.getByRole('button', { name: 'Go back' }).click();
      expect(await secret.innerText()).toBe(shown);
      expect(await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')).not.toContain(
        shown,
      );
      await page.getByRole('button', { name: 'I’ve saved it' }).click();
      await secret.waitFor({ state: 'detached' });
    });

    test('d disables a link, and Undo works over a dialog that was opened since', async () => {
      const { page } = tab;
      await page.goto('/dashboard/links/one');
      await page.getByRole('button', { name: 'Copy link' }).waitFor();
      await page.keyboard.press('d');
      await page.getByText('1 link disabled').waitFor();
      expect(await statusOf('one')).toBe('disabled');
      await page.keyboard.press('e');
      await page.getByRole('heading', { name: 'Edit /one' }).waitFor();
      await page.locator('dialog').getByRole('button', { name: 'Undo' }).click();
      await until('the link to be active', async () => (await statusOf('one')) === 'active');
      await page.keyboard.press('Escape');
    });

    test('a click anywhere on a row opens the link, and a tag shows the links that have it', async () => {
      const { page } = tab;
      await links();
      await page.locator('.link-row', { hasText: '/two' }).click({ position: { x: size.width / 4, y: 60 } });
      await page.getByRole('heading', { name: /\/two$/ }).waitFor();
      await page.getByRole('link', { name: 'spring' }).click();
      await page.getByText(/^2 of \d+ links$/).waitFor();
      expect(await page.getByLabel('Tag', { exact: true }).inputValue()).toBe('spring');
    });

    test('a tag that no link has is still shown as the filter', async () => {
      await tab.page.goto('/dashboard/links?tag=autumn');
      await tab.page.getByText('Nothing matches').waitFor();
      expect(await tab.page.getByLabel('Tag', { exact: true }).inputValue()).toBe('autumn');
    });

    test('a saved view opens again, after a reload too', async () => {
      const { page } = tab;
      await page.goto('/dashboard/links?tag=spring&sort=oldest');
      await page.getByRole('button', { name: 'Save view' }).click();
      await page.getByRole('textbox', { name: 'Name' }).fill('Campaign');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await links();
      await page.getByRole('link', { name: 'Campaign' }).click();
      await page.getByText(/^2 of \d+ links$/).waitFor();
      expect(new URL(page.url()).search).toBe('?tag=spring&sort=oldest');
      await page.getByRole('button', { name: 'Remove the view Campaign' }).click();
      await page.getByRole('button', { name: 'Save view' }).waitFor();
    });

    test('exactly the shown links are exported', async () => {
      const { page } = tab;
      await page.goto('/dashboard/links?tag=spring&sort=oldest');
      await page.getByText(/^2 of \d+ links$/).waitFor();
      const exported = async (kind: string): Promise<string> => {
        await page.getByRole('button', { name: 'Export' }).click();
        return saved(page.getByRole('menuitem', { name: kind }));
      };
      const [, first, second, ...rest] = (await exported('CSV')).trim().split('\r\n');
      expect(first).toStartWith(`${terseUrl()}/one,https://example.com/one,,"spring, shop",active,0,`);
      expect([second?.split(',')[1], rest]).toEqual(['https://example.com/two', []]);
      const json = JSON.parse(await exported('JSON'));
      expect(json.map(({ shortCode }: { shortCode: string }) => shortCode)).toEqual(['one', 'two']);
    });
    const terseUrl = (): string => terse.url.replace('127.0.0.1', 'localhost');

    test('the menu of the last row is inside the window', async () => {
      const { page } = tab;
      await links();
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      await page
        .locator('.link-row')
        .last()
        .getByRole('button', { name: /^More for/ })
        .click();
      const menu = (await page.getByRole('menu').boundingBox())!;
      expect(menu.y).toBeGreaterThanOrEqual(0);
      expect(menu.y + menu.height).toBeLessThanOrEqual(size.height);
      await page.keyboard.press('Escape');
    });

    test('a duplicate has everything but the alias', async () => {
      const { page } = tab;
      await links();
      await choose('Duplicate');
      const destination = page.getByRole('textbox', { name: 'Destination' });
      expect(await destination.inputValue()).toBe('https://example.com/one');
      expect(await page.getByLabel('Short link', { exact: true }).inputValue()).toBe('');
      await page.getByRole('button', { name: 'Create link' }).click();
      await page.getByRole('heading', { name: 'Your link is ready' }).waitFor();
      const {
        links: [copy],
      } = (await call('GET', '/api/v1/links?limit=1')).body;
      expect([copy.longUrl, copy.tags]).toEqual(['https://example.com/one', ['spring', 'shop']]);
      await page.keyboard.press('Escape');
    });

    test('a table of many addresses shows the problem of each row, and then its result', async () => {
      const { page } = tab;
      await links();
      await page.getByRole('button', { name: 'Import' }).click();
      const good = Array.from(
        { length: 600 },
        (_, at) => `https://example.com/import/${at},,Import ${at},many`,
      );
      const bad = [
        'javascript:alert(1),,,',
        'https://example.com/taken,one,,',
        'https://example.com/x,two words,,',
      ];
      const table = ['url,alias,title,tags', ...good, ...bad].join('\n');
      await page.getByLabel('Addresses or CSV').fill(table);
      await page.getByRole('button', { name: 'Check' }).click();
      await page.getByText('601 links ready').waitFor();
      await page.getByText('2 rows have a problem').waitFor();
      await page.getByRole('row', { name: /^602 / }).getByText('Not a web address').waitFor();
      const progress: string[] = [];
      await page.exposeFunction('noteProgress', (text: string) => progress.push(text));
      await page.evaluate(`new MutationObserver(() => {
        const text = document.querySelector('.import-progress p')?.textContent;
        if (text) noteProgress(text);
      }).observe(document.body, { subtree: true, childList: true, characterData: true })`);
      await page.getByRole('button', { name: 'Create 601 links' }).click();
      await page.getByText('600 links created').waitFor();
      await page.getByText('1 row failed').waitFor();
      await page
        .getByRole('row', { name: /^603 / })
        .getByText(/is already/)
        .waitFor();
      expect(progress).toContain('100 of 601');
      expect(
        (await saved(page.getByRole('button', { name: 'Download results' }))).split('\r\n'),
      ).toHaveLength(605);
      await page.getByRole('button', { name: 'Done' }).click();
      const { total } = (await call('GET', '/api/v1/links?tag=many&total=true')).body;
      expect(total).toBe(600);
    });

    test('an interrupted import continues with the remaining rows, each created once', async () => {
      const { page } = tab;
      await links();
      await page.getByRole('button', { name: 'Import' }).click();
      const addresses = Array.from({ length: 250 }, (_, at) => `https://example.com/go-on/${at},go-on`);
      await page.getByLabel('Addresses or CSV').fill(['url,tags', ...addresses].join('\n'));
      await page.getByRole('button', { name: 'Check' }).click();
      await page.getByText('250 links ready').waitFor();
      await page.keyboard.press('Control+k');
      let calls = 0;
      await page.route('**/api/v1/links/bulk', async route => {
        calls += 1;
        // The answer to the second call is lost; the fourth is limited for longer than the page waits.
        if (calls === 2) await route.fetch().then(() => route.abort());
        else if (calls === 4) {
          const problem = { code: 'rate_limited', detail: 'Too many new links. Try again in 20 minutes.' };
          await route.fulfill({ status: 429, headers: { 'Retry-After': '1200' }, json: problem });
        } else await route.continue();
      });
      await page.getByRole('button', { name: 'Create 250 links' }).click();
      await page.getByText('100 links created').waitFor();
      await page.getByText('The server cannot be reached').first().waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Keep editing' }).click();
      await page.getByRole('button', { name: 'Create the other 150 links' }).click();
      await page.getByText('200 links created').waitFor();
      await page.getByText('Try again in 20 minutes').waitFor();
      await page.unrouteAll();
      await page.getByRole('button', { name: 'Create the other 50 links' }).click();
      await page.getByText('250 links created').waitFor();
      await page.getByRole('button', { name: 'Done' }).click();
      expect((await call('GET', '/api/v1/links?tag=go-on&total=true')).body.total).toBe(250);
      // The browser logs the failures that the test simulated.
      tab.consoleErrors.length = 0;
    });

    test('hundreds of links are changed together, and each keeps its other tags', async () => {
      const { page } = tab;
      await page.goto('/dashboard/links?tag=many');
      await page.getByText(/^600 of/).waitFor();
      await page.getByRole('checkbox').first().check();
      await page.getByRole('button', { name: 'Select all 600' }).click();
      await page.getByLabel('Selected links').getByRole('button', { name: 'Edit' }).click();
      // Escape also asks before a choice that was made with a button is lost.
      await page.getByRole('group', { name: 'Remove tags' }).getByRole('button', { name: 'many' }).click();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Keep editing' }).click();
      await page.getByRole('group', { name: 'Remove tags' }).getByRole('button', { name: 'many' }).click();
      await page.getByLabel('Add tags').fill('summer,');
      await page.getByRole('button', { name: 'Change 600 links' }).click();
      await page.getByText('600 links changed').waitFor();
      for (const tag of ['many', 'summer'])
        expect((await call('GET', `/api/v1/links?tag=${tag}&total=true`)).body.total).toBe(600);
    });

    test('a QR code gets colours and a logo, and is downloaded and copied', async () => {
      const { page } = tab;
      await links();
      await choose('QR code');
      await page.getByLabel('Colour', { exact: true }).fill('#c0c0ff');
      await page.getByText('Cameras may not read this').waitFor();
      await page.getByLabel('Colour', { exact: true }).fill('#102a6b');
      await page.getByText('Cameras may not read this').waitFor({ state: 'detached' });
      await page.getByLabel('Size').selectOption('512');
      const svg = (): Promise<string> => saved(page.getByRole('button', { name: 'Download SVG' }));
      const plain = await svg();
      expect(plain).toContain('width="512"');
      expect(plain).toContain('fill="#102a6b"');
      expect(plain).toContain(` d="${outlineOf(`${terseUrl()}/one?qr`)}"`);
      const pixel = Buffer.from(
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
        'base64',
      );
      await page
        .locator('input[type=file]')
        .setInputFiles({ name: 'l.png', mimeType: 'image/png', buffer: pixel });
      await page.getByRole('button', { name: 'Remove the logo' }).waitFor();
      expect(await page.getByLabel('Error correction').inputValue()).toBe('H');
      expect(await svg()).toContain('<image href="data:image/png;base64,');
      expect((await saved(page.getByRole('button', { name: 'Download PNG' }))).slice(1, 4)).toBe('PNG');
      await page.getByRole('button', { name: 'Copy image' }).click();
      await page.getByText('Image copied').waitFor();
      const copied = 'navigator.clipboard.read().then(items => items[0].types.join())';
      expect(await page.evaluate(copied)).toBe('image/png');
    });

    test('a stranger sees shared statistics without signing in, until sharing ends', async () => {
      const { page } = tab;
      const stranger = await openTab(browser(), url, size);
      const sees = async (address: string, text: string): Promise<void> => {
        await stranger.page.goto('about:blank');
        await stranger.page.goto(address);
        await stranger.page.getByText(text).first().waitFor();
      };
      const [shown, hidden] = ['Clicks over time', 'These statistics are not available'];
      await sees('/dashboard/shared/one', hidden);
      await links();
      await choose('Share statistics');
      await page.getByRole('button', { name: 'Create address' }).click();
      const token = await page.getByLabel('Temporary address').inputValue();
      await page.getByRole('button', { name: 'Copy address' }).click();
      expect(await clipboard()).toBe(token);
      const chart = stranger.page.getByRole('region', { name: shown });
      await stranger.page.goto(token);
      await chart.waitFor();
      // The range changes the address, which keeps its token.
      await stranger.page.getByRole('button', { name: /^Time range/ }).click();
      await stranger.page.getByRole('button', { name: 'Last 7 days', exact: true }).click();
      await stranger.page.waitForURL(/range=7d/);
      await stranger.page.reload();
      await chart.waitFor();
      await page.getByRole('button', { name: 'Revoke all' }).click();
      await page.getByText('All shared addresses have stopped working').waitFor();
      await sees(token, hidden);
      await page.getByRole('switch', { name: 'Public page' }).click();
      const address = page.getByLabel('Address of the public page');
      await address.waitFor();
      await stranger.page.goto(await address.inputValue());
      await chart.waitFor();
      await page.getByRole('switch', { name: 'Public page' }).click();
      await address.waitFor({ state: 'detached' });
      await sees('/dashboard/shared/one', hidden);
      // The browser itself logs the 404.
      expect(stranger.consoleErrors.filter(text => !text.includes('404'))).toEqual([]);
      expect(stranger.foreignRequests).toEqual([]);
      await stranger.context.close();
    });

    test('there were no console errors and no requests to other servers', () => {
      expect({ consoleErrors: tab.consoleErrors, foreignRequests: tab.foreignRequests }).toEqual({
        consoleErrors: [],
        foreignRequests: [],
      });
    });
  });
}
