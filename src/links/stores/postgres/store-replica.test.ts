import { afterAll, beforeAll, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { type PostgresEngine, startPostgres } from '../../../../test/kit/engines/postgres.ts';
import { until } from '../../../../test/kit/until.ts';
import type { Link } from '../../link.ts';
import type { LinkStore } from '../../store.ts';
import { insertItem, sampleLink } from '../../store-samples.ts';
import { freshDatabase, openStore } from './fake-database.ts';

describeWithEngine('postgres', 'a store without a replica', () => {
  test('has no replica to ask', async () => {
    const { store } = await openStore(await freshDatabase());
    expect(store.findNear).toBeUndefined();
    await store.close();
  });
});

describeWithEngine(
  'postgres',
  'a store with a replica',
  () => {
    let engine: PostgresEngine;
    let store: LinkStore;
    beforeAll(async () => {
      engine = await startPostgres({ replica: true });
      ({ store } = await openStore(await engine.freshDatabase(), {
        options: `replica=${engine.replica!.address}`,
      }));
    });
    afterAll(async () => {
      await store.close();
      await engine.stop();
    });

    async function untilNear(code: string): Promise<Link> {
      let found: Link | undefined;
      await until(code, async () => {
        found = await store.findNear!(code);
        return found !== undefined;
      });
      return found!;
    }

    test('finds links there a moment after they were made, exactly as they are', async () => {
      const link = sampleLink('near', { tags: ['t'], title: 'T' });
      await store.insert([insertItem(link)]);
      expect(await untilNear('near')).toEqual(link);
    });

    test('gives no answer for what it does not find there, and the primary decides', async () => {
      const replica = engine.replica!;
      await store.insert([insertItem(sampleLink('old'))]);
      await untilNear('old');
      replica.pause();
      try {
        await store.insert([insertItem(sampleLink('new'))]);
        expect(await store.findNear!('new')).toBeUndefined();
        expect(await store.find('new')).toEqual(sampleLink('new'));
      } finally {
        replica.resume();
      }
      expect(await store.findNear!('never made')).toBeUndefined();
      expect(await store.findNear!('nobodys')).toBeUndefined();
      await untilNear('new');
    });
  },
  { own: true },
);
