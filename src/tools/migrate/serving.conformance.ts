/**
 * How a server finds the target of a migration: the same as the source. Part of the suite in
 * installation.conformance.ts, over the contents of fake-contents.ts.
 */

import { describe, expect, test } from 'bun:test';
import { fakeKey, fakeNote } from '../../accounts/fake-actors.ts';
import { keysPerAccountMax } from '../../accounts/key-store.ts';
import { auditRecord } from '../../audit/audit-log.conformance.ts';
import { compositeKey } from '../../base/transfer.ts';
import { insertItem, listQuery, sampleLink, samplesStart as start } from '../../links/store-samples.ts';
import type { Stores } from '../../stores/stores.ts';
import * as made from './fake-contents.ts';
import { expectedTrail } from './fake-records.ts';
import type { Installation } from './installation.ts';

export interface ServedTarget {
  /** A target with all that is in a filled source. */
  readonly copied: () => Promise<Installation>;
  /** Opens the same target as a server does. */
  readonly openStores: () => Promise<Stores>;
}

const dayMs = 24 * 60 * 60 * 1_000;
const author = { kind: 'account', accountId: 'acc_1', keyId: null } as const;

export function servingConformance(sides: () => ServedTarget): void {
  describe('to a server', () => {
    test('serves links as the source did', async () => {
      await sides().copied();
      const { links } = await sides().openStores();
      expect(await links.find(made.plain.code)).toEqual(made.plain);
      expect(await links.find(made.deleted.code)).toEqual(made.deleted);
      const listed = async (query = {}) =>
        (await links.list(listQuery({ limit: 100, ...query }))).links.map(({ code }) => code);
      expect(await listed()).toEqual(
        [
          ...[made.limited, made.perishable, made.unprotected, made.claimed, made.alias, made.plain],
          made.overtaken,
        ].map(({ code }) => code),
      );
      expect(await listed({ tag: 'blue' })).toEqual([made.plain.code]);
      expect(await listed({ ownerId: null })).toEqual([made.held.code]);
      expect(await links.findByUrl('acc_1', made.plain.longUrl, start)).toEqual(made.plain);
      expect(await links.recall(made.answer)).toMatchObject({ outcome: 'created', link: made.plain });
      expect(await links.useClick(made.limited.code, start)).toBe(true);
      expect(await links.useClick(made.limited.code, start)).toBe(false);
      expect(await links.installationSecret(new Uint8Array(32))).toEqual(Uint8Array.fromHex(made.secretHex));
      await links.insert([insertItem(sampleLink('newest0', { createdAt: start + 1_000 }))]);
      expect((await listed())[0]).toBe('newest0');
    });

    test('prevents codes from being issued twice as the source did', async () => {
      await sides().copied();
      const { links } = await sides().openStores();
      const insert = async (code: string, extra = {}) => {
        const link = sampleLink(code, { origin: 'custom' });
        return (await links.insert([insertItem(link, extra)]))[0]?.kind;
      };
      expect(await insert('another', { claim: made.claim })).toBe('taken');
      expect(await insert('another', { claim: { ...made.claim, id: made.leasedTo - 1 } })).toBe('taken');
      expect(await insert(made.deleted.code)).toBe('taken');
      expect(await links.claims(made.codeLength)).toEqual([made.claim.id]);
      const lease = await links.leaseRange(made.codeLength, 10_000, 1e9);
      expect(lease).toEqual({ from: made.leasedTo, to: made.leasedTo + 10_000, claimed: [made.claim.id] });
      // Long after, because some engines have days to delete it themselves.
      expect(await links.purgeExpired(start + 10 * dayMs, 10)).toBe(2);
      expect(await links.find(made.perishable.code)).toBeUndefined();
      expect(await links.find(made.unprotected.code)).toMatchObject({ status: 'deleted', longUrl: '' });
    });

    test('knows accounts, keys, sessions and invitations', async () => {
      await sides().copied();
      const { accounts } = await sides().openStores();
      expect((await accounts.findByKeyHash(made.firstKey.keyHash))?.account).toEqual(made.admin);
      expect((await accounts.findByKeyHash('next hash'))?.key.id).toBe('key_2');
      expect((await accounts.findByKeyHash(made.narrowKey.keyHash))?.key.id).toBe('key_2');
      expect((await accounts.listKeys('acc_2')).map(({ id }) => id)).toEqual(['key_2']);
      expect(await accounts.findAccountByEmail('member@example.com')).toEqual(made.member);
      expect(await accounts.insertAccount({ ...made.member, id: 'acc_3' }, fakeNote())).toBe(false);
      const listed = await accounts.listAccounts({ limit: 10, cursor: undefined });
      expect(listed.accounts.map(({ id }) => id)).toEqual(['acc_1', 'acc_2']);
      expect(await accounts.changeAccount('acc_1', { role: 'member' }, fakeNote())).toEqual({
        kind: 'last_admin',
      });
      const { keyed, account } = await accounts.setUp(
        { ...made.admin, id: 'acc_9' },
        { ...made.firstKey, id: 'key_9', keyHash: 'hash of key_9' },
        fakeNote(),
      );
      expect({ keyed, id: account.id }).toEqual({ keyed: false, id: 'acc_1' });
      expect((await accounts.findSession(made.session.tokenHash))?.session).toEqual(made.session);
      expect(await accounts.listSessions('acc_2')).toEqual([made.session]);
      const accepted = await accounts.acceptInvitation(made.invitation.tokenHash, 'new', fakeNote());
      expect(accepted?.id).toBe('acc_2');
      expect(await accounts.findSession(made.session.tokenHash)).toBeUndefined();
    });

    test('counts the migrated keys', async () => {
      const { transfers } = await sides().copied();
      const keys = Array.from({ length: keysPerAccountMax - 1 }, (_, n) => fakeKey(`key_m${n}`, 'acc_1'));
      const copyOf = (kind: string, key: string, value: unknown) => ({
        key: compositeKey(kind, key),
        value: { kind, value, expiresAt: null },
      });
      const listed = { accountId: 'acc_1', keys: ['key_1', ...keys.map(({ id }) => id)] };
      await transfers.records.write([
        copyOf('account-keys', 'acc_1', listed),
        ...keys.map(key => copyOf('key', key.id, { key, sessionEpoch: 0 })),
      ]);
      const { accounts } = await sides().openStores();
      const another = fakeKey('key_too_many', 'acc_1');
      expect(await accounts.insertKey(another, fakeNote({ at: start }))).toBe('full');
      await transfers.records.remove?.([compositeKey('key', 'key_m0')]);
      expect(await accounts.insertKey(another, fakeNote({ at: start }))).toBe('inserted');
    });

    test('continues with reviews, reports, the audit log and the blocklist', async () => {
      await sides().copied();
      const { reviews, audit, blockEntries } = await sides().openStores();
      const queue = await reviews.queue({ limit: 10, cursor: undefined });
      expect(queue.reviews.map(({ code }) => code)).toEqual([made.held.code, made.plain.code]);
      const report = { code: made.plain.code, category: 'spam', text: null, at: start + 100 } as const;
      expect(await reviews.report({ ...report, reporter: 'r2' }, true)).toBe('folded');
      expect((await reviews.reports(made.plain.code)).map(({ times }) => times)).toEqual([2, 2]);
      const before = await blockEntries.revision();
      expect((await blockEntries.list()).map(({ entry }) => entry)).toEqual(
        made.blockEntries.map(({ entry }) => entry),
      );
      expect(await blockEntries.remove(made.blockEntries[0]!.id, { at: start + 200, actor: author })).toBe(
        true,
      );
      expect(await blockEntries.revision()).not.toBe(before);
      await audit.append([auditRecord({ action: 'after.all', at: start + 300 })]);
      const query = {
        ...{ limit: 100, cursor: undefined, subjectKinds: undefined, subjectId: undefined },
        ...{ accountId: undefined, action: undefined, fromMs: undefined, toMs: undefined },
      };
      const actions = (await audit.query(query)).entries.map(({ action }) => action);
      expect(actions).toEqual(['after.all', 'blocklist.removed', ...expectedTrail.toReversed()]);
      const bySubject = await audit.query({ ...query, subjectKinds: ['account'], subjectId: 'acc_2' });
      expect(bySubject.entries.length).toBeGreaterThan(0);
      const byAccount = await audit.query({ ...query, accountId: 'acc_author', limit: 2 });
      expect(byAccount.entries).toHaveLength(2);
    });
  });
}
