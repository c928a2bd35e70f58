/**
 * One engine for all tests of a process, started on the first request. When a test times out, bun ends every process
 * that was started meanwhile; the next caller then starts the engine again.
 */
export interface Revivable {
  /** Absent for an engine that we did not start. */
  revive?(): Promise<void>;
}

export function shareEngine<Shared extends Revivable>(start: () => Promise<Shared>): () => Promise<Shared> {
  let started: Promise<Shared> | undefined;
  let revived: Promise<void> = Promise.resolve();
  return async () => {
    started ??= start();
    const engine = await started;
    // One after the other; a failure rejects only its own caller.
    revived = revived.catch(() => undefined).then(() => engine.revive?.());
    await revived;
    return engine;
  };
}
