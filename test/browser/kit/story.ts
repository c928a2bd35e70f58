/** The links of a small company, for pictures and tests of the dashboard. */
export interface StoryLink {
  readonly alias: string;
  readonly longUrl: string;
  readonly title: string | null;
  readonly tags: readonly string[];
  /** People's clicks on a usual day. */
  readonly daily: number;
  readonly daysOld: number;
}

const row = (
  alias: string,
  longUrl: string,
  title: string | null,
  tags: readonly string[],
  daily: number,
  daysOld: number,
): StoryLink => ({ alias, longUrl, title, tags, daily, daysOld });

export const storyLinks: readonly StoryLink[] = [
  row(
    'autumn',
    'https://shop.nordlicht.example/collections/autumn?utm_source=newsletter&utm_medium=email&utm_campaign=autumn-2026',
    'Autumn collection',
    ['newsletter', 'shop'],
    410,
    45,
  ),
  row(
    'talk-lisbon',
    'https://conf.example/2026/lisbon/talks/short-links-that-last',
    'Slides: links that last',
    ['events'],
    130,
    38,
  ),
  row('jobs-2026', 'https://careers.nordlicht.example/openings', 'Open positions', ['hiring'], 64, 120),
  row('press-kit', 'https://nordlicht.example/press/kit-2026.zip', 'Press kit', ['press'], 22, 210),
  row('get-app', 'https://apps.example/nordlicht/download', 'Get the app', ['product'], 240, 320),
  row('survey', 'https://forms.example/f/8d1c2?ref=app', 'Customer feedback', ['product', 'survey'], 41, 90),
  row('lunch', 'https://nordlicht.example/kantine/menu', 'Canteen menu', ['internal'], 35, 300),
  row('podcast-12', 'https://podcast.example/episodes/12', 'Podcast episode 12', ['podcast'], 58, 20),
  row('podcast-11', 'https://podcast.example/episodes/11', 'Podcast episode 11', ['podcast'], 19, 50),
  row(
    'first-steps',
    'https://docs.nordlicht.example/getting-started',
    'Getting started guide',
    ['product', 'docs'],
    96,
    365,
  ),
  row('black-week', 'https://shop.nordlicht.example/black-week', 'Black week', ['shop', 'newsletter'], 12, 6),
  row('webinar', 'https://webinars.example/register/4410', 'Webinar registration', ['events'], 27, 14),
];

/** The moment at which the pictures are taken; a Thursday afternoon. */
export const storyNowMs = Date.UTC(2026, 9, 15, 14, 20);

/** Links created without an account, for moderators to review. */
export const suspects: readonly { longUrl: string; agoMinutes: number; reports: readonly string[] }[] = [
  {
    longUrl: 'https://paypa1-secure.example/login/verify?session=8f31',
    agoMinutes: 3,
    reports: ['It asks for the password of my account.', 'Got this by text message, looks like a fake page.'],
  },
  { longUrl: 'https://xn--80ak6aa92e.com/login', agoMinutes: 4, reports: [] },
  {
    longUrl: 'https://login-microsoft.example.top/password/reset',
    agoMinutes: 9,
    reports: ['Fake sign-in page.'],
  },
  { longUrl: 'https://prizes.example/you-have-won', agoMinutes: 2, reports: ['Spam in our group chat.'] },
];
