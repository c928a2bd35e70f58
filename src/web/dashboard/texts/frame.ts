/**
 * The types and functions for texts of every language, and the texts around the dashboard’s pages: signing in,
 * navigation, errors.
 */

/** A translation has every text of the original, and functions take the same values. A missing text is a type error. */
export type Translation<Original> = Original extends string
  ? string
  : Original extends (...values: infer Values) => infer Result
    ? (...values: Values) => Result
    : { readonly [Name in keyof Original]: Translation<Original[Name]> };

/** Words for values that the server may add to. */
export type Words = Readonly<Record<string, string>>;

interface Counting {
  /** The word for that many: “link”, “links”. */
  readonly plural: (count: number, one: string, other: string) => string;
  /** The number with its word: “1 link”, “1,000 links”. */
  readonly counted: (count: number, one: string, other: string) => string;
}

/** The plural rules of a language. Both of ours have two forms; one with more needs more parameters here. */
export function countingIn(locale: string): Counting {
  const rules = new Intl.PluralRules(locale);
  const numbers = new Intl.NumberFormat(locale);
  const plural: Counting['plural'] = (count, one, other) => (rules.select(count) === 'one' ? one : other);
  return {
    plural,
    counted: (count, one, other) => `${numbers.format(count)} ${plural(count, one, other)}`,
  };
}

export const { plural, counted } = countingIn('en');

export const frameTexts = {
  product: 'Terse',
  noScript: 'The dashboard needs JavaScript. The API and the command line work without it.',
  loading: 'Loading…',
  copied: (text: string) => `Copied ${text.replace(/^https?:\/\//, '')}`,
  actions: {
    create: 'New link',
    edit: 'Edit',
    qr: 'QR code',
    disable: 'Disable',
    enable: 'Enable',
    delete: 'Delete',
    undo: 'Undo',
    save: 'Save',
    cancel: 'Cancel',
    close: 'Close',
    dismiss: 'Dismiss',
    retry: 'Try again',
    copyLink: 'Copy link',
    copied: 'Copied',
  },
  errors: {
    title: 'That did not work',
    unanswered:
      'The server did not answer, so it is not known whether the change was made. Check before you repeat it.',
    unansweredOnce: 'The server did not answer. Send it again: nothing is created twice.',
    unknown: 'Something went wrong.',
    /** By the code of a problem: in English, the server’s own sentence says more. */
    byCode: {} as Words,
    /** With what only the server knows, in its own language. */
    explained: (problem: string, detail: string) => `${problem} ${detail}`,
    limited: (_limit: string, _seconds: number): string | undefined => undefined,
    status: (status: number) => `The server answered with status ${status}.`,
    copy: 'The browser did not allow copying.',
  },
  connection: {
    down: 'The server cannot be reached.',
    retryIn: (seconds: number) => (seconds === 0 ? 'Trying…' : `Trying again in ${seconds} s.`),
    retryNow: 'Try now',
  },
  signIn: {
    title: 'Sign in',
    way: 'How to sign in',
    withPassword: 'Password',
    withKey: 'API key',
    email: 'E-mail address',
    password: 'Password',
    key: 'API key',
    keyHelp: 'The server printed one when it first started. It is sent to this server only.',
    submit: 'Sign in',
    foot: 'Short links that stay yours: editable, countable, killable.',
    forgot: 'Forgot your password?',
    forgotText: 'Ask an administrator of this server for a link that sets a new one.',
    noAccount: 'New here?',
    signUp: 'Create an account',
    again: 'Your session has ended',
    againText: 'Sign in again to continue where you were. Nothing you typed is lost.',
    leave: 'Sign out',
  },
  signUp: {
    title: 'Create an account',
    name: 'Name',
    submit: 'Create account',
    haveAccount: 'Already have an account?',
    notOpen: 'This server does not offer sign-up',
    notOpenText: 'Ask one of its administrators for an invitation.',
    failed:
      'Sign in with the password of the account that has this e-mail address, or choose another address.',
  },
  nav: {
    label: 'Dashboard',
    home: 'Terse, overview',
    skip: 'Skip to the content',
    more: 'More',
    moderation: 'Moderation',
    operations: 'Operations',
    settings: 'Settings',
    account: 'Account',
    accountMenu: 'Your account',
    shortcuts: 'Keyboard shortcuts',
    theme: 'Appearance',
    language: 'Language',
    signOut: 'Sign out',
  },
  themes: { system: 'Follow the system', light: 'Switch to light', dark: 'Switch to dark' },
  themeNames: { system: 'System', light: 'Light', dark: 'Dark' },
  roles: { member: 'Member', moderator: 'Moderator', admin: 'Administrator' },
  palette: {
    title: 'Command palette',
    open: 'Search or jump to…',
    hint: 'Find a link, a page, an action; or paste an address',
    shorten: 'Shorten',
    goTo: (page: string) => `Go to ${page}`,
    docs: 'Open the API reference',
    none: 'Nothing matches.',
  },
  help: {
    title: 'Keyboard shortcuts',
    single: 'Single-key shortcuts',
    singleHelp: 'Switch them off if a key is ever pressed by accident, or by voice control.',
    anywhere: 'Anywhere',
    anywhereKeys: [
      ['c', 'New link'],
      ['⌘ V', 'Paste an address to shorten it'],
      ['⌘ K', 'Command palette'],
      ['/', 'Search'],
      ['z', 'Undo, while a message offers it'],
      ['?', 'Keyboard shortcuts'],
    ],
    goTo: 'Go to',
    list: 'In the list of links',
    listKeys: [
      ['j', 'Next link'],
      ['k', 'Previous link'],
      ['o', 'Open it'],
      ['x', 'Select it'],
    ],
    link: 'On a link’s page',
    linkKeys: [
      ['e', 'Edit'],
      ['y', 'Copy the short link'],
      ['q', 'QR code'],
      ['d', 'Disable or enable'],
    ],
    queue: 'In the review queue',
    queueKeys: [
      ['j', 'Next'],
      ['k', 'Previous'],
      ['a', 'Allow'],
      ['q', 'Quarantine'],
      ['b', 'Block'],
    ],
  },
  missing: {
    title: 'Not found',
    heading: 'Page not found',
    text: 'The address may be mistyped, or the page is not for your account.',
    home: 'Go to overview',
    link: 'Link not found',
    linkText: (code: string) =>
      `There is no link “${code}”, or it belongs to someone else. It may have been deleted.`,
    allLinks: 'Go to all links',
  },
} as const;
