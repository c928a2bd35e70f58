import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../../../test/kit/engines/postgres.ts';
import { patientClock } from '../../../test/kit/patient-clock.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { openPostgresStores } from '../../stores/postgres.ts';
import { installationConformance } from './installation.conformance.ts';
import { openPostgresSource, openPostgresTarget } from './postgres.ts';

describeWithEngine('postgres', 'migrations from and to Postgres', () => {
  installationConformance('postgres', async () => {
    const url = `${await (await sharedPostgres()).freshDatabase()}?pool=2`;
    const opened: { close(): Promise<void> }[] = [];
    const keep = <Opened extends { close(): Promise<void> }>(each: Opened): Opened => {
      opened.push(each);
      return each;
    };
    return {
      async openStores() {
        const stores = await openPostgresStores(url, { clock: patientClock, random: systemRandom });
        keep(stores.links);
        return stores;
      },
      openSource: async () => keep(await openPostgresSource(url, systemClock)),
      openTarget: async () => keep(await openPostgresTarget(url, systemClock)),
      async dispose() {
        for (const each of opened) await each.close();
      },
    };
  });
});
