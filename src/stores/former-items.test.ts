import { expect, test } from 'bun:test';
import { freshDynamoTable, makeTable } from '../../test/kit/dynamo-table.ts';
import { describeWithEngine } from '../../test/kit/engines/describe-with-engine.ts';
import { fakeAccount, fakeKey, fakeNote } from '../accounts/fake-actors.ts';
import { fakeSession } from '../accounts/session-store.conformance.ts';
import type { AuditRecord } from '../audit/audit-entry.ts';
import { auditRecord } from '../audit/audit-log.conformance.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import type { Review } from '../moderation/review.ts';
import { setUpStore } from '../tools/setup.ts';
import { openDynamoStores } from './dynamodb.ts';

const later = Date.now() + 1e10;
const start = Date.UTC(2026, 0, 1);
const dayMs = 24 * 60 * 60 * 1_000;
const review = (code: string): Review => ({
  code,
  openedAt: code === 'waiting' ? 7 : null,
  score: 1,
  heldFrom: 'disabled',
  reporters: 30,
  appeal: null,
  appeals: 2,
  decidedAt: 6,
});

function auditItems({ at, ...entry }: AuditRecord) {
  const auditDay = new Date(at).toISOString().slice(0, 10);
  const sk = `${at.toString(36).padStart(9, '0')}0000abcdefg`;
  return [
    { pk: 'audit-days', sk: auditDay },
    { pk: 'audit#link#abc', sk, auditDay, entry: JSON.stringify({ at, ...entry }) },
  ];
}

/** Its indexes of the audit log; those of links are the same. */
const formerTable = (url: string): Promise<void> =>
  makeTable(url, ['pk', 'sk'], {
    'audit-by-account': ['auditAccount', 'sk'],
    'audit-by-day': ['auditDay', 'sk'],
  });

describeWithEngine('dynamodb', 'a table of the version before records', () => {
  test('is found whole, however many processes start on it at once', async () => {
    const { url, dynamo, dispose } = await freshDynamoTable(formerTable);
    expect(await dynamo.ensureTable()).toEqual([]);
    const account = fakeAccount('acc_1', { role: 'admin', email: 'ada@example.com' });
    const member = fakeAccount('acc_2');
    const keys = Array.from({ length: 60 }, (_, n) => fakeKey(`key_${n}`, 'acc_1', { createdAt: 2_000 + n }));
    const session = fakeSession('ses_1', { keyId: 'key_0', expiresAt: later });
    const invitation = { accountId: 'acc_2', tokenHash: 'token', expiresAt: later };
    const entryAt = (n: number, at = start + n * dayMs) => auditRecord({ action: `action ${n}`, at });
    const entries = Array.from({ length: 70 }, (_, n) => entryAt(n));
    await dynamo.batchWrite(
      [
        ...[account, member].flatMap(each => [
          { pk: 'accounts', sk: `000${each.id}`, accountId: each.id },
          { pk: `account#${each.id}`, sk: 'account', version: 1, record: { ...each } },
        ]),
        ...keys.map(key => ({ pk: 'account#acc_1', sk: `key#${key.id}`, version: 1, record: { ...key } })),
        { pk: 'account#acc_1', sk: 'sessions', version: 1, sessions: JSON.stringify([session]) },
        { pk: 'account#acc_2', sk: 'invitation', record: invitation },
        ...entries.flatMap(auditItems),
        ...['evil.example', 'worse.example'].map((entry, n) => ({
          pk: 'block-entries',
          sk: `entry#blk_${n}`,
          addition: 2 - n,
          record: { id: `blk_${n}`, entry, reason: null, addedAt: 5, addedBy: null },
        })),
        { pk: 'block-entries', sk: 'head', version: 2, kept: 2 },
        ...['waiting', 'decided'].flatMap(code => [
          {
            pk: `review#${code}`,
            sk: 'review',
            version: 1,
            reportsKept: 30,
            record: { ...review(code), appeal: null },
          },
          ...Array.from({ length: 30 }, (_, n) => ({
            pk: `review#${code}`,
            sk: `report#r${n}`,
            times: n + 1,
            record: { code, category: 'spam', text: null, at: n },
          })),
        ]),
        { pk: 'review-queue', sk: '0001#waiting', record: { place: 1, code: 'waiting', openedAt: 7 } },
      ].map(item => ({ put: item })),
    );
    // Long deadlines, so that a busy machine does not fail the test.
    const deadlines = { readDeadlineMs: 30_000, writeDeadlineMs: 60_000 };
    const options = { clock: systemClock, random: systemRandom, expiryGraceMs: dayMs, ...deadlines };
    const opened = await Promise.all([1, 2, 3].map(() => openDynamoStores(url, options)));
    const done = (await Array.fromAsync(setUpStore({ links: url, data: '' }))).flatMap(each => each.done);
    expect(done).toEqual(['imported 1 decided reviews of an earlier version']);
    for (const { reviews, blockEntries } of opened) {
      expect((await blockEntries.list()).map(({ entry }) => entry)).toEqual([
        'worse.example',
        'evil.example',
      ]);
      for (const code of ['waiting', 'decided']) {
        expect(await reviews.find(code)).toEqual(review(code));
        expect((await reviews.reports(code)).map(({ times }) => times)).toEqual(
          Array.from({ length: 30 }, (_, n) => n + 1),
        );
      }
      const queue = await reviews.queue({ limit: 9, cursor: undefined });
      expect(queue.reviews.map(({ code }) => code)).toEqual(['waiting']);
    }
    // A process of the earlier version that still runs adds to its last day, and to the next one.
    entries.push(entryAt(70, start + 69 * dayMs + 1));
    await dynamo.batchWrite(auditItems(entries.at(-1)!).map(item => ({ put: item })));
    opened.push(await openDynamoStores(url, options));
    entries.push(entryAt(71, start + 70 * dayMs));
    await dynamo.batchWrite(auditItems(entries.at(-1)!).map(item => ({ put: item })));
    opened.push(await openDynamoStores(url, options));
    for (const { accounts, audit } of opened) {
      const { accounts: listed } = await accounts.listAccounts({ limit: 10, cursor: undefined });
      expect(listed).toEqual([account, member]);
      expect(await accounts.findAccountByEmail('ada@example.com')).toEqual(account);
      expect(await accounts.listKeys('acc_1')).toEqual(keys);
      expect(await accounts.findByKeyHash('hash of key_59')).toEqual({ account, key: keys[59]! });
      expect((await accounts.findSession(session.tokenHash))?.session).toEqual(session);
      expect((await accounts.findInvitation('token'))?.account).toEqual(member);
      expect(await accounts.changeAccount('acc_1', { role: 'member' }, fakeNote())).toEqual({
        kind: 'last_admin',
      });
      const everything = {
        subjectKinds: undefined,
        subjectId: undefined,
        accountId: undefined,
        action: undefined,
      };
      const times = { fromMs: undefined, toMs: undefined };
      const { entries: found } = await audit.query({
        ...everything,
        ...times,
        limit: 100,
        cursor: undefined,
      });
      expect(found.map(({ action }) => action)).toEqual(entries.map(({ action }) => action).reverse());
    }
    for (const { links } of opened) await links.close();
    await dispose();
  });
});
