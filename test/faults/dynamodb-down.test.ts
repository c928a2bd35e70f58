/**
 * A DynamoDB that hangs, dies and comes back under a running store: calls fail within their deadline as
 * `store_unavailable`, and the same store works again as soon as the engine does.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { insertItem, sampleLink } from '../../src/links/store-samples.ts';
import { type DynamoLinks, dynamoLinksAt } from '../kit/dynamo-links.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { type DynamoEngine, startDynamo } from '../kit/engines/dynamodb.ts';

const unavailable = { code: 'store_unavailable', status: 503 };

describeWithEngine(
  'dynamodb',
  'when DynamoDB is down',
  () => {
    let engine: DynamoEngine;
    let links: DynamoLinks;
    /** An engine that has just come back may be too slow for its first callers. */
    const whenBack = async <Value>(call: () => Promise<Value>): Promise<Value> => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await call();
        } catch (error) {
          if (attempt === 30) throw error;
          await Bun.sleep(100);
        }
      }
    };
    const isFound = async (code: string) => (await whenBack(() => links.store.find(code)))?.code === code;
    const make = (code: string) => whenBack(() => links.store.insert([insertItem(sampleLink(code))]));

    beforeAll(async () => {
      engine = await startDynamo();
      const url = engine.freshTableUrl();
      await dynamoLinksAt(url).dynamo.ensureTable();
      // With the deadlines that Terse has.
      links = dynamoLinksAt(url, {}, {});
      await make('before');
    });
    afterAll(async () => {
      await links.store.close();
      await engine.stop();
    });

    /** All calls that a process makes to a store; each must fail in the same way. */
    const calls = (run: string): (() => Promise<unknown>)[] => [
      () => links.store.find('before'),
      () => links.store.findNear!('before'),
      () => links.store.changes(0, 10),
      () => links.store.findByUrl('acc_1', 'https://example.com/before', 0),
      () => links.store.leaseRange(7, 100, 1_000_000),
      () => links.store.insert([insertItem(sampleLink(`leased-${run}`))]),
      () => links.store.insert([insertItem(sampleLink(`alias-${run}`, { origin: 'custom' }))]),
      () => links.store.replace(sampleLink('before', { version: 2 })),
      () => links.store.useClick('before', 0),
      () => links.store.purgeExpired(1, 10),
    ];
    const expectDown = async (run: string): Promise<void> => {
      const outcomes = await Promise.allSettled(calls(run).map(call => call()));
      for (const outcome of outcomes) {
        expect(outcome.status).toBe('rejected');
        expect((outcome as PromiseRejectedResult).reason).toMatchObject(unavailable);
      }
    };

    test('calls to an engine that hangs end, and it is used again when it resumes', async () => {
      engine.pause();
      await expectDown('paused');
      engine.resume();
      expect(await isFound('before')).toBe(true);
      await make('resumed');
      expect(await isFound('resumed')).toBe(true);
    });

    test('calls to an engine that died end, and it is used again when it was restarted', async () => {
      await engine.kill();
      await expectDown('killed');
      await engine.restart();
      expect(await isFound('before')).toBe(true);
      await make('restarted');
      expect(await isFound('restarted')).toBe(true);
      expect(await isFound('resumed')).toBe(true);
    });

    test('more calls than can wait are refused while it hangs, and nothing of it is left afterwards', async () => {
      engine.pause();
      // Each reads another link, because reads of one link share a request.
      const flood = Array.from({ length: 25_000 }, (_, n) =>
        links.store.find(`flood${n}`).then(
          () => 'found',
          (error: { code?: string }) => error.code,
        ),
      );
      const codes = await Promise.all(flood);
      expect([...new Set(codes)].sort()).toEqual(['overloaded', 'store_unavailable']);
      engine.resume();
      expect(await isFound('before')).toBe(true);
    });
  },
  { own: true },
);
