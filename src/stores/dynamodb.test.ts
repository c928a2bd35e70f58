import { afterAll, beforeAll, expect, test } from 'bun:test';
import { patientCalls } from '../../test/kit/dynamo-links.ts';
import { describeWithEngine } from '../../test/kit/engines/describe-with-engine.ts';
import { type DynamoEngine, sharedDynamo, startDynamo } from '../../test/kit/engines/dynamodb.ts';
import { fakeAccount, fakeNote } from '../accounts/fake-actors.ts';
import { everythingAbout } from '../audit/audit-log.ts';
import { systemClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { systemRandom } from '../base/random.ts';
import { isLoginRefused, openDynamoStores } from './dynamodb.ts';
import type { Stores } from './stores.ts';

const options = { clock: systemClock, random: systemRandom, expiryGraceMs: 1_000 };
const closeAll = async (opened: readonly Stores[]): Promise<void> => {
  await Promise.all(opened.map(({ links }) => links.close()));
};

test('a failure that waiting cannot fix is not retried', () => {
  const refusal = (name: string) =>
    new Problem('store_unavailable', { cause: Object.assign(new Error('no'), { name }) });
  for (const name of ['AccessDeniedException', 'UnrecognizedClientException', 'CredentialsProviderError']) {
    expect(isLoginRefused(refusal(name))).toBe(true);
  }
  for (const name of ['Error', 'InternalServerError', 'ThrottlingException', 'TimeoutError']) {
    expect(isLoginRefused(refusal(name))).toBe(false);
  }
});

describeWithEngine('dynamodb', 'the stores on DynamoDB', () => {
  test('are created once when several processes start at once without a table', async () => {
    const url = (await sharedDynamo()).freshTableUrl();
    const opened = await Promise.all(
      Array.from({ length: 4 }, () => openDynamoStores(url, { ...options, ...patientCalls })),
    );
    const secrets = await Promise.all(
      opened.map(({ links }, n) => links.installationSecret(new Uint8Array(32).fill(n))),
    );
    expect(new Set(secrets.map(secret => secret.join())).size).toBe(1);
    for (const { blockEntries } of opened) expect(await blockEntries.revision()).toBe(0);
    await closeAll(opened);
  });
});

describeWithEngine(
  'dynamodb',
  'a DynamoDB of which one cannot be sure',
  () => {
    let engine: DynamoEngine;
    beforeAll(async () => {
      engine = await startDynamo({ inMemory: true });
    });
    afterAll(() => engine.stop());

    test('is used again after an outage, and queued callers failed at once', async () => {
      const stores = await openDynamoStores(engine.freshTableUrl(), options);
      const { accounts, blockEntries, reviews, audit } = stores;
      await accounts.insertAccount(fakeAccount('acc_1'), fakeNote());
      engine.pause();
      const about = everythingAbout({ kind: 'account', id: 'acc_1' }, { limit: 10, cursor: undefined });
      const answers = await Promise.allSettled([
        accounts.findAccount('acc_1'),
        accounts.findByKeyHash('hash'),
        ...Array.from({ length: 20 }, () => accounts.changeAccount('acc_1', { name: 'x' }, fakeNote())),
        blockEntries.revision(),
        reviews.queueAge(),
        audit.query(about),
      ]);
      engine.resume();
      const problems = answers.map(answer => answer.status === 'rejected' && answer.reason.code);
      expect(problems).toEqual(Array(answers.length).fill('store_unavailable'));
      expect(await accounts.changeAccount('acc_1', { name: 'y' }, fakeNote())).toMatchObject({
        kind: 'changed',
      });
      expect((await audit.query(about)).entries).toHaveLength(2);
      await closeAll([stores]);
    });

    test('is waited for when it starts later than Terse', async () => {
      const url = engine.freshTableUrl();
      await engine.kill();
      const opening = openDynamoStores(url, options);
      await Bun.sleep(300);
      await engine.restart();
      const stores = await opening;
      expect(await stores.accounts.findAccount('nobody')).toBeUndefined();
      await closeAll([stores]);
    });
  },
  { own: true },
);
