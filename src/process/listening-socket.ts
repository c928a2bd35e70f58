/**
 * Listening sockets that outlive the processes that serve them: the supervisor holds one for each worker and hands it
 * to the worker that takes that place. The system spreads new connections evenly over them, and they wait in its queue
 * while one worker replaces another, so none is lost. A socket of the worker's own could not promise that: closing it
 * resets the connections in its queue.
 */
import { closeSync } from 'node:fs';
import { createTrust } from '../base/addresses.ts';
import type { Config } from '../config/config.ts';
import { duplicateFd } from '../http/wire/listen-socket.ts';

export interface ListeningSockets {
  readonly port: number;
  /** Descriptors, one for each worker. */
  readonly fds: readonly number[];
  /** Releases them: from then on, connections that no other process serves are refused. */
  close(): void;
}

/** Opens the sockets and keeps them without ever accepting. Throws when another process has the port. */
export function openListeningSockets(hostname: string, wantedPort: number, count: number): ListeningSockets {
  // Sockets that share a port would also share it with another program's, so it is first opened exclusively.
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

/** Within one turn of the event loop, so that no connection can have been accepted. */
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

/** The peers that must send a PROXY header before anything else: the trusted proxies, where the settings require it. */
export function proxyProtocolPeersOf({
  proxyProtocol,
  trustedProxies,
}: Pick<Config, 'proxyProtocol' | 'trustedProxies'>): ((address: string) => boolean) | undefined {
  return proxyProtocol ? createTrust(trustedProxies) : undefined;
}
