/** Every page and dialog, looked at by axe: in light and dark, on a desk and on a phone. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { dimensionOf } from '../../src/clicks/dimensions.ts';
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

type Open = (page: Page, words: Texts) => Promise<unknown>;

const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).first().click();

/** From the menu of a row. */
const choose =
  (more: (words: Texts) => string, item: (words: Texts) => string): Open =>
  async (page, words) => {
    await press(page, more(words));
    await page.getByRole('menuitem', { name: item(words), exact: true }).click();
  };
const ofLink = (item: (words: Texts) => string): Open => choose(words => words.links.more('autumn'), item);
const ofKey = (item: (words: Texts) => string): Open => choose(words => words.keys.more('Reporting'), item);
const ofAccount = (name: string, item: (words: Texts) => string): Open =>
  choose(words => words.keys.more(name), item);

const fillNewLink: Open = async (page, words) => {
  await page.keyboard.press('c');
  await page.getByRole('textbox', { name: words.form.longUrl }).fill('https://example.com/');
};
const createKey: Open = async (page, words) => {
  await press(page, words.keys.create);
  await page.getByLabel(words.keys.name, { exact: true }).fill('axe');
  await press(page, words.keys.make);
  await page.getByRole('heading', { name: words.keys.shownTitle }).waitFor();
};
const statistics = '/dashboard/links/autumn?country=DE';

/** Every dialog, menu and picker: the page that it is over, and how a person opens it. */
const dialogs: Readonly<Record<string, readonly [path: string, open: Open]>> = {
  'a new link': ['/dashboard/links', page => page.keyboard.press('c')],
  'a link that was created': [
    '/dashboard/links',
    async (page, words) => {
      await fillNewLink(page, words);
      await press(page, words.form.create);
      await page.getByRole('heading', { name: words.form.madeTitle }).waitFor();
    },
  ],
  'a question before something is lost': [
    '/dashboard/links',
    async (page, words) => {
      await fillNewLink(page, words);
      await page.keyboard.press('Escape');
      await page.getByRole('heading', { name: words.discard.title }).waitFor();
    },
  ],
  'an edit': ['/dashboard/links', ofLink(words => words.actions.edit)],
  'the palette': ['/dashboard/links', page => page.keyboard.press('Control+k')],
  'the shortcuts': ['/dashboard/links', page => page.keyboard.press('?')],
  'an import': [
    '/dashboard/links',
    async (page, words) => {
      await press(page, words.importing.open);
      await page.getByLabel(words.importing.paste).fill('https://example.com/a\nnone');
      await press(page, words.importing.check);
      await page.getByText(words.importing.problems.address).waitFor();
    },
  ],
  'an import that is over': [
    '/dashboard/links',
    async (page, words) => {
      await press(page, words.importing.open);
      await page.getByLabel(words.importing.paste).fill('url,alias\nhttps://example.com/a,autumn');
      await press(page, words.importing.check);
      await press(page, words.importing.submit(1, '1'));
      await page.getByRole('button', { name: words.importing.download }).waitFor();
    },
  ],
  'a QR code': ['/dashboard/links', ofLink(words => words.qr.title)],
  sharing: [
    '/dashboard/links',
    async (page, words) => {
      await ofLink(() => words.manage.share)(page, words);
      await press(page, words.sharing.create);
      await page.getByLabel(words.sharing.tokenAddress).waitFor();
    },
  ],
  'a change of many': [
    '/dashboard/links',
    async (page, words) => {
      await page.getByRole('checkbox').first().check();
      await page.getByLabel(words.bulk.label).getByRole('button', { name: words.bulkEdit.open }).click();
    },
  ],
  'a toast over a dialog': [
    '/dashboard/links',
    async (page, words) => {
      await ofLink(() => words.actions.disable)(page, words);
      await page.getByText(words.links.switched(1, 'disabled')).waitFor();
      await page.keyboard.press('?');
      await press(page, words.actions.undo);
    },
  ],
  'the menu of a link': ['/dashboard/links', (page, words) => press(page, words.links.more('autumn'))],
  'the export': ['/dashboard/links', (page, words) => press(page, words.exporting.label)],
  'a view to save': ['/dashboard/links?tag=shop', (page, words) => press(page, words.views.save)],
  'the actions of a link': [statistics, (page, words) => press(page, words.manage.moreActions)],
  'the range': [statistics, (page, { stats }) => page.getByRole('button', { name: stats.range }).click()],
  'the time zones': [statistics, (page, { stats }) => page.getByRole('button', { name: stats.zone }).click()],
  'the whole list': [
    statistics,
    async (page, { stats }) => {
      await press(page, stats.showAllOf(stats.listHeadings.topCountries ?? dimensionOf('country').label));
      await page.locator('dialog[open] .bar-list').waitFor();
    },
  ],
  'an appeal': ['/dashboard/links/held', (page, words) => press(page, words.appeal.open)],
  'a new key': ['/dashboard/keys', (page, words) => press(page, words.keys.create)],
  'a key, shown once': ['/dashboard/keys', createKey],
  'a question before a key is lost': [
    '/dashboard/keys',
    async (page, words) => {
      await createKey(page, words);
      await page.keyboard.press('Escape');
      await page.getByRole('heading', { name: words.discard.secretTitle }).waitFor();
    },
  ],
  'a key to rotate': ['/dashboard/keys', ofKey(words => words.keys.rotate)],
  'a key to revoke': ['/dashboard/keys', ofKey(words => words.keys.revoke)],
  'a new account': ['/dashboard/accounts', (page, words) => press(page, words.accounts.create)],
  'an invitation to send': ['/dashboard/accounts', ofAccount('Marketing', words => words.accounts.invite)],
  'a reset to send': ['/dashboard/accounts', ofAccount('Member', words => words.accounts.reset)],
  'an account to suspend': ['/dashboard/accounts', ofAccount('Marketing', words => words.accounts.suspend)],
  'a role to give': [
    '/dashboard/accounts',
    ofAccount('Marketing', words => words.accounts.makeRole(words.roles.moderator)),
  ],
  'an entry to remove': [
    '/dashboard/moderation/blocklists',
    (page, words) => press(page, `${words.blocklists.remove}: evil.example`),
  ],
};

