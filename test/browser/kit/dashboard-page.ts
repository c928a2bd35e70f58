/** A browser tab on the dashboard that records the errors of its console. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { english, type Texts } from '../../../src/web/dashboard/texts.ts';
import { adminKey } from '../../kit/terse-process.ts';

export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors and warnings in the console, including uncaught errors and violations of the content security policy. */
  readonly consoleErrors: string[];
  /** Requests to other servers. */
  readonly foreignRequests: string[];
}

export interface TabOptions {
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  /** The language of the browser. */
  readonly locale?: string;
  /** Holds the browser's clock, for pictures that never change. */
  readonly nowMs?: number;
  /**
   * Whether there are animations. Without it the browser prefers reduced motion: the CPU renders every frame of an
   * animation, which costs more than everything else in a test.
   */
  readonly hasMotion?: boolean;
}

/** Longer than anything that a test waits for, also on a busy machine. */
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
  const consoleErrors: string[] = [];
  const foreignRequests: string[] = [];
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') consoleErrors.push(message.text());
  });
  // Accepts the question of a page that asks before it is left; otherwise the browser would stay.
  page.on('dialog', dialog => void dialog.accept());
  page.on('pageerror', error => consoleErrors.push(String(error)));
  page.on('request', request => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:'))
      foreignRequests.push(request.url());
  });
  return { page, context, consoleErrors, foreignRequests };
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
