import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../../../test/kit/engines/postgres.ts';
import { patientClock } from '../../../test/kit/patient-clock.ts';
import { systemRandom } from '../../base/random.ts';
import { openPostgresStores } from '../../stores/postgres.ts';
import { installationConformance } from './installation.conformance.ts';
import { openInstallation } from './open-installation.ts';

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
      openSource: async () => keep(await openInstallation(url, 'source')),
      openTarget: async () => keep(await openInstallation(url, 'target')),
      async dispose() {
        for (const each of opened) await each.close();
      },
    };
  });
});
