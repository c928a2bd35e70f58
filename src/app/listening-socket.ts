/**
 * Listening sockets that outlive the processes that serve them: the supervisor holds one for each worker and hands it
 * to whoever takes that place. The system spreads new connections evenly over them, and they wait in its queue while
 * one worker follows another, so replacing one loses none. A socket of the worker's own could not promise that:
 * closing it resets whoever waits in its queue.
 */
import { dlopen, FFIType } from 'bun:ffi';

export interface ListeningSockets {
  readonly port: number;
  /** Descriptors, one for each worker. */
  readonly fds: readonly number[];
}

/** Opens the sockets and keeps them without ever accepting from them. Throws when the port is somebody else's. */
export function openListeningSockets(hostname: string, wantedPort: number, count: number): ListeningSockets {
  // Sockets that share a port would share it with a stranger's too, so it is taken for oneself first.
  const port = listenBriefly({ hostname, port: wantedPort }, listener => listener.port);
  const fds = Array.from({ length: count }, () =>
    listenBriefly({ hostname, port, reusePort: true }, listener => duplicate(listener.fd)),
  );
  return { port, fds };
}

interface OpenListener {
  readonly port: number;
  readonly fd: number;
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

/** Bun can serve a descriptor that it was given but offers no way to keep one without serving it. */
function duplicate(fd: number): number {
  const { symbols } = dlopen(process.platform === 'darwin' ? 'libSystem.dylib' : 'libc.so.6', {
    dup: { args: [FFIType.i32], returns: FFIType.i32 },
  });
  const copy = symbols.dup(fd);
  if (copy < 0) throw new Error('the listening socket cannot be kept');
  return copy;
}
