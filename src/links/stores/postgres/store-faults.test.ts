/**
 * What callers see of a Postgres that hangs, dies or returns, and of a process that dies: every call ends, nothing that
 * was acknowledged is lost, and no process has to be restarted.
 */

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { type PostgresEngine, startPostgres } from '../../../../test/kit/engines/postgres.ts';
import { expectSafe } from '../../../../test/kit/expect-safe.ts';
import { heavyTestMaxMs } from '../../../../test/kit/scale.ts';
import { until } from '../../../../test/kit/until.ts';
import { systemClock, yieldToEventLoop } from '../../../base/clock.ts';
import { Problem } from '../../../base/errors.ts';
import { inParallel } from '../../../base/in-parallel.ts';
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import type { LinkStore } from '../../store.ts';
import { insertItem, listQuery, sampleLink, samplesStart as start } from '../../store-samples.ts';
import { openStore } from './fake-database.ts';

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'no failure',
    error => (error instanceof Problem ? error.code : `${error}`),
  );

describeWithEngine(
  'postgres',
  'a store on a Postgres in trouble',
  () => {
    let engine: PostgresEngine;
    let url: string;
    let postgres: Postgres;
    let store: LinkStore;

    beforeAll(async () => {
      engine = await startPostgres();
    });
    afterAll(() => engine.stop());
    beforeEach(async () => {
      url = await engine.freshDatabase();
      ({ postgres, store } = await openStore(url, { clock: systemClock }));
      await store.insert([insertItem(sampleLink('before', { maxClicks: 9 }))]);
    });
    afterEach(() => store.close());

    const record = { ownerId: 'acc_1', key: 'k', fingerprint: 'f', createdAt: start, validAfter: start };
    const everyCall = (): Promise<unknown>[] => [
      store.find('before'),
      store.insert([insertItem(sampleLink('leased'))]),
      store.insert([insertItem(sampleLink('keyed'), { idempotency: record })]),
      store.replace(sampleLink('before', { version: 2 })),
      store.useClick('before', start),
      store.recall(record),
      store.findByUrl('acc_1', 'https://example.com/before', start),
      store.list(listQuery()),
      store.listByDomain({ domain: 'example.com', limit: 5, cursor: undefined }),
      store.leaseRange(7, 10, 1_000),
      store.spans(7),
      store.claims(7),
      store.changes(0, 10),
      store.purgeExpired(start, 10),
      store.prune({ answersBefore: 0, changesBefore: 0 }, 10),
      store.installationSecret(new Uint8Array([1])),
    ];
    const codesOf = (calls: Promise<unknown>[]): Promise<string[]> => Promise.all(calls.map(codeOf));

    test(
      'that hangs fails every call in time, and works again when it continues',
      async () => {
        engine.pause();
        try {
          expect(new Set(await codesOf(everyCall()))).toEqual(new Set(['store_unavailable']));
          // By now every connection that hung has been discarded, and new ones hang as they are made.
          expect(new Set(await codesOf(everyCall()))).toEqual(new Set(['store_unavailable']));
        } finally {
          engine.resume();
        }
        expect(new Set(await codesOf(everyCall()))).toEqual(new Set(['no failure']));
        // A connection that hung may be discarded only now.
        await until('idle connections', () => postgres.usage.busy <= 0);
        expect(postgres.usage.waiting).toBe(0);
      },
      heavyTestMaxMs,
    );

    test(
      'that was killed fails every call, and works again when it is up',
      async () => {
        await engine.kill();
        expect(new Set(await codesOf(everyCall()))).toEqual(new Set(['store_unavailable']));
        await engine.restart();
        expect(new Set(await codesOf(everyCall()))).toEqual(new Set(['no failure']));
      },
      heavyTestMaxMs,
    );

    test(
      'that is killed under load keeps what was acknowledged, and fails the rest only as unavailable',
      async () => {
        const acknowledged = new Set<string>();
        const failures = new Set<string>();
        let number = 0;
        for (let round = 0; round < 3; round += 1) {
          let isOver = false;
          const creators = Array.from({ length: 32 }, async () => {
            while (!isOver) {
              number += 1;
              const code = `load${number}`;
              // Every third is an alias, which takes the longer path and is announced in the feed.
              const origin = number % 3 === 0 ? 'custom' : 'generated';
              const failure = await codeOf(store.insert([insertItem(sampleLink(code, { origin }))]));
              if (failure === 'no failure') acknowledged.add(code);
              else {
                failures.add(failure);
                await yieldToEventLoop();
              }
            }
          });
          const enough = acknowledged.size + 200;
          await until('enough writes', () => acknowledged.size >= enough);
          await engine.kill();
          isOver = true;
          await Promise.all(creators);
          await engine.restart();
          const codes = [...acknowledged];
          const lost: string[] = [];
          // No more at once than may wait.
          await inParallel(acknowledged.size, 500, async index => {
            const code = codes[index]!;
            if ((await store.find(code)) === undefined) lost.push(code);
          });
          expectSafe(lost).toEqual([]);
        }
        expect(failures).toEqual(new Set(['store_unavailable']));
        const aliases = [...acknowledged].filter(code => Number(code.slice(4)) % 3 === 0);
        const heard = new Set((await store.changes(0, 100_000)).changes.map(({ code }) => code));
        expectSafe(aliases.filter(code => !heard.has(code))).toEqual([]);
      },
      heavyTestMaxMs,
    );

    test(
      'that ends connections under load loses and doubles nothing',
      async () => {
        const outcomes = new Map<string, string>();
        let isOver = false;
        const creators = Array.from({ length: 16 }, async (_, creator) => {
          for (let number = 0; !isOver; number += 1) {
            const code = `cut${creator}-${number}`;
            outcomes.set(
              code,
              await codeOf(store.insert([insertItem(sampleLink(code, { origin: 'custom' }))])),
            );
          }
        });
        for (let cut = 0; cut < 20; cut += 1) {
          await Bun.sleep(20);
          await postgres
            .read(
              `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND application_name = 'terse' AND pid <> pg_backend_pid()`,
            )
            .catch(() => undefined);
        }
        isOver = true;
        await Promise.all(creators);
        const kinds = new Set(outcomes.values());
        expect([...kinds].filter(kind => kind !== 'no failure')).toEqual(['store_unavailable']);
        const { changes } = await store.changes(0, 100_000);
        const heard = changes.map(({ code }) => code);
        expectSafe(new Set(heard).size).toBe(heard.length);
        for (const [code, outcome] of outcomes) {
          const isThere = (await store.find(code)) !== undefined;
          if (outcome === 'no failure') expectSafe([code, isThere]).toEqual([code, true]);
          expectSafe([code, heard.includes(code)]).toEqual([code, isThere]);
        }
      },
      heavyTestMaxMs,
    );

    test(
      'a process that is killed right after an acknowledgement has lost nothing',
      async () => {
        const script = join(import.meta.dir, 'fake-inserting-process.ts');
        for (let round = 0; round < 3; round += 1) {
          const target = await engine.freshDatabase();
          const child = Bun.spawn([process.execPath, script, target], { stdout: 'pipe', stderr: 'inherit' });
          const decoder = new TextDecoder();
          let named = '';
          for await (const chunk of child.stdout) {
            named += decoder.decode(chunk, { stream: true });
            if (named.split('\n').length > 20 * (round + 1)) child.kill('SIGKILL');
          }
          await child.exited;
          const codes = named.split('\n').slice(0, -1);
          const other = await openStore(target, { clock: systemClock });
          const found = await Promise.all(codes.map(code => other.store.find(code)));
          expectSafe(found.map(link => link?.code)).toEqual(codes);
          // Whatever it held is free again.
          expect((await other.store.insert([insertItem(sampleLink('next'))]))[0]).toEqual({
            kind: 'inserted',
          });
          await other.store.close();
        }
      },
      heavyTestMaxMs,
    );

    test('an item that cannot be stored fails its own call and none that shares its transaction', async () => {
      const calls = [
        store.insert([insertItem(sampleLink('first'))]),
        store.insert([insertItem(sampleLink('second'))]),
        ...Array.from({ length: 10 }, (_, number) => store.insert([insertItem(sampleLink(`good${number}`))])),
        store.insert([insertItem(sampleLink('bad', { title: 'a\0b' }))]),
        store.insert([insertItem(sampleLink('last'))]),
      ];
      const codes = await codesOf(calls);
      expect(codes.filter(code => code !== 'no failure')).toEqual(['invalid_request']);
      expect(await store.find('bad')).toBeUndefined();
      expect(await store.find('last')).toBeDefined();
    });
  },
  { own: true },
);
