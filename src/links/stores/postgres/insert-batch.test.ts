/**
 * A batch settles its items in rounds, with a handful of statements for all of them. Whatever options the items have
 * and however they conflict, the outcomes are those of inserting one after the other: the store in memory does that,
 * and is the reference here.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { heavyTestMaxMs, scaled } from '../../../../test/kit/scale.ts';
import type { ExistingRule, InsertItem, LinkStore } from '../../store.ts';
import { sampleLink, samplesStart } from '../../store-samples.ts';
import { createMemoryStore } from '../memory.ts';
import { freshDatabase, type OpenedStore, openStore } from './fake-database.ts';

const codeCount = 6;

/** Few values of everything, so that items often meet. */
const anyItem: fc.Arbitrary<InsertItem> = fc
  .record({
    code: fc.nat(codeCount - 1),
    kind: fc.constantFrom('leased', 'claimed', 'drawn', 'custom'),
    url: fc.nat(2),
    ownerId: fc.constantFrom('acc_1', 'acc_2', null),
    title: fc.constantFrom(null, 'T'),
    status: fc.constantFrom('active' as const, 'active' as const, 'quarantined' as const),
    createdAt: fc.nat(3).map(later => samplesStart + later),
    expiresAt: fc.constantFrom(null, null, samplesStart + 2),
    existing: fc.constantFrom<ExistingRule>('ignored', 'same-url', 'same-code'),
    key: fc.constantFrom(undefined, undefined, 'k1', 'k2'),
  })
  .map(({ code, kind, url, existing, key, createdAt, ...rest }) => {
    const link = sampleLink(`code${code}`, {
      ...rest,
      createdAt,
      longUrl: `https://example.com/${url}`,
      origin: kind === 'custom' ? 'custom' : 'generated',
    });
    const record = { ownerId: 'acc_1', key: key ?? '', fingerprint: `f${url}`, createdAt };
    return {
      link,
      leased: kind === 'leased',
      // Each code has its own id, and about half of them are below the mark that is set below.
      claim: kind === 'claimed' ? { length: 7, id: code * 10 } : undefined,
      existing,
      idempotency: key === undefined ? undefined : { ...record, validAfter: createdAt - 1 },
    };
  });

const anyCall = fc.array(anyItem, { minLength: 1, maxLength: 12 });

describeWithEngine('postgres', 'a batch of inserts', () => {
  let opened: OpenedStore;
  beforeAll(async () => {
    opened = await openStore(await freshDatabase());
  });
  afterAll(() => opened.store.close());

  const emptyDatabase = async (): Promise<void> => {
    await opened.postgres.query('TRUNCATE links, link_tags, ranges, claims, changes, idempotency');
    await opened.postgres.query('UPDATE feed SET last_seq = 0, pruned_seq = 0');
  };

  const storyOf = async (store: LinkStore, calls: readonly InsertItem[][]) => {
    const outcomes = [];
    for (const [index, call] of calls.entries()) {
      outcomes.push(await store.insert(call));
      if (index === 0) await store.leaseRange(7, 25, 1_000);
    }
    const codes = Array.from({ length: codeCount }, (_, code) => `code${code}`);
    const links = await Promise.all(codes.map(code => store.find(code)));
    const { changes } = await store.changes(0, 1_000);
    const heard = changes.map(({ code, claim }) => `${code} ${claim?.id}`).sort();
    return { outcomes, links, heard, claims: await store.claims(7) };
  };

  test(
    'has the outcomes of inserting its items one after the other',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyCall, { minLength: 1, maxLength: 3 }), async calls => {
          await emptyDatabase();
          expect(await storyOf(opened.store, calls)).toEqual(await storyOf(createMemoryStore(), calls));
        }),
        { numRuns: scaled(60, 1_500) },
      );
    },
    heavyTestMaxMs,
  );

  test('of ten thousand wishes for one URL makes one link and finds it for the others', async () => {
    await emptyDatabase();
    const longUrl = 'https://example.com/wanted';
    const outcomes = await opened.store.insert(
      Array.from({ length: 10_000 }, (_, number) => ({
        link: sampleLink(`wish${number}`, { longUrl }),
        leased: true,
        claim: undefined,
        existing: 'same-url' as const,
        idempotency: undefined,
      })),
    );
    expect(outcomes[0]?.kind).toBe('inserted');
    expect(new Set(outcomes.slice(1).map(({ kind }) => kind))).toEqual(new Set(['found']));
  });
});
