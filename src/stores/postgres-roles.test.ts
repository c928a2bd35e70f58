import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../test/kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../../test/kit/engines/postgres.ts';
import { patientClock } from '../../test/kit/patient-clock.ts';
import { acceptEntry } from '../abuse/operator-entries.ts';
import { fakeAccount, fakeKey, fakeNote } from '../accounts/fake-actors.ts';
import { fakeSession } from '../accounts/session-store.conformance.ts';
import { auditRecord } from '../audit/audit-log.conformance.ts';
import { everythingAbout } from '../audit/audit-log.ts';
import { systemRandom } from '../base/random.ts';
import { openPostgres } from '../engines/postgres/postgres.ts';
import { insertItem, listQuery, sampleLink, samplesStart } from '../links/store-samples.ts';
import { setUpStore } from '../tools/setup.ts';
import { openPostgresStores } from './postgres.ts';
import type { Stores } from './stores.ts';

const options = { clock: patientClock, random: systemRandom };

/** The statements that the documentation asks an operator to run, for a role of this name. */
async function documentedGrants(role: string): Promise<string[]> {
  const document = await Bun.file(`${import.meta.dir}/../../docs/operations/postgres.md`).text();
  const [, block = ''] = /## Roles.*?```sql\n(.*?)```/s.exec(document) ?? [];
  const statements = block
    .replaceAll(/\bterse\b/g, role)
    .split(';\n')
    .filter(text => text.trim() !== '');
  expect(statements.length).toBeGreaterThan(5);
  return statements;
}

/** A sample of every call that a server makes to its stores. */
async function useAll({ links, records, accounts, reviews, audit, blockEntries }: Stores): Promise<void> {
  await links.installationSecret(new Uint8Array(32));
  await links.leaseRange(7, 10, 1_000);
  const claim = { length: 7, id: 500 };
  const answer = { ownerId: 'acc_1', key: 'k', fingerprint: 'f', createdAt: 1, validAfter: 0 };
  const link = sampleLink('alias', { tags: ['a'], maxClicks: 5, expiresAt: samplesStart });
  const trace = { audit: auditRecord() };
  await links.insert([insertItem(link, { leased: false, claim, idempotency: answer, trace })]);
  const review = { kind: 'open', code: 'alias', at: 1, score: 5, heldFrom: 'active' } as const;
  await links.replace({ ...link, version: 2, tags: ['b'] }, { ...trace, review });
  expect(await links.useClick('alias', 1)).toBe(true);
  await links.findByUrl('acc_1', link.longUrl, 0);
  await links.list(listQuery());
  await links.listByDomain({ domain: 'example.com', limit: 10, cursor: undefined });
  expect((await links.changes(0, 10)).changes.length).toBeGreaterThan(0);
  await accounts.setUp(fakeAccount('acc_1', { role: 'admin' }), fakeKey('key_1', 'acc_1'), fakeNote());
  await accounts.insertSession(fakeSession('ses_1', { keyId: 'key_1' }), 'hash of key_1', fakeNote());
  await accounts.touchKey('key_1', 1);
  await accounts.invite({ accountId: 'acc_1', tokenHash: 'token', expiresAt: 9 }, fakeNote());
  await accounts.acceptInvitation('token', 'password', fakeNote());
  await accounts.revokeKey('acc_1', 'key_1', fakeNote());
  const report = { code: 'alias', reporter: 'r', category: 'spam', text: null, at: 1 } as const;
  expect(await reviews.report(report, true)).toBe('noted');
  await reviews.dismiss('alias', 2);
  const entry = { ...acceptEntry('evil.example'), reason: null, addedAt: 1, addedBy: null };
  await blockEntries.add(entry, { at: 1, actor: fakeNote().actor });
  expect(await blockEntries.remove(entry.id, { at: 1, actor: fakeNote().actor })).toBe(true);
  await audit.append([auditRecord(), auditRecord({ isRoutine: true, at: 1 })]);
  expect(await records.removeExpired(10)).toBeGreaterThan(0);
  const about = everythingAbout({ kind: 'link', id: 'abc' }, { limit: 10, cursor: undefined });
  const { entries } = await audit.query(about);
  expect(entries.length).toBeGreaterThan(0);
  expect(entries.filter(({ isRoutine }) => isRoutine)).toEqual([]);
  await links.purgeExpired(samplesStart + 1, 10);
  await links.prune({ answersBefore: 10, changesBefore: 10 }, 10);
}

describeWithEngine('postgres', 'a role with the documented grants', () => {
  test('can do all that a server does, and neither rewrite the audit log nor change tables', async () => {
    const ownerUrl = await (await sharedPostgres()).freshDatabase();
    const role = `server_${Buffer.from(systemRandom.bytes(6)).toString('hex')}`;
    await Array.fromAsync(setUpStore({ links: ownerUrl, data: '' }));
    const owner = openPostgres(ownerUrl, options);
    for (const statement of await documentedGrants(role)) await owner.query(statement);
    await owner.query('CREATE TABLE of_a_later_version (id BIGSERIAL)');

    const url = new URL(ownerUrl);
    url.username = role;
    url.password = 'a long random one';
    const stores = await openPostgresStores(url.href, options);
    await useAll(stores);
    await stores.links.close();

    const server = openPostgres(url.href, options);
    await server.query('INSERT INTO of_a_later_version DEFAULT VALUES');
    const [row] = await server.query<{ lineage: string }>('SELECT terse_lineage() AS lineage');
    expect(row?.lineage).not.toBe('');
    for (const statement of [
      'DELETE FROM records',
      "UPDATE records SET value = '{}'",
      'TRUNCATE records',
      'UPDATE migrations SET version = 0',
      'DROP TABLE links',
      'ALTER TABLE records DISABLE TRIGGER ALL',
    ]) {
      await expect(server.query(statement)).rejects.toThrow(/permission denied|must be owner|append-only/);
    }
    await server.close();
    await owner.query(`DROP OWNED BY ${role}`);
    await owner.query(`DROP ROLE ${role}`);
    await owner.close();
  });
});
