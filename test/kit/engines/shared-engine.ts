/**
 * One engine for all tests of a process, started on the first request. When a test times out, bun ends every process
 * that was started meanwhile, and later tests should not suffer: the next caller finds it running.
 */
export interface Revivable {
  /** Absent when it is not ours to start. */
  revive?(): Promise<void>;
}

export function shareEngine<Shared extends Revivable>(start: () => Promise<Shared>): () => Promise<Shared> {
  let started: Promise<Shared> | undefined;
  let revived: Promise<void> = Promise.resolve();
  return async () => {
    started ??= start();
    const engine = await started;
    // One after the other, and a failure is only that of who saw it.
    revived = revived.catch(() => undefined).then(() => engine.revive?.());
    await revived;
    return engine;
  };
}