/** A link that its owner may appeal for, and an account with a password. */
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

/** Of pages that are opened with a token: each lets someone choose a password. */
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
    for (const [name, token] of Object.entries(await tokensOf(seeded, memberId))) {
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
    const known = /status of 4(?:01|03|04|09|10)/;
    expect(tab.complaints.filter(text => !known.test(text))).toEqual([]);
    tab.complaints.length = 0;
    for (const path of pages) {
      await tab.page.goto(path);
      await tab.page.locator('#content').getByRole('heading', { level: 1 }).waitFor();
      await look(path);
    }
    for (const [name, [path, open]] of Object.entries(dialogs)) {
      await tab.page.goto(path);
      await tab.page.locator('#content:not(:has(.skeleton)) h1').waitFor();
      await open(tab.page, words);
      await tab.page.locator('dialog[open], [role=menu], .popover-panel').first().waitFor();
      await look(name);
    }
    await tab.page.goto('/dashboard');
    if ('width' in options) await press(tab.page, words.nav.more);
    else await tab.page.locator('.account-button').click();
    await tab.page.locator('dialog[open], [role=menu]').waitFor();
    await look('the account menu, or what a phone has for it');
    await seeded.call('PATCH', '/api/v1/links/autumn', { body: { publicStats: true } });
    await tab.page.goto('/dashboard/shared/autumn');
    await tab.page.getByRole('heading', { name: words.stats.sources }).waitFor();
    await look('shared statistics');
    await tab.page.goto('/dashboard');
    await tab.page.locator('#content:not(:has(.skeleton)) h1').waitFor();
    await tab.context.clearCookies();
    await tab.page.evaluate('document.querySelector(\'a[href="/dashboard/links"]\').click()');
    await tab.page.getByRole('heading', { name: words.signIn.again }).waitFor();
    await look('a session that has ended');
    tab.complaints.splice(0, tab.complaints.length, ...tab.complaints.filter(text => !known.test(text)));
    expect(found).toEqual({});
    expect({ complaints: tab.complaints, foreign: tab.foreign }).toEqual({ complaints: [], foreign: [] });
    await tab.context.close();
  });
});
