/** `terse backup`, `terse restore` and `terse marks`: the work behind them, with each failure in one line. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { stayAlive, systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/finding.ts';
import type { Transfer } from '../../base/transfer.ts';
import { type BackupReport, type MarkReport, RequestError, type RestoreReport } from '../../cli/command.ts';
import type { Config } from '../../config/config.ts';
import { openForWriting } from '../../engines/sqlite/database.ts';
import { sqliteLinkTransfers } from '../../links/stores/sqlite/transfer.ts';
import type { MarkCopy } from '../../links/transfer.ts';
import { backUp, linksDatabase } from './back-up.ts';
import { checkBackup, type Manifest, readManifest } from './manifest.ts';
import { leasedBy, raiseMarks, readMarks } from './marks.ts';
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

/** Without a number, the marks are only shown. */
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
    throw new RequestError(messageOf(error));
  } finally {
    release();
  }
}

interface OpenedMarks {
  readonly marks: Transfer<MarkCopy>;
  close(): Promise<void> | void;
}

/** The marks of whichever store the settings name, for an operator who has restored it with the engine's own tools. */
async function openMarks({ links, data }: Pick<Config, 'links' | 'data'>): Promise<OpenedMarks> {
  if (links === 'memory') throw new RequestError('links in memory have no high-water marks');
  if (links !== 'sqlite') {
    const { openInstallation } = await import('../migrate/open-installation.ts');
    const { transfers, close } = await openInstallation(links, 'source');
    return { marks: transfers.marks, close };
  }
  const path = join(data, linksDatabase);
  if (!existsSync(path)) throw new RequestError(`there is no Terse installation in ${data}`);
  const database = openForWriting(path);
  return { marks: sqliteLinkTransfers(database).marks, close: () => database.close() };
}
