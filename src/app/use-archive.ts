/**
 * `terse archive`: what lies in the archive of the settings, and days back from there. A server may run meanwhile: it
 * finds a restored day in its log and counts it when it is asked to count anew.
 */
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { RequestError } from '../cli/command.ts';
import { archivedDays } from '../clicks/archive.ts';
import { restoreFrom } from '../clicks/streams/embedded/restore.ts';
import { openArchive } from './archive.ts';
import { awsKeysOfProcess, type Config, requireSupported } from './config.ts';

export async function useArchive(
  config: Config,
  restoreDay: string | undefined,
  tell: (line: string) => void,
): Promise<readonly string[]> {
  requireSupported(config);
  const keys = awsKeysOfProcess();
  if (config.archive === undefined || keys === undefined)
    throw new RequestError('there is no archive: TERSE_ARCHIVE names none');
  const archive = openArchive({ address: config.archive, keys }, systemClock);
  try {
    if (restoreDay !== undefined) {
      const logFolder = join(config.data, 'clicks');
      await restoreFrom({ archive, logFolder, clock: systemClock }, restoreDay, restored => {
        const { day, logs, clicks } = restored;
        tell(`${day}: ${restored.restored} of ${logs} logs restored, ${clicks} clicks`);
      });
    }
    return await archivedDays(archive);
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new RequestError(line);
  }
}
