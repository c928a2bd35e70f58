/** A data folder as a server leaves it, for tests: links, counts, and a log of clicks of which half is counted. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../../base/clock.ts';
import { sampleBatch } from '../../clicks/batch-samples.ts';
import { readBatches } from '../../clicks/log.ts';
import { markForgotten } from '../../clicks/log-folder.ts';
import { createEmbeddedLog } from '../../clicks/logs/embedded.ts';
import { openSqliteWarehouse } from '../../clicks/warehouses/sqlite/warehouse.ts';
import { openForWriting } from '../../engines/sqlite/database.ts';
import { migrate } from '../../engines/sqlite/migrations.ts';
import { sampleLink } from '../../links/store-samples.ts';
import { sqliteLinkTransfers } from '../../links/stores/sqlite/transfer.ts';
import { linkCopy } from '../../links/transfer.ts';
import { embeddedMigrations } from '../../stores/embedded.ts';

export const fakeStart = Date.UTC(2026, 10, 15, 12);

export const temporary = (): string => mkdtempSync(join(tmpdir(), 'terse-backup-'));

export interface FakeInstallation {
  /** The settings of its server. */
  readonly config: {
    readonly data: string;
    readonly links: string;
    readonly stats: string;
    readonly clicks: boolean;
    readonly codeLength: number;
    readonly region: string;
  };
}

/** Made once and copied, because making it waits for the disk many times. */
const made = new Map<number, Promise<string>>();

export async function fakeInstallation(links = 200): Promise<FakeInstallation> {
  const master = made.get(links) ?? make(links);
  made.set(links, master);
  const data = temporary();
  cpSync(await master, data, { recursive: true });
  return { config: { data, links: 'sqlite', stats: 'sqlite', clicks: true, codeLength: 7, region: '1/1' } };
}

async function make(links: number): Promise<string> {
  const data = temporary();
  process.on('exit', () => rmSync(data, { recursive: true, force: true }));
  const database = openForWriting(join(data, 'terse.db'));
  for (const set of embeddedMigrations) migrate(database, set);
  const transfers = sqliteLinkTransfers(database);
  await transfers.marks.write([{ key: '[7,0]', value: { length: 7, first: 0, mark: 20_000 } }]);
  const copies = Array.from({ length: links }, (_, n) => linkCopy(sampleLink(`code${n}`), true));
  await transfers.links.write(copies.map(value => ({ key: value.code, value })));
  database.close();

  const clock = new ManualClock(fakeStart);
  const stream = createEmbeddedLog({ folder: join(data, 'clicks'), producer: 'before', clock });
  const clicks = Array.from({ length: 40 }, () => ({ at: clock.now(), code: 'code1' }));
  await stream.append(sampleBatch(1, clicks.slice(0, 20)));
  await stream.append(sampleBatch(21, clicks.slice(20)));
  markForgotten(join(data, 'clicks'), 'code2', clock.now());
  const [first] = await readBatches(stream, '2026-11-15/before.log', 0, 1);
  const warehouse = openSqliteWarehouse(join(data, 'stats.db'));
  await warehouse.apply([first!]);
  await warehouse.close();
  await stream.close();
  return data;
}
