/** A browser tab on the dashboard that remembers whatever a user's console would show in red. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { english, type Texts } from '../../../src/web/dashboard/texts.ts';
import { adminKey } from '../../kit/terse-process.ts';

export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors in the console, uncaught ones, and what the content security policy refused. */
  readonly complaints: string[];
  /** Requests to anyone but the server. */
  readonly foreign: string[];
}

export interface TabOptions {
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  /** What the browser is set to. */
  readonly locale?: string;
  /** Holds the browser's clock, for pictures that never change. */
  readonly nowMs?: number;
  /**
   * Whether things move. Without it the browser asks for less motion, as some people's do: every frame of an animation is
   * drawn by the CPU, which costs more than all else that a test does.
   */
  readonly hasMotion?: boolean;
}

/** Whatever a test waits for is there long before this, also on a busy machine. */
const waitMaxMs = 40_000;

export async function openTab(browser: Browser, url: string, options: TabOptions = {}): Promise<Tab> {
  const { theme = 'light', width = 1280, height = 860, locale = 'en-GB', nowMs, hasMotion = false } = options;
  const context = await browser.newContext({
    baseURL: url,
    colorScheme: theme,
    viewport: { width, height },
    timezoneId: 'Europe/Berlin',
    locale,
    reducedMotion: hasMotion ? 'no-preference' : 'reduce',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(waitMaxMs);
  if (nowMs !== undefined) await page.clock.setFixedTime(nowMs);
  const complaints: string[] = [];
  const foreign: string[] = [];
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  // A page that asks before it is left is left; otherwise the browser would stay.
  page.on('dialog', dialog => void dialog.accept());
  page.on('pageerror', error => complaints.push(String(error)));
  page.on('request', request => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) foreign.push(request.url());
  });
  return { page, context, complaints, foreign };
}

export async function signIn(
  { page }: Pick<Tab, 'page'>,
  path = '/dashboard',
  { signIn: words }: Pick<Texts, 'signIn'> = english,
): Promise<void> {
  await page.goto(path);
  await page.getByRole('button', { name: words.withKey }).click();
  await page.getByLabel(words.key, { exact: true }).fill(adminKey);
  await page.getByRole('button', { name: words.submit, exact: true }).click();
  await page.locator('#content').getByRole('heading', { level: 1 }).waitFor();
}
