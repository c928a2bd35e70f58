/**
 * `terse clicks import`: adds the redirects that an edge cache answered itself, from its log, to the stream of clicks.
 * It writes to the stream directly, beside running servers, which count it. One import at a time per data folder.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointFile } from '../base/checkpoint-file.ts';
import { systemClock } from '../base/clock.ts';
import { inParallel } from '../base/in-parallel.ts';
import { systemRandom } from '../base/random.ts';
import { RequestError } from '../cli/command.ts';
import { type Archive, archivedDays } from '../clicks/archive.ts';
import {
  type EdgeImportReport,
  type ImportSink,
  importEdgeLog,
  newestIn,
  openImport,
} from '../clicks/edge-import.ts';
import { createEmbeddedLog } from '../clicks/logs/embedded.ts';
import { restoreFrom } from '../clicks/logs/embedded-restore.ts';
import type { DescribedLink } from '../clicks/new-links.ts';
import { openArchive } from '../clicks/open-archive.ts';
import { createClickEnricher } from '../clicks/open-enricher.ts';
import { awsKeysOfProcess, type Config, requireSupported } from '../config/config.ts';
import { ProcessLock } from '../engines/sqlite/process-lock.ts';
import type { LinkStore } from '../links/store.ts';
import { openStores } from '../stores/stores.ts';
import { createLog } from '../telemetry/log.ts';

const clock = systemClock;
const random = systemRandom;
const findsAtOnce = 16;

export async function importClicks(
  config: Config,
  log: string | AsyncIterable<Uint8Array>,
): Promise<EdgeImportReport> {
  requireSupported(config);
  requireInstallation(config);
  if (typeof log === 'string' && !existsSync(log)) throw new RequestError(`there is no file ${log}`);
  const lock = new ProcessLock(join(importFolder(config), 'lock'));
  let report: EdgeImportReport | undefined;
  try {
    const isAlone = await lock.tryRun(async () => {
      report = await importWith(config, typeof log === 'string' ? Bun.file(log).stream() : log);
    });
    if (!isAlone) throw new RequestError('another import is under way in this data folder; wait for its end');
  } catch (error) {
    if (error instanceof RequestError) throw error;
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new RequestError(`the log was not imported to its end: ${line}; import it again`);
  } finally {
    lock.close();
  }
  return report!;
}

const importFolder = ({ data }: Pick<Config, 'data'>): string => join(data, 'edge', 'imports');

/** In a folder without an installation, an import would create one, with clicks of unknown links. */
function requireInstallation({ links, clicks, data }: Config): void {
  if (!clicks) throw new RequestError('clicks are not counted: TERSE_CLICKS is off');
  if (links === 'memory') throw new RequestError('links in memory are known to their own process only');
  if (links === 'sqlite' && !existsSync(join(data, 'terse.db')))
    throw new RequestError(`there is no installation in ${data}: give the settings of the server`);
}

async function importWith(config: Config, log: AsyncIterable<Uint8Array>): Promise<EdgeImportReport> {
  const silent = createLog({ level: 'silent', clock, write: () => {} });
  const { links } = await openStores(config, { clock, random, log: silent });
  try {
    const secret = await links.installationSecret(random.bytes(32));
    const { enrich } = createClickEnricher(
      {
        secret,
        geoPath: config.geoFile,
        ownHosts: [new URL(config.baseUrl).hostname, ...config.domains],
        addressRate: config.suspiciousAddressRate,
        agentRate: config.suspiciousAgentRate,
      },
      clock,
      () => undefined,
    );
    return await importEdgeLog({
      log,
      open: producer => openSink(config, producer),
      linksOf: codes => entriesOf(links, codes),
      enrich,
      clock,
    });
  } finally {
    await links.close();
  }
}

async function openSink(config: Config, producer: string): Promise<ImportSink> {
  const storedAt = (name: string): CheckpointFile => new CheckpointFile(join(importFolder(config), name));
  if (config.stream === 'embedded') {
    const run = `import-${clock.now().toString(36)}-${Buffer.from(random.bytes(4)).toString('hex')}`;
    const writer = createEmbeddedLog({ folder: join(config.data, 'clicks'), producer: run, clock });
    const newestInLog = await newestIn(writer, producer);
    return openImport({ writer, producer, stored: storedAt(producer), newestInLog });
  }
  const { parseKafkaAddress } = await import('../engines/kafka/address.ts');
  const { openKafkaProducer } = await import('../engines/kafka/producer.ts');
  const { createKafkaWriter } = await import('../clicks/logs/kafka.ts');
  const address = parseKafkaAddress(config.stream);
  const { topic, partitions } = address;
  const name = `${producer}-${partitions}`;
  requireSamePartitions(config, producer, name);
  const writer = createKafkaWriter({ kafka: openKafkaProducer(address, { clock }), topic, producer });
  return openImport({ writer, producer, partitions, stored: storedAt(name) });
}

/** Clicks are numbered by partition, so with another number of partitions a log's numbers would be issued twice. */
function requireSamePartitions(config: Config, producer: string, name: string): void {
  const folder = importFolder(config);
  const earlier = readdirSync(folder).find(known => known.startsWith(`${producer}-`) && known !== name);
  if (earlier !== undefined)
    throw new RequestError(
      'the number of partitions has changed since a part of this log was imported; let the edge begin a new log',
    );
}

async function entriesOf(
  links: Pick<LinkStore, 'find'>,
  codes: readonly string[],
): Promise<ReadonlyMap<string, DescribedLink>> {
  const entries = new Map<string, DescribedLink>();
  await inParallel(codes.length, findsAtOnce, async index => {
    const link = await links.find(codes[index]!);
    if (link === undefined) return;
    const { code, ownerId, tags, longUrl } = link;
    entries.set(code, { code, ownerId, tags, longUrl });
  });
  return entries;
}

/**
 * `terse archive`: lists the archive of the settings, and restores days from it. A server may run meanwhile. Days of
 * the embedded log are put back into it, and counted when the server is asked to recount. Days of Kafka cannot be put
 * back, so they are counted directly from the archive.
 */
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
