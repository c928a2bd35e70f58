/**
 * A stretch of network between two places, on loopback: what goes through it arrives later, in its order. It can fall
 * silent as a cut cable does, with connections that nobody ends, refuse as a machine does on which nothing listens, and
 * lead somewhere else, as a name does that was pointed at another server.
 */
import { connect, createServer, type Socket } from 'node:net';

export interface NetworkLink {
  /** Host and port of this end. */
  readonly address: string;
  readonly port: number;
  /** Nothing passes any more, either way; connections stay. */
  cut(): void;
  /** What was under way is lost with its connections; new ones pass again. */
  mend(): void;
  /** Ends all connections and takes no new ones, until `accept`. */
  refuse(): Promise<void>;
  accept(): Promise<void>;
  /** Ends all connections; new ones lead there. */
  leadTo(target: string): void;
  stop(): Promise<void>;
}

export interface NetworkLinkOptions {
  /** How long a byte takes, each way. */
  readonly delayMs?: number;
  /** Whether it refuses until it is told to accept. */
  readonly isRefusing?: boolean;
}

interface Way {
  readonly due: number;
  readonly deliver: () => void;
}

export async function startNetworkLink(
  target: string,
  { delayMs = 0, isRefusing = false }: NetworkLinkOptions = {},
): Promise<NetworkLink> {
  let [host = '', port = ''] = target.split(':');
  let isCut = false;
  const sockets = new Set<Socket>();

  const server = createServer({ allowHalfOpen: true, noDelay: true }, near => {
    const far = connect({ host, port: Number(port), allowHalfOpen: true, noDelay: true });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    carry(near, far);
    carry(far, near);
  });

  /** One queue for each direction, so that nothing overtakes. */
  function carry(from: Socket, to: Socket): void {
    const underWay: Way[] = [];
    const send = (deliver: () => void): void => {
      underWay.push({ due: performance.now() + delayMs, deliver });
      if (underWay.length === 1) setTimeout(arrive, delayMs);
    };
    const arrive = (): void => {
      while (underWay[0] !== undefined && underWay[0].due <= performance.now() + 1)
        underWay.shift()!.deliver();
      if (underWay[0] !== undefined) setTimeout(arrive, Math.max(0, underWay[0].due - performance.now()));
    };
    from.on('data', chunk => {
      if (!isCut) send(() => to.write(chunk));
    });
    from.on('end', () => {
      if (!isCut) send(() => to.end());
    });
    from.on('close', () => {
      if (!isCut) send(() => to.destroy());
    });
  }

  const endAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const listen = (at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(at, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  const close = async (): Promise<void> => {
    const closed = new Promise<void>(resolve => server.close(() => resolve()));
    endAll();
    await closed;
  };

  await listen(0);
  const address = server.address();
  const ownPort = typeof address === 'object' && address !== null ? address.port : 0;
  if (isRefusing) await close();
  return {
    address: `127.0.0.1:${ownPort}`,
    port: ownPort,
    cut() {
      isCut = true;
    },
    mend() {
      isCut = false;
      endAll();
    },
    refuse: close,
    accept: () => listen(ownPort),
    leadTo(elsewhere) {
      [host = '', port = ''] = elsewhere.split(':');
      isCut = false;
      endAll();
    },
    async stop() {
      if (server.listening) await close();
      else endAll();
    },
  };
}
