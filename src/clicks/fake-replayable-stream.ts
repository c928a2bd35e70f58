/** A stream in memory that can be read again, for tests of repairs; something may happen while it is read. */
import type { ReplayableStream } from './replay.ts';
import type { StreamBatch } from './stream.ts';

export class FakeReplayableStream implements ReplayableStream {
  readonly #written: { readonly batch: StreamBatch; readonly at: number }[] = [];
  /** Called before each piece that is read. */
  onRead: () => Promise<void> | void = () => {};
  keptSinceMs = 0;
  pieces = 0;

  /** Written at a time, which is that of the last click in it unless it is told. */
  write(batches: readonly StreamBatch[], at?: number): void {
    for (const batch of batches) this.#written.push({ batch, at: at ?? Math.max(...batch.batch.at) });
  }

  async positionsAt(time: number): Promise<ReadonlyMap<string, number>> {
    const byPartition = Map.groupBy(this.#written, ({ batch }) => batch.partition);
    return new Map(
      [...byPartition].map(([partition, written]) => [
        partition,
        written.find(({ at }) => at >= time)?.batch.from ?? written.at(-1)!.batch.to,
      ]),
    );
  }

  /** One batch at a time. */
  async readUntil(partition: string, position: number, end: number) {
    await this.onRead();
    this.pieces += 1;
    const found = this.#written.find(
      ({ batch }) => batch.partition === partition && batch.from >= position && batch.from < end,
    );
    return found === undefined ? { items: [], to: end } : { items: [found.batch], to: found.batch.to };
  }

  keptSince = async (): Promise<number> => this.keptSinceMs;
  begunAt = async (): Promise<number> => Math.min(...this.#written.map(({ at }) => at));
  isOwn = (partition: string): boolean => !partition.startsWith('foreign/');
}
