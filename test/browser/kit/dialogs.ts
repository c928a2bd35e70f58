/** The dialogs, menus and pickers of the dashboard, and how a person opens each. */
import type { Page } from 'playwright-core';
import { dimensionOf } from '../../../src/clicks/dimensions.ts';
import type { Texts } from '../../../src/web/dashboard/texts.ts';

type Open = (page: Page, words: Texts) => Promise<unknown>;

export const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).first().click();

/** Opens a dialog from the menu of a row. */
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
  await page.getByRole('textbox', { name: words.fields.longUrl }).fill('https://example.com/');
};
const createKey: Open = async (page, words) => {
  await press(page, words.keys.create);
  await page.getByLabel(words.keys.name, { exact: true }).fill('axe');
  await press(page, words.keys.make);
  await page.getByRole('heading', { name: words.keys.shownTitle }).waitFor();
};
const statistics = '/dashboard/links/autumn?country=DE';

/** Every dialog, menu and picker: the page that it is over, and how a person opens it. */
export const dialogs: Readonly<Record<string, readonly [path: string, open: Open]>> = {
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
      await press(page, words.importing.submit(1));
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

export const openedParts = 'dialog[open], [role=menu], .popover-panel';
