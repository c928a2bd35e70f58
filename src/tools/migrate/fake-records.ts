/** The records that every engine must return for the installation of fake-contents.ts, exactly. */
import { compositeKey } from '../../base/transfer.ts';
import { claimKey, type LinkCopy, linkCopy, markKey, secretName } from '../../links/transfer.ts';
import { formerTables } from '../../stores/former-tables.ts';
import * as made from './fake-contents.ts';
import type { Transfers } from './installation.ts';

const { overtaken, plain, alias, claimed, unprotected, perishable, limited, deleted, held } = made;

const linkRecords: LinkCopy[] = [
  linkCopy(overtaken, false),
  linkCopy(plain, true),
  linkCopy(alias, false),
  linkCopy(claimed, false),
  linkCopy(unprotected, false),
  linkCopy(perishable, true),
  linkCopy({ ...limited, usedClicks: 2 }, true),
  linkCopy(deleted, true),
  linkCopy(held, true),
];

const rotatedKey = {
  ...made.narrowKey,
  keyHash: 'next hash',
  previousHash: made.narrowKey.keyHash,
  previousUntil: made.narrowKey.createdAt - 1 + 1e8,
  lastUsedAt: made.narrowKey.createdAt - 1 + 66,
};

const at = plain.createdAt;

/** By key; for the audit log, the actions in order. */
export const expectedRecords: Readonly<Record<Exclude<keyof Transfers, 'records'>, Record<string, unknown>>> =
  {
    installation: { [secretName]: { name: secretName, value: made.secretHex } },
    marks: { [markKey(made.span)]: { ...made.span, mark: made.leasedTo } },
    claims: { [claimKey(made.claim)]: made.claim },
    links: Object.fromEntries(linkRecords.map(copy => [copy.code, copy])),
    answers: {
      '["acc_1","once#0"]': {
        ownerId: 'acc_1',
        key: 'once#0',
        fingerprint: 'print of the request',
        createdAt: at,
        outcome: 'created',
        link: plain,
      },
    },
  };

const review = { openedAt: at + 69, heldFrom: null, appeal: null, appeals: 0, decidedAt: null };
const report = { code: plain.code, category: 'spam', text: 'It is spam.', at: at + 69 };

/** The reviews as moderation shows them. */
export const expectedReviews = [
  { ...review, code: held.code, openedAt: at + 7, score: 70, heldFrom: 'active', reporters: 0 },
  { ...review, code: plain.code, score: 50, reporters: 2 },
];
export const expectedReports = [
  { ...report, times: 2 },
  { ...report, text: null, at: at + 71, times: 1 },
];

/** The records of accounts, by kind and key. */
export const expectedAccountRecords: Readonly<Record<string, unknown>> = {
  '["account","acc_1"]': { account: made.admin, sessionEpoch: 0 },
  '["account","acc_2"]': { account: made.member, sessionEpoch: 0 },
  '["email","member@example.com"]': { email: made.member.email, accountId: 'acc_2' },
  '["key","key_1"]': { key: made.firstKey, sessionEpoch: 0 },
  '["key","key_2"]': { key: rotatedKey, sessionEpoch: 1 },
  '["invitation","acc_2"]': made.invitation,
};

export const expectedTrail = [
  'link.deleted',
  'link.created',
  'installation.setUp',
  'installation.setUp',
  ...Array.from({ length: 5 }, () => 'something.done'),
  'note.added',
  ...Array.from({ length: 3 }, () => 'blocklist.added'),
];

/** How far the tables of an earlier version were imported. */
export const importRecords = (reached: string | null, tables: readonly string[] = formerTables) =>
  tables.map(table => ({
    key: compositeKey('import', table),
    value: { kind: 'import', value: { table, reached }, expiresAt: null },
  }));
