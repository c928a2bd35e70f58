/** What reports need beside the counts: who has noted how much, and single clicks. Either is where the stream is. */
import { systemClock } from '../base/clock.ts';
import { readHeads } from '../clicks/producer-heads.ts';
import type { ExportCursor, ExportFilter, ExportPart } from '../clicks/reports.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { spilledProducers } from '../clicks/spill-folder.ts';
import type { ProducerHead } from '../clicks/stream.ts';
import { exportPart } from '../clicks/streams/embedded/export.ts';
import type { Warehouse } from '../clicks/warehouse.ts';

export interface StatsSources {
  heads(): Promise<ProducerHead[]>;
  exportPart(
    filter: ExportFilter,
    cursor: ExportCursor | undefined,
    forgottenBefore: number,
  ): Promise<ExportPart>;
}

/** Kafka's client is loaded only where it is used. */
export async function openStatsSources(
  settings: ClickSettings,
  warehouse: () => Pick<Warehouse, 'positions'>,
): Promise<StatsSources> {
  if (settings.stream === 'embedded') return embeddedSources(settings);
  const { openKafkaStatsSources } = await import('./kafka-stats-sources.ts');
  return openKafkaStatsSources(settings, warehouse);
}

function embeddedSources({ logFolder, spillFolder }: ClickSettings): StatsSources {
  return {
    /** As long as clicks of a dead producer are spilled, they are on their way and not missing. */
    async heads() {
      const spilled = spilledProducers(spillFolder);
      return readHeads(logFolder, systemClock).map(head => ({
        ...head,
        alive: head.alive || spilled.has(head.producer),
      }));
    },
    exportPart: async (filter, cursor, forgottenBefore) =>
      exportPart(logFolder, filter, cursor, forgottenBefore),
  };
}
