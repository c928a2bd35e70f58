/**
 * Listening sockets that outlive the processes that serve them: the supervisor holds one for each worker and hands it
 * to whoever takes that place. The system spreads new connections evenly over them, and they wait in its queue while
 * one worker follows another, so replacing one loses none. A socket of the worker's own could not promise that:
 * closing it resets whoever waits in its queue.
 */
import { closeSync } from 'node:fs';
import { duplicateFd } from '../http/wire/duplicate-fd.ts';

export interface ListeningSockets {
  readonly port: number;
  /** Descriptors, one for each worker. */
  readonly fds: readonly number[];
  /** Lets go of them: what nobody else serves is refused from then on. */
  close(): void;
}

/** Opens the sockets and keeps them without ever accepting from them. Throws when the port is somebody else's. */
export function openListeningSockets(hostname: string, wantedPort: number, count: number): ListeningSockets {
  // Sockets that share a port would share it with a stranger's too, so it is taken for oneself first.
  const port = listenBriefly({ hostname, port: wantedPort }, listener => listener.port);
  const fds: number[] = [];
  const close = (): void => fds.splice(0).forEach(fd => void closeSync(fd));
  try {
    while (fds.length < count) {
      fds.push(
        listenBriefly({ hostname, port, reusePort: true }, ({ fd }) => {
          if (fd === undefined) throw new Error('several workers are not supported on this system');
          return duplicateFd(fd);
        }),
      );
    }
  } catch (error) {
    close();
    throw error;
  }
  return { port, fds, close };
}

interface OpenListener {
  readonly port: number;
  readonly fd: number | undefined;
}

/** Within one turn of the event loop, so that nobody can have been let in. */
function listenBriefly<Result>(
  at: { readonly hostname: string; readonly port: number; readonly reusePort?: boolean },
  use: (listener: OpenListener) => Result,
): Result {
  const listener = Bun.listen({ ...at, socket: { data() {} } });
  try {
    return use(listener as unknown as OpenListener);
  } finally {
    listener.stop(true);
  }
}
