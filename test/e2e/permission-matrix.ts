/**
 * Who may do what, as data: for every route, the status that each kind of caller gets, by the subject of the request. The
 * test beside runs every cell against a server, and fails when a route of the server has no rows here; the tables in
 * docs/permissions.md are printed from the same rows (`npm run docs`).
 *
 * Callers are elsewhere: on the machine of the server, `/metrics` needs no key.
 *
 * A new route gets an entry in `rules`, under its name in the route table, with a valid body: the statuses must show the
 * permissions, not a malformed request.
 */
export const actors = {
  nobody: 'No key and no session',
  revoked: 'A key that was revoked',
  suspended: 'A key of a suspended account',
  narrow: 'A key of the owner with `links:read` only',
  owner: 'A key of the owner',
  session: 'A session of the owner',
  foreignSite: 'A session of the owner, sent by another site',
  stranger: 'A key of another member',
  moderator: 'A key of a moderator',
  adminNarrow: 'A key of an admin without `moderate` and `admin`',
  admin: 'A key of an admin',
} as const;
export type ActorName = keyof typeof actors;
export const actorNames = Object.keys(actors) as readonly ActorName[];

/** The subject of a request. Links belong to the owner unless it says otherwise. */
export const subjects = {
  none: 'nothing in particular',
  active: 'an active link',
  publicStats: 'an active link with public statistics',
  disabled: 'a disabled link',
  expired: 'an expired link',
  exhausted: 'a link that has used up its clicks',
  quarantined: 'a quarantined link',
  blocked: 'a blocked link',
  deleted: 'a deleted link',
  ownerless: 'a link made without a key',
  missing: 'not found',
  ownersKey: 'another key of the owner',
  ownersSession: 'another session of the owner',
  otherAccount: 'an account of someone else',
  blockEntry: 'an entry of the blocklist',
} as const;
export type Subject = keyof typeof subjects;

export interface Row {
  readonly subjects: readonly Subject[];
  readonly answers: Readonly<Record<ActorName, number>>;
}

export interface RouteRules {
  readonly rows: readonly Row[];
  readonly body?: unknown;
  /** With its question mark. */
  readonly query?: string;
  /** Parameters of the path that are not the subject, by name. */
  readonly params?: Readonly<Record<string, string>>;
}

const liveLinks = [
  'active',
  'publicStats',
  'disabled',
  'expired',
  'exhausted',
  'quarantined',
  'blocked',
] as const;

/** All callers get the same status, except those in `but`. */
const everyone = (status: number, but: Partial<Row['answers']> = {}): Row['answers'] => ({
  ...(Object.fromEntries(actorNames.map(name => [name, status])) as Row['answers']),
  ...but,
});

/** For callers with valid credentials: the others get the usual rejections. */
const identified = (status: number, but: Partial<Row['answers']> = {}): Row['answers'] =>
  everyone(status, { nobody: 401, revoked: 401, suspended: 403, ...but });

const ownersOnly = (status: number, but: Partial<Row['answers']> = {}): Row['answers'] =>
  identified(404, {
    narrow: status,
    owner: status,
    session: status,
    foreignSite: status,
    admin: status,
    ...but,
  });

/** A change of a link takes the scope for it, and comes from our own pages. */
const ownersChange = (status: number): Row['answers'] =>
  ownersOnly(status, { narrow: 403, foreignSite: 403 });

const adminsOnly = (status: number): Row['answers'] => identified(403, { admin: status });

/** Reading, in every state that a link can be in. */
const readsLink = (status: number, but: Partial<Row['answers']> = {}): RouteRules => ({
  rows: [
    { subjects: liveLinks, answers: ownersOnly(status, but) },
    { subjects: ['deleted'], answers: ownersOnly(410, but) },
    { subjects: ['ownerless'], answers: identified(404, { ...but, admin: status }) },
    { subjects: ['missing'], answers: identified(404, but) },
  ],
});

const changesLink = (status: number, body?: unknown): RouteRules => {
  const lacking = { narrow: 403, foreignSite: 403 };
  return {
    body,
    rows: [
      { subjects: liveLinks, answers: ownersChange(status) },
      { subjects: ['deleted'], answers: ownersChange(410) },
      { subjects: ['ownerless'], answers: identified(404, { ...lacking, admin: status }) },
      { subjects: ['missing'], answers: identified(404, lacking) },
    ],
  };
};

const withoutSubject = (answers: Row['answers'], body?: unknown): RouteRules => ({
  body,
  rows: [{ subjects: ['none'], answers }],
});

const onAccount = (status: number, body?: unknown): RouteRules => ({
  body,
  rows: [
    { subjects: ['otherAccount'], answers: adminsOnly(status) },
    { subjects: ['missing'], answers: adminsOnly(404) },
  ],
});

