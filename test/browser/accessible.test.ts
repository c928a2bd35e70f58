/** Every page, looked at by axe: in light and dark, on a phone, and with dialogs open. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { axeObjections } from './kit/axe.ts';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';
import { type SeededTerse, startSeededTerse } from './kit/seeded-terse.ts';
import { storyNowMs } from './kit/story.ts';

const pages = [
  '/dashboard',
  '/dashboard/links',
  '/dashboard/links/autumn?compare=on',
  '/dashboard/keys',
  '/dashboard/account',
  '/dashboard/accounts',
  '/dashboard/moderation',
  '/dashboard/moderation/blocklists',
  '/dashboard/moderation/audit',
  '/dashboard/status',
  '/dashboard/no-such-page',
] as const;

/** Each opens a dialog over the links. */
const dialogs: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  'the new link': page => page.keyboard.press('c'),
  'the palette': page => page.keyboard.press('Control+k'),
  'the shortcuts': page => page.keyboard.press('?'),
  'a menu': page => page.getByRole('button', { name: 'More for autumn' }).click(),
};

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
  ] as const;

  test.each(views)('finds nothing on any page, %s on a %s', async (_theme, screen, options) => {
    const tab: Tab = await openTab(browser(), seeded.url, { ...options, nowMs: storyNowMs });
    const found: Record<string, string[]> = {};
    const look = async (name: string): Promise<void> => {
      const lines = await axeObjections(tab.page);
      if (lines.length > 0) found[name] = lines;
    };
    await tab.page.goto('/dashboard');
    await tab.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await look('sign in');
    await signIn(tab);
    for (const path of pages) {
      await tab.page.goto(path);
      await tab.page.locator('#content').getByRole('heading', { level: 1 }).waitFor();
      await look(path);
    }
    if (screen === 'desk') {
      for (const [name, open] of Object.entries(dialogs)) {
        await tab.page.goto('/dashboard/links');
        await tab.page.getByRole('button', { name: 'More for autumn' }).waitFor();
        await open(tab.page);
        await tab.page.locator('dialog[open], [role=menu]').waitFor();
        await look(name);
      }
    }
    expect(found).toEqual({});
    expect({ complaints: tab.complaints, foreign: tab.foreign }).toEqual({ complaints: [], foreign: [] });
    await tab.context.close();
  });
});
