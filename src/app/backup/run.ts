/** `terse backup`, `terse restore` and `terse marks`: the work behind them, with whatever stops it in one line. */
import { stayAlive, systemClock } from '../../base/clock.ts';
import { RequestError } from '../../cli/command.ts';
import type { BackupReport, MarkReport, RestoreReport } from '../../cli/local-work.ts';
import type { Config } from '../config.ts';
import { reasonOf } from '../migrate/steady.ts';
import { backUp } from './back-up.ts';
import { checkBackup } from './check.ts';
import { linksDatabase } from './contents.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { leasedBy, raiseMarks, readMarks } from './marks.ts';
import { openMarks } from './marks-of-store.ts';
import { restore } from './restore.ts';

type Tell = (line: string) => void;

export const runBackup = (config: Config, folder: string, tell: Tell): Promise<BackupReport> =>
  inOneLine(async () => reportOf(await backUp({ config, folder, clock: systemClock, tell })));

export const runCheck = (folder: string): Promise<BackupReport> =>
  inOneLine(async () => {
    const manifest = readManifest(folder);
    checkBackup(folder, manifest);
    return reportOf(manifest);
  });

export const runRestore = (
  config: Config,
  folder: string,
  margin: number | undefined,
  tell: Tell,
): Promise<RestoreReport> =>
  inOneLine(async () => {
    const { manifest, marks } = await restore({ config, folder, margin, clock: systemClock, tell });
    return { ...reportOf(manifest), marks };
  });

/** Without a number they are only told. */
export const runMarks = (config: Config, by: number | undefined): Promise<readonly MarkReport[]> =>
  inOneLine(async () => {
    const { marks, close } = await openMarks(config);
    try {
      if (by !== undefined) {
        return await raiseMarks(marks, { by, isChosen: true, inUse: leasedBy(config) });
      }
      const found = await readMarks(marks);
      return found.map(({ length, first, mark }) => ({ length, first, before: mark, after: mark }));
    } finally {
      await close();
    }
  });

function reportOf({ startedAt, databases }: Manifest): BackupReport {
  const tables = databases.find(({ name }) => name === linksDatabase)?.tables ?? [];
  return { startedAt, links: tables.find(({ table }) => table === 'links')?.rows };
}

async function inOneLine<Result>(work: () => Promise<Result>): Promise<Result> {
  const release = stayAlive();
  try {
    return await work();
  } catch (error) {
    if (error instanceof RequestError) throw error;
    throw new RequestError(reasonOf(error).split('\n')[0] ?? '');
  } finally {
    release();
  }
}