/** A narrow key is not shown the other keys of its account. */
const onKey = (status: number, body?: unknown): RouteRules => {
  const answers = identified(404, { foreignSite: 403 });
  return {
    body,
    rows: [
      { subjects: ['ownersKey'], answers: { ...answers, owner: status, session: status, admin: status } },
      { subjects: ['missing'], answers },
    ],
  };
};

const moderatorsOnly = (status: number): Row['answers'] =>
  identified(403, { moderator: status, admin: status });

const onCase = (status: number, body?: unknown): RouteRules => ({
  body,
  rows: [
    { subjects: [...liveLinks, 'ownerless'], answers: moderatorsOnly(status) },
    { subjects: ['deleted'], answers: moderatorsOnly(410) },
    { subjects: ['missing'], answers: moderatorsOnly(404) },
  ],
});

const longUrl = 'https://example.com/';
const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
const withoutStatsScope = { narrow: 403 };

/** Statistics are for the owner, and for everyone where the owner made them public. */
const readsStats: RouteRules = {
  rows: [
    {
      subjects: liveLinks.filter(subject => subject !== 'publicStats'),
      answers: ownersOnly(200, { ...withoutStatsScope, nobody: 404 }),
    },
    { subjects: ['publicStats'], answers: identified(200, { ...withoutStatsScope, nobody: 200 }) },
    { subjects: ['deleted'], answers: ownersOnly(410, { ...withoutStatsScope, nobody: 404 }) },
    {
      subjects: ['ownerless'],
      answers: identified(404, { ...withoutStatsScope, nobody: 404, admin: 200 }),
    },
    { subjects: ['missing'], answers: identified(404, { ...withoutStatsScope, nobody: 404 }) },
  ],
};

