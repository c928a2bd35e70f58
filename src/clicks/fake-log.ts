/** A log in memory that can be replayed, for tests of repairs; `onRead` can change something meanwhile. */

import type { LogBatch, LogPiece, Retention } from './log.ts';
import type { ReplayedLog } from './replay.ts';

export class FakeLog implements ReplayedLog {
  readonly #written: { readonly batch: LogBatch; readonly at: number }[] = [];
  /** Called before each piece that is read. */
  onRead: () => Promise<void> | void = () => {};
  keptSinceMs = 0;
  pieces = 0;

  /** Written at the given time, by default that of the last click in it. */
  write(batches: readonly LogBatch[], at?: number): void {
    for (const batch of batches) this.#written.push({ batch, at: at ?? Math.max(...batch.batch.at) });
  }

  async offsetsAt(time: number): Promise<ReadonlyMap<string, number>> {
    const byPartition = Map.groupBy(this.#written, ({ batch }) => batch.partition);
    return new Map(
      [...byPartition].map(([partition, written]) => [
        partition,
        written.find(({ at }) => at >= time)?.batch.from ?? written.at(-1)!.batch.to,
      ]),
    );
  }

  /** One batch at a time; there are no messages after the last one. */
  async read(offsets: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, LogPiece>> {
    await this.onRead();
    this.pieces += 1;
    return new Map([...offsets].map(([partition, offset]) => [partition, this.#pieceAt(partition, offset)]));
  }

  #pieceAt(partition: string, offset: number): LogPiece {
    const found = this.#written.find(({ batch }) => batch.partition === partition && batch.from >= offset);
    if (found === undefined) return { items: [], to: Number.MAX_SAFE_INTEGER, end: Number.MAX_SAFE_INTEGER };
    const { from, to, producer, batch } = found.batch;
    return { items: [{ offset: from, storedAt: found.at, producer, batch }], to, end: to };
  }

  retention = async (): Promise<Retention> => ({
    keptSince: this.keptSinceMs,
    begunAt: Math.min(...this.#written.map(({ at }) => at)),
  });
  isOwn = (partition: string): boolean => !partition.startsWith('foreign/');
}
