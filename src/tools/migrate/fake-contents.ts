/** An installation with something of everything in it, made through the stores as requests make it. */
import { acceptEntry } from '../../abuse/operator-entries.ts';
import { fakeAccount, fakeKey, fakeNote } from '../../accounts/fake-actors.ts';
import type { Session } from '../../accounts/session-store.ts';
import type { Invitation } from '../../accounts/store.ts';
import { auditRecord } from '../../audit/audit-log.conformance.ts';
import type { Link } from '../../links/link.ts';
import type { IdempotencyRecord } from '../../links/store.ts';
import { allFlags, insertItem, sampleLink, samplesStart as start } from '../../links/store-samples.ts';
import type { Stores } from '../../stores/stores.ts';

export const secretHex = 'ab'.repeat(32);
export const codeLength = 7;
export const leasedTo = 1_000;
export const span = { length: codeLength, first: 0 };

export const plain = sampleLink('plain01', {
  tags: ['red', 'blue'],
  title: 'Ä “title”\n😀',
  createdAt: start,
});
export const alias = sampleLink('my-alias', {
  origin: 'custom',
  createdAt: start + 1,
  updatedAt: start + 1,
  redirectType: 308,
  ...allFlags,
  risk: { score: 20, reasons: ['phishingWords'] },
});
export const claimed = sampleLink('aliased', {
  origin: 'custom',
  createdAt: start + 2,
  updatedAt: start + 2,
});
export const claim = { length: codeLength, id: 5_000 };
/** Claimed an id that was leased later, so the lease protects its code now. */
export const overtaken = sampleLink('early01', {
  origin: 'custom',
  createdAt: start - 1,
  updatedAt: start - 1,
});
/** Generated, but neither leased nor claimed: a purge must leave its code taken. */
export const unprotected = sampleLink('random000001', {
  createdAt: start + 3,
  updatedAt: start + 3,
  expiresAt: start + 10_000,
});
export const perishable = sampleLink('leased0', {
  createdAt: start + 4,
  updatedAt: start + 4,
  expiresAt: start + 10_000,
});
export const limited = sampleLink('limited', { createdAt: start + 5, updatedAt: start + 5, maxClicks: 3 });
export const deleted = sampleLink('deleted', {
  createdAt: start + 6,
  updatedAt: start + 60,
  longUrl: '',
  status: 'deleted',
  version: 2,
});
export const held = sampleLink('held001', {
  createdAt: start + 7,
  updatedAt: start + 7,
  ownerId: null,
  status: 'quarantined',
});

export const answer: IdempotencyRecord = {
  ownerId: 'acc_1',
  key: 'once#0',
  fingerprint: 'print of the request',
  createdAt: start,
  validAfter: start - 1_000,
};

export const admin = fakeAccount('acc_1', { role: 'admin', createdAt: start });
export const member = fakeAccount('acc_2', {
  email: 'member@example.com',
  passwordHash: 'hash of a password',
  createdAt: start + 1,
  suspendedAt: start + 2,
});
export const firstKey = fakeKey('key_1', 'acc_1', { createdAt: start, origin: 'setting' });
export const narrowKey = fakeKey('key_2', 'acc_2', {
  createdAt: start + 1,
  scopes: ['links:read'],
  expiresAt: start + 1e9,
});
export const session: Session = {
  id: 'ses_1',
  accountId: 'acc_2',
  tokenHash: 'hash of a token',
  keyId: 'key_2',
  userAgent: 'Browser/1.0',
  createdAt: start + 3,
  lastSeenAt: start + 3,
  expiresAt: start + 1e12,
};
export const invitation: Invitation = {
  accountId: 'acc_2',
  tokenHash: 'hash of an invitation',
  expiresAt: start + 1e12,
};
export const blockEntries = ['evil.example', 'https://bad.example/path', 'worse.example'].map(
  (line, index) => ({
    ...acceptEntry(line),
    reason: index === 0 ? 'phishing' : null,
    addedAt: start + index,
    addedBy: index === 0 ? 'acc_1' : null,
  }),
);

const insert = async (stores: Stores, link: Link, extra = {}): Promise<void> => {
  const [outcome] = await stores.links.insert([insertItem(link, extra)]);
  if (outcome?.kind !== 'inserted') throw new Error(`${link.code} is ${outcome?.kind}`);
};

export async function fill(stores: Stores): Promise<void> {
  const { links, accounts, reviews, audit } = stores;
  await links.installationSecret(Uint8Array.fromHex(secretHex));
  await insert(stores, overtaken, { claim: { length: codeLength, id: 10 } });
  await links.leaseRange(codeLength, leasedTo, 1e9);

  await insert(stores, plain, { idempotency: answer });
  await insert(stores, alias);
  await insert(stores, claimed, { claim });
  await insert(stores, unprotected, { leased: false });
  await insert(stores, perishable);
  await insert(stores, limited);
  await links.useClick(limited.code, start + 8);
  await links.useClick(limited.code, start + 9);
  await insert(stores, { ...deleted, longUrl: 'https://example.com/', status: 'active', version: 1 });
  await links.replace(deleted, { audit: auditRecord({ action: 'link.deleted', at: start + 60 }) });
  await insert(stores, held, {
    leased: true,
    trace: {
      audit: auditRecord({
        action: 'link.created',
        at: start + 61,
        before: null,
        after: { deep: [1, { x: 'ü' }] },
      }),
      review: { kind: 'open', code: held.code, at: start + 7, score: 70, heldFrom: 'active' },
    },
  });

  await accounts.setUp(admin, firstKey, fakeNote({ at: start + 62, action: 'installation.setUp' }));
  await accounts.insertAccount(member, fakeNote({ at: start + 63 }));
  await accounts.insertKey(narrowKey, fakeNote({ at: start + 64 }));
  const rotation = { accountId: 'acc_2', keyId: 'key_2', keyHash: 'next hash', previousUntil: start + 1e8 };
  await accounts.rotateKey({ ...rotation, exceptSessionId: null }, fakeNote({ at: start + 65 }));
  await accounts.touchKey('key_2', start + 66);
  await accounts.insertSession(session, 'next hash', fakeNote({ at: start + 67 }));
  await accounts.invite(invitation, fakeNote({ at: start + 68 }));

  const report = { code: plain.code, category: 'spam', text: 'It is spam.', at: start + 69 } as const;
  await reviews.report({ ...report, reporter: 'r1' }, true);
  await reviews.report({ ...report, reporter: 'r1', at: start + 70 }, true);
  await reviews.report({ ...report, reporter: 'r2', text: null, at: start + 71 }, true);
  await audit.append([auditRecord({ action: 'note.added', at: start + 72, reason: 'because' })]);
  for (const entry of blockEntries) {
    const actor = { kind: 'account', accountId: 'acc_1', keyId: null } as const;
    await stores.blockEntries.add(entry, { at: start + 80 + entry.addedAt - start, actor });
  }
}