export const rules: Readonly<Record<string, RouteRules>> = {
  createLink: withoutSubject(everyone(201, { revoked: 401, suspended: 403, narrow: 403, foreignSite: 403 }), {
    longUrl,
  }),
  createLinks: withoutSubject(
    everyone(200, { revoked: 401, suspended: 403, narrow: 403, foreignSite: 403 }),
    { links: [{ longUrl }] },
  ),
  listLinks: withoutSubject(identified(200)),
  readLink: readsLink(200),
  readQrCode: readsLink(200),
  editLink: changesLink(200, { title: 'A title' }),
  replaceLink: changesLink(200, { longUrl }),
  deleteLink: changesLink(204),
  // Links of others are rejected one by one, within a 200.
  editLinks: withoutSubject(identified(200, { narrow: 403, foreignSite: 403 }), {
    codes: ['of-nobody'],
    change: { title: 'A title' },
  }),
  deleteLinks: withoutSubject(identified(200, { narrow: 403, foreignSite: 403 }), { codes: ['of-nobody'] }),

  readLinkStats: readsStats,
  shareLinkStats: changesLink(201, { expiresAt: inAnHour }),
  readLinkBreakdown: { ...readsStats, params: { dimension: 'country' } },
  readStats: withoutSubject(identified(200, withoutStatsScope)),
  readBreakdown: {
    ...withoutSubject(identified(200, withoutStatsScope)),
    params: { dimension: 'country' },
  },
  readLinkTotals: { ...withoutSubject(identified(200, withoutStatsScope)), query: '?codes=of-nobody' },
  checkAlias: { rows: [{ subjects: ['active', 'missing'], answers: identified(200, { narrow: 403 }) }] },
  exportClicks: readsLink(200, withoutStatsScope),
  readRecentLinkClicks: readsLink(200, withoutStatsScope),
  readRecentClicks: withoutSubject(identified(200, withoutStatsScope)),
  watchLink: readsLink(200, withoutStatsScope),
  deleteClicks: changesLink(204),
  reconcileClicks: withoutSubject(adminsOnly(200)),
  compareHours: withoutSubject(adminsOnly(200)),
  repairClicks: withoutSubject(adminsOnly(200)),

  followLink: {
    rows: [
      { subjects: ['active', 'publicStats', 'ownerless'], answers: everyone(302) },
      { subjects: ['quarantined'], answers: everyone(403) },
      { subjects: ['disabled', 'expired', 'exhausted', 'blocked', 'deleted'], answers: everyone(410) },
      { subjects: ['missing'], answers: everyone(404) },
    ],
  },
  previewLink: {
    rows: [
      { subjects: ['active', 'publicStats', 'ownerless', 'quarantined'], answers: everyone(200) },
      { subjects: ['disabled', 'expired', 'exhausted', 'blocked', 'deleted'], answers: everyone(410) },
      { subjects: ['missing'], answers: everyone(404) },
    ],
  },

  reportLink: withoutSubject(everyone(404, { revoked: 401, suspended: 403, foreignSite: 403 }), {
    shortCode: 'of-nobody',
    category: 'spam',
  }),
  readReportPage: withoutSubject(everyone(200)),
  appealLink: {
    body: { text: 'It is my own shop.' },
    rows: [
      { subjects: ['quarantined', 'blocked'], answers: ownersChange(202) },
      {
        subjects: ['active', 'publicStats', 'disabled', 'expired', 'exhausted'],
        answers: ownersChange(409),
      },
      { subjects: ['deleted'], answers: ownersChange(410) },
      { subjects: ['ownerless'], answers: identified(404, { narrow: 403, foreignSite: 403, admin: 409 }) },
      { subjects: ['missing'], answers: identified(404, { narrow: 403, foreignSite: 403 }) },
    ],
  },
  readHistory: {
    rows: [
      { subjects: [...liveLinks, 'deleted'], answers: ownersOnly(200) },
      { subjects: ['ownerless'], answers: identified(404, { admin: 200 }) },
      { subjects: ['missing'], answers: identified(404) },
    ],
  },
  readQueue: withoutSubject(moderatorsOnly(200)),
  readCase: onCase(200),
  noteLink: onCase(201, { text: 'A note.' }),
  decideLink: onCase(200, { decision: 'quarantine', reason: 'It looks bad.', version: 1 }),
  decideLinks: withoutSubject(moderatorsOnly(200), {
    accountId: 'of-nobody',
    decision: 'block',
    reason: 'It looks bad.',
  }),
  readAudit: withoutSubject(moderatorsOnly(200)),

  readBlocklist: withoutSubject(moderatorsOnly(200)),
  // The admin comes after the moderator, so the entry exists already.
  addBlockEntry: withoutSubject({ ...moderatorsOnly(201), admin: 200 }, { entry: 'listed.example' }),
  removeBlockEntry: {
    rows: [
      { subjects: ['blockEntry'], answers: moderatorsOnly(204) },
      { subjects: ['missing'], answers: moderatorsOnly(404) },
    ],
  },

  listKeys: withoutSubject(identified(200)),
  createKey: withoutSubject(identified(201, { narrow: 403, foreignSite: 403, adminNarrow: 403 }), {
    name: 'x',
  }),
  rotateKey: onKey(200, {}),
  revokeKey: onKey(204),

  readOwnAccount: withoutSubject(identified(200)),
  editOwnAccount: withoutSubject(identified(200, { narrow: 403, foreignSite: 403, adminNarrow: 403 }), {
    name: 'A name',
  }),
  listAccounts: withoutSubject(adminsOnly(200)),
  createAccount: withoutSubject(adminsOnly(201), { name: 'Somebody' }),
  readAccount: onAccount(200),
  editAccount: onAccount(200, { plan: 'pro' }),
  suspendAccount: onAccount(200, {}),
  unsuspendAccount: onAccount(200, {}),
  inviteAccount: onAccount(201),
  resetPassword: onAccount(201),

  openSession: withoutSubject(everyone(401, { foreignSite: 403 }), {
    email: 'nobody@example.com',
    password: 'of nobody at all',
  }),
  closeSession: withoutSubject(identified(404, { session: 204, foreignSite: 403 })),
  listSessions: withoutSubject(identified(200, { narrow: 403, adminNarrow: 403 })),
  endSession: {
    rows: [
      {
        subjects: ['ownersSession'],
        answers: identified(404, {
          narrow: 403,
          owner: 204,
          session: 204,
          foreignSite: 403,
          adminNarrow: 403,
        }),
      },
      {
        subjects: ['missing'],
        answers: identified(404, { narrow: 403, foreignSite: 403, adminNarrow: 403 }),
      },
    ],
  },
  signUp: withoutSubject(everyone(403), {
    name: 'Somebody',
    email: 'somebody@example.com',
    password: 'of somebody else',
  }),
  readSignInOptions: withoutSubject(everyone(200)),
  readInvitation: withoutSubject(everyone(410, { foreignSite: 403 }), { token: 'made up' }),
  acceptInvitation: withoutSubject(everyone(410, { foreignSite: 403 }), {
    token: 'made up',
    password: 'of somebody else',
  }),

  readLiveness: withoutSubject(everyone(200)),
  readReadiness: withoutSubject(everyone(200)),
  // Programs on the same machine and on the configured networks get it without a key.
  readMetrics: withoutSubject(identified(403, { nobody: 404, session: 404, foreignSite: 404, admin: 200 })),
  readStatus: withoutSubject(adminsOnly(200)),
};

/** One table per route, for docs/permissions.md. */
export function permissionTables(): string {
  const legend = actorNames.map(name => `- **${name}**: ${actors[name]}.`);
  const head = [
    `| Route | About | ${actorNames.join(' | ')} |`,
    `|---|---|${'---|'.repeat(actorNames.length)}`,
  ];
  const body = Object.entries(rules).flatMap(([route, { rows }]) =>
    rows.map(({ subjects: about, answers }) => {
      const cells = actorNames.map(name => answers[name]);
      return `| \`${route}\` | ${about.map(each => subjects[each]).join('; ')} | ${cells.join(' | ')} |`;
    }),
  );
  return ['Callers:', '', ...legend, '', ...head, ...body].join('\n');
}
