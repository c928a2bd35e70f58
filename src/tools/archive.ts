/**
 * `terse archive`: lists the archive of the settings, and restores days from it. A server may run meanwhile. Days of
 * the embedded log are put back into it, and counted when the server is asked to recount. Days of Kafka cannot be put
 * back, so they are counted directly from the archive.
 */
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { RequestError } from '../cli/command.ts';
import { type Archive, archivedDays } from '../clicks/archive.ts';
import { restoreFrom } from '../clicks/logs/embedded-restore.ts';
import { openArchive } from '../clicks/open-archive.ts';
import { awsKeysOfProcess, type Config, requireSupported } from '../config/config.ts';

export async function useArchive(
  config: Config,
  restoreDay: string | undefined,
  tell: (line: string) => void,
): Promise<readonly string[]> {
  requireSupported(config);
  const keys = awsKeysOfProcess();
  if (config.archive === undefined || keys === undefined)
    throw new RequestError('there is no archive: TERSE_ARCHIVE names none');
  const archive = openArchive({ address: config.archive, keys, stream: config.stream }, systemClock);
  try {
    if (restoreDay !== undefined) {
      const restore = config.stream === 'embedded' ? restoreLogs : restoreCounts;
      await restore(config, archive, restoreDay, tell);
    }
    return await archivedDays(archive);
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new RequestError(line);
  }
}

type Restore = (
  config: Config,
  archive: Archive,
  firstDay: string,
  tell: (line: string) => void,
) => Promise<void>;

const restoreLogs: Restore = async (config, archive, firstDay, tell) => {
  const logFolder = join(config.data, 'clicks');
  await restoreFrom({ archive, logFolder, clock: systemClock }, firstDay, restored => {
    const { day, logs, clicks } = restored;
    tell(`${day}: ${restored.restored} of ${logs} logs restored, ${clicks} clicks`);
  });
  tell('count them with: terse reconcile --repair');
};

const restoreCounts: Restore = async (config, archive, firstDay, tell) => {
  const { recountFromArchive } = await import('../clicks/open-kafka.ts');
  const settings = { ...config, rawDays: config.clickDays, dataFolder: config.data };
  for (const { day, clicks } of await recountFromArchive(settings, archive, firstDay)) {
    tell(`${day}: ${clicks} clicks read from the archive`);
  }
  tell('everything since then is recounted');
};
