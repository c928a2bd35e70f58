import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedDynamo } from '../../../test/kit/engines/dynamodb.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { openDynamoStores } from '../../stores/dynamodb.ts';
import { installationConformance } from './installation.conformance.ts';
import { openInstallation } from './open-installation.ts';

const world = { clock: systemClock, random: systemRandom, hasCredentials: false };
/** Long deadlines, so that a busy machine does not fail these tests. */
const deadlines = { readDeadlineMs: 30_000, writeDeadlineMs: 60_000 };

describeWithEngine('dynamodb', 'migrations from and to DynamoDB', () => {
  installationConformance('dynamodb', async () => {
    const url = (await sharedDynamo()).freshTableUrl();
    const opened: { close(): Promise<void> }[] = [];
    const keep = <Opened extends { close(): Promise<void> }>(each: Opened): Opened => {
      opened.push(each);
      return each;
    };
    return {
      async openStores() {
        const stores = await openDynamoStores(url, { ...world, ...deadlines, expiryGraceMs: 0 });
        keep(stores.links);
        return stores;
      },
      openSource: async () => keep(await openInstallation(url, 'source')),
      openTarget: async () => keep(await openInstallation(url, 'target')),
      async dispose() {
        for (const each of opened) await each.close();
      },
    };
  });
});
