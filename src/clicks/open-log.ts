/** The log that the settings name, as reports and recounts need it. Kafka's client is loaded only where it is used. */
import { systemClock } from '../base/clock.ts';
import { partitionsBehind, readBatches } from './log.ts';
import { readHeads } from './log-folder.ts';
import { openEmbeddedLog } from './logs/embedded.ts';
import type { LogSources } from './reports.ts';
import type { ClickSettings } from './settings.ts';
import { SettledTime } from './settling.ts';
import { spilledProducers } from './spill-folder.ts';
import { alone, type Warehouse } from './warehouse.ts';

export async function openLogSources(
  settings: ClickSettings,
  warehouse: () => Pick<Warehouse, 'positions'>,
): Promise<LogSources> {
  if (settings.stream === 'embedded') return embeddedSources(settings, warehouse);
  const { openKafkaSources } = await import('./open-kafka.ts');
  return openKafkaSources(settings, warehouse);
}

function embeddedSources(
  { logFolder, spillFolder }: ClickSettings,
  warehouse: () => Pick<Warehouse, 'positions'>,
): LogSources {
  const log = openEmbeddedLog(logFolder);
  const positions = () => warehouse().positions();
  const settled = new SettledTime({ positions, log });

  /**
   * The producers with uncounted clicks in their log; half a frame at the end of a log is never counted. While the log
   * cannot be read, every producer is assumed to have some.
   */
  async function uncountedProducers(): Promise<Pick<Set<string>, 'has'>> {
    const counted = await positions();
    const producers = new Set<string>();
    try {
      for (const { name, producer } of await partitionsBehind(log, counted)) {
        if ((await readBatches(log, name, counted.get(name) ?? 0, 1)).length > 0) producers.add(producer!);
      }
    } catch {
      return { has: () => true };
    }
    return producers;
  }

  return {
    log,
    /** While clicks of a dead producer are spilled, or in the log, they are pending and not missing. */
    async heads() {
      const spilled = spilledProducers(spillFolder);
      const heads = readHeads(logFolder, systemClock);
      const uncounted = await uncountedProducers();
      return heads.map(head => ({
        ...head,
        alive: head.alive || spilled.has(head.producer) || uncounted.has(head.producer),
      }));
    },
    settledUntil: heads => settled.until(heads, systemClock.now()),
    hasTimes: false,
    pause: alone,
    ask: ask => ask(),
  };
}
