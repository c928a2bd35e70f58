/** What every engine has to give for the installation of fake-contents.ts, to the letter. */
import { claimKey, type LinkCopy, linkCopy, markKey, secretName } from '../../links/transfer.ts';
import { reportKey } from '../../moderation/transfer.ts';
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
const review = { openedAt: at + 69, heldFrom: null, appeal: null, appeals: 0, decidedAt: null };
const report = { code: plain.code, category: 'spam', text: 'It is spam.', at: at + 69 };

/** By their keys; of the audit trail the actions, in order. */
export const expectedRecords: Readonly<Record<Exclude<keyof Transfers, 'audit'>, Record<string, unknown>>> = {
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
  accounts: { acc_1: made.admin, acc_2: made.member },
  keys: { key_1: made.firstKey, key_2: rotatedKey },
  sessions: { ses_1: made.session },
  invitations: { acc_2: made.invitation },
  reviews: {
    [held.code]: {
      ...review,
      code: held.code,
      openedAt: at + 7,
      score: 70,
      heldFrom: 'active',
      reporters: 0,
    },
    [plain.code]: { ...review, code: plain.code, score: 50, reporters: 2 },
  },
  reports: {
    [reportKey({ code: plain.code, reporter: 'r1' })]: { ...report, reporter: 'r1', times: 2 },
    [reportKey({ code: plain.code, reporter: 'r2' })]: {
      ...report,
      reporter: 'r2',
      text: null,
      at: at + 71,
      times: 1,
    },
  },
  blockEntries: Object.fromEntries(made.blockEntries.map(entry => [entry.id, entry])),
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
