/** Every page and dialog, looked at by axe: in light and dark, on a desk and on a phone. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { german } from '../../src/web/dashboard/texts/german.ts';
import { english, type Texts } from '../../src/web/dashboard/texts.ts';
import { axeObjections } from './kit/axe.ts';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';
import { type SeededTerse, startSeededTerse } from './kit/seeded-terse.ts';
import { storyNowMs } from './kit/story.ts';

const pages = [
  '/dashboard',
  '/dashboard/links',
  '/dashboard/links/autumn?compare=on',
  '/dashboard/links/autumn?country=DE,FR&via=,&compare=weekdays&zone=Asia/Tokyo',
  '/dashboard/keys',
  '/dashboard/account',
  '/dashboard/accounts',
  '/dashboard/moderation',
  '/dashboard/moderation/blocklists',
  '/dashboard/moderation/audit',
  '/dashboard/status',
  '/dashboard/no-such-page',
] as const;

const choose = async (page: Page, item: string): Promise<void> => {
  await page.getByRole('button', { name: 'More for autumn' }).click();
  await page.getByRole('menuitem', { name: item }).click();
};

/** Each opens a dialog over the links. */
const dialogs: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  'the new link': page => page.keyboard.press('c'),
  'the palette': page => page.keyboard.press('Control+k'),
  'the shortcuts': page => page.keyboard.press('?'),
  'an import': async page => {
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByLabel('Addresses or CSV').fill('https://example.com/a\nnone');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('Not a web address').waitFor();
  },
  'a QR code': page => choose(page, 'QR code'),
  sharing: async page => {
    await choose(page, 'Share statistics');
    await page.getByRole('button', { name: 'Create address' }).click();
    await page.getByLabel('Address that ends').waitFor();
  },
  'a change of many': async page => {
    await page.getByRole('checkbox').first().check();
    await page.getByLabel('Selected links').getByRole('button', { name: 'Edit' }).click();
  },
  'a question before something is lost': async page => {
    await page.keyboard.press('c');
    await page.getByRole('textbox', { name: 'Destination' }).fill('https://example.com/');
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'Discard what you typed?' }).waitFor();
  },
  'a toast over a dialog': async page => {
    await choose(page, 'Disable');
    await page.getByText('1 link disabled').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('button', { name: 'Undo' }).click();
  },
  'a menu': page => page.getByRole('button', { name: 'More for autumn' }).click(),
};

/** Each opens something over the statistics of a link. */
const overStatistics: Readonly<Record<string, (words: Texts['stats']) => string>> = {
  'the range': words => words.range,
  'the time zones': words => words.zone,
  'the whole list': words => words.showAllOf(words.listHeadings.topCountries!),
};

/** Of pages that are opened with a token: each lets someone choose a password. */
async function tokensOf({ call }: SeededTerse): Promise<Record<string, string>> {
  const create = async (): Promise<string> =>
    (await call('POST', '/api/v1/accounts', { body: { name: 'Guest' } })).body.id;
  const tokenOf = async (id: string, path: string): Promise<string> =>
    (await call('POST', `/api/v1/accounts/${id}/${path}`)).body.token;
  const member = await create();
  const token = await tokenOf(member, 'invitation');
  await call('POST', '/api/v1/invitations/accept', {
    key: undefined,
    body: { token, password: 'a few words are enough' },
  });
  return {
    'an invitation': await tokenOf(await create(), 'invitation'),
    'a password reset': await tokenOf(member, 'password-reset'),
  };
}

await describeInBrowser('axe', browser => {
  let seeded: SeededTerse;
  beforeAll(async () => {
    seeded = await startSeededTerse();
  });
  afterAll(() => seeded.stop());

  const views = [
    ['light', 'desk', { theme: 'light' }],
    ['dark', 'desk', { theme: 'dark' }],
    ['light', 'phone', { theme: 'light', width: 390, height: 844 }],
    ['dark, in German,', 'phone', { theme: 'dark', width: 390, height: 844, locale: 'de-DE' }],
  ] as const;

  test.each(views)('finds nothing on any page, %s on a %s', async (_theme, _screen, options) => {
    const tab: Tab = await openTab(browser(), seeded.url, { ...options, nowMs: storyNowMs });
    const words = 'locale' in options ? german : english;
    const found: Record<string, string[]> = {};
    const look = async (name: string): Promise<void> => {
      const lines = await axeObjections(tab.page);
      if (lines.length > 0) found[name] = lines;
    };
    await tab.page.goto('/dashboard');
    await tab.page.getByRole('heading', { name: words.signIn.title }).waitFor();
    await look('sign in');
    await tab.page.route('**/api/v1/sign-in-options', route =>
      route.fulfill({ json: { passwords: true, signUp: true } }),
    );
    await tab.page.goto('/dashboard/sign-up');
    await tab.page.getByLabel(words.account.newPassword).waitFor();
    await look('sign up');
    await tab.page.unrouteAll();
    for (const [name, token] of Object.entries(await tokensOf(seeded))) {
      await tab.page.goto('about:blank');
      await tab.page.goto(`/dashboard/invitation#${token}`);
      await tab.page.getByLabel(words.account.newPassword).waitFor();
      await look(name);
    }
    await tab.page.goto('about:blank');
    await tab.page.goto('/dashboard/invitation#none');
    await tab.page.getByRole('heading', { name: words.invitation.invalid }).waitFor();
    await look('an invitation that is no longer valid');
    await signIn(tab, '/dashboard', words);
    await tab.page.getByRole('region', { name: words.checklist.title }).waitFor();
    await look('the first steps');
    await tab.page.goto('/dashboard/links/no-such-link');
    await tab.page.getByRole('heading', { name: words.missing.link }).waitFor();
    await look('a missing link');
    // The browser itself notes what there is not.
    const known = /status of 4(?:03|04|10)/;
    expect(tab.complaints.filter(text => !known.test(text))).toEqual([]);
    tab.complaints.length = 0;
    for (const path of pages) {
      await tab.page.goto(path);
      await tab.page.locator('#content').getByRole('heading', { level: 1 }).waitFor();
      await look(path);
    }
    for (const [name, button] of Object.entries(overStatistics)) {
      await tab.page.goto('/dashboard/links/autumn?country=DE');
      await tab.page
        .getByRole('button', { name: button(words.stats) })
        .first()
        .click();
      await tab.page.locator('dialog[open] .bar-list, .popover-panel').waitFor();
      await look(name);
    }
    if (words === english) {
      for (const [name, open] of Object.entries(dialogs)) {
        await tab.page.goto('/dashboard/links');
        await tab.page.getByRole('button', { name: 'More for autumn' }).waitFor();
        await open(tab.page);
        await tab.page.locator('dialog[open], [role=menu]').first().waitFor();
        await look(name);
      }
    }
    await tab.page.goto('/dashboard/links?tag=shop');
    await tab.page.getByRole('button', { name: words.views.save }).waitFor();
    await look('a view to save');
    await seeded.call('PATCH', '/api/v1/links/autumn', { body: { publicStats: true } });
    await tab.page.goto('/dashboard/shared/autumn');
    await tab.page.getByRole('heading', { name: words.stats.sources }).waitFor();
    await look('shared statistics');
    expect(found).toEqual({});
    expect({ complaints: tab.complaints, foreign: tab.foreign }).toEqual({ complaints: [], foreign: [] });
    await tab.context.close();
  });
});
