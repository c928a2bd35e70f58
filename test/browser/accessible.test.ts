/** Every page and dialog, checked by axe: on a desktop in English and on a phone in German, in light and dark. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { german } from '../../src/web/dashboard/texts/german.ts';
import { english } from '../../src/web/dashboard/texts.ts';
import { axeViolationsInBothSchemes } from './kit/axe.ts';
import { openTab, signIn, type Tab, type TabOptions } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';
import { dialogs, openedParts, press } from './kit/dialogs.ts';
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

/** The time for some thirty pages: a bound in case one hangs, also on a busy machine. */
const visitMaxMs = 10 * 60_000;
/** With reduced motion, no animation may be endless. */
const endlessAnimations = `document.getAnimations()
  .filter(each => each.effect.getComputedTiming().endTime === Infinity)
  .map(each => each.animationName + ' does not end')`;

/** Seeds a link that its owner may appeal for, and an account with a password; returns the id of the account. */
async function seedMore({ call }: SeededTerse): Promise<string> {
  await call('POST', '/api/v1/links', { body: { longUrl: 'https://held.example/', customAlias: 'held' } });
  const { link } = (await call('GET', '/api/v1/moderation/links/held')).body;
  const decision = { decision: 'block', reason: 'For a test', version: link.version };
  await call('POST', '/api/v1/moderation/links/held/decision', { body: decision });
  const { id } = (await call('POST', '/api/v1/accounts', { body: { name: 'Member' } })).body;
  const { token } = (await call('POST', `/api/v1/accounts/${id}/invitation`)).body;
  await call('POST', '/api/v1/invitations/accept', {
    key: undefined,
    body: { token, password: 'a few words are enough' },
  });
  return id;
}

/** The tokens of the pages on which someone chooses a password. */
async function tokensOf({ call }: SeededTerse, memberId: string): Promise<Record<string, string>> {
  const guest = (await call('POST', '/api/v1/accounts', { body: { name: 'Guest' } })).body;
  const tokenOf = async (id: string, path: string): Promise<string> =>
    (await call('POST', `/api/v1/accounts/${id}/${path}`)).body.token;
  return {
    'an invitation': await tokenOf(guest.id, 'invitation'),
    'a password reset': await tokenOf(memberId, 'password-reset'),
  };
}

await describeInBrowser('axe', browser => {
  let seeded: SeededTerse;
  let memberId: string;
  beforeAll(async () => {
    seeded = await startSeededTerse();
    memberId = await seedMore(seeded);
  });
  afterAll(() => seeded.stop());

  interface View {
    readonly tab: Tab;
    look(name: string, opened?: string): Promise<void>;
    /** Fails if anything was found, and closes the tab. */
    end(): Promise<void>;
  }
  const openView = async (options: TabOptions): Promise<View> => {
    const tab = await openTab(browser(), seeded.url, { ...options, nowMs: storyNowMs });
    const found: Record<string, string[]> = {};
    return {
      tab,
      async look(name, opened) {
        // The page under an open dialog is checked again on a desktop only, for the rules about whole documents.
        const isWhole = opened === undefined || options.width === undefined;
        const violations = await axeViolationsInBothSchemes(tab.page, {
          within: isWhole ? undefined : opened,
          coloursWithin: opened,
        });
        const endless = (await tab.page.evaluate(endlessAnimations)) as string[];
        if (violations.length + endless.length > 0) found[name] = [...violations, ...endless];
      },
      async end() {
        // The browser itself logs these statuses as errors.
        const consoleErrors = tab.consoleErrors.filter(text => !/status of 4(?:01|03|04|09|10)/.test(text));
        expect(found).toEqual({});
        expect({ consoleErrors, foreignRequests: tab.foreignRequests }).toEqual({
          consoleErrors: [],
          foreignRequests: [],
        });
        await tab.context.close();
      },
    };
  };
  const views = [
    ['desk in English', english, {}],
    ['phone in German', german, { width: 390, height: 844, locale: 'de-DE' }],
  ] as const;

  test.each(views)(
    'finds nothing on any page on a %s, light and dark',
    async (_view, words, options) => {
      const { tab, look, end } = await openView(options);
      const { page, context } = tab;
      await page.goto('/dashboard');
      await page.getByRole('heading', { name: words.signIn.title }).waitFor();
      await look('sign in');
      await page.route('**/api/v1/sign-in-options', route =>
        route.fulfill({ json: { passwords: true, signUp: true } }),
      );
      await page.goto('/dashboard/sign-up');
      await page.getByLabel(words.account.newPassword).waitFor();
      await look('sign up');
      await page.unrouteAll();
      for (const [name, token] of Object.entries(await tokensOf(seeded, memberId))) {
        await page.goto('about:blank');
        await page.goto(`/dashboard/invitation#${token}`);
        await page.getByLabel(words.account.newPassword).waitFor();
        await look(name);
      }
      await page.goto('about:blank');
      await page.goto('/dashboard/invitation#none');
      await page.getByRole('heading', { name: words.invitation.invalid }).waitFor();
      await look('an invitation that is no longer valid');
      await signIn(tab, '/dashboard', words);
      await page.getByRole('region', { name: words.checklist.title }).waitFor();
      await look('the first steps');
      await page.goto('/dashboard/links/no-such-link');
      await page.getByRole('heading', { name: words.missing.link }).waitFor();
      await look('a missing link');
      for (const path of pages) {
        await page.goto(path);
        await page.locator('#content:not(:has(.skeleton)) h1').waitFor();
        await look(path);
      }
      await page.goto('/dashboard/links');
      await page.getByRole('checkbox').nth(1).check();
      await page.getByLabel(words.bulk.label).waitFor();
      await look('links that are selected');
      await seeded.call('PATCH', '/api/v1/links/autumn', { body: { publicStats: true } });
      await page.goto('/dashboard/shared/autumn');
      await page.getByRole('heading', { name: words.stats.sources }).waitFor();
      await look('shared statistics');
      await page.goto('/dashboard');
      await page.locator('#content:not(:has(.skeleton)) h1').waitFor();
      await context.clearCookies();
      await page.evaluate('document.querySelector(\'a[href="/dashboard/links"]\').click()');
      await page.getByRole('heading', { name: words.signIn.again }).waitFor();
      await look('a session that has ended');
      await end();
    },
    visitMaxMs,
  );

  test.each(views)(
    'finds nothing in any dialog on a %s, light and dark',
    async (_view, words, options) => {
      const { tab, look, end } = await openView(options);
      const { page } = tab;
      await signIn(tab, '/dashboard', words);
      for (const [name, [path, open]] of Object.entries(dialogs)) {
        await page.goto(path);
        await page.locator('#content:not(:has(.skeleton)) h1').waitFor();
        await open(page, words);
        await page.locator(openedParts).first().waitFor();
        await look(name, `${openedParts}, .toast`);
      }
      await page.goto('/dashboard');
      if ('width' in options) await press(page, words.nav.more);
      else await page.locator('.account-button').click();
      await page.locator(openedParts).waitFor();
      await look('the account menu, or what a phone has for it', openedParts);
      await end();
    },
    visitMaxMs,
  );
});
