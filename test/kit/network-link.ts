/**
 * A network path between two endpoints, on loopback, with a delay. It can drop everything like a cut cable while
 * connections stay open, refuse connections like a machine on which nothing listens, lead to another server like after
 * a DNS change, and lose the answer to one request.
 */
import { connect, createServer, type Socket } from 'node:net';

export interface NetworkLink {
  /** Host and port of this end. */
  readonly address: string;
  readonly port: number;
  /** Drops everything in both directions; connections stay open. */
  cut(): void;
  /** Ends the existing connections with their pending data; new ones work again. */
  mend(): void;
  /** Ends all connections and takes no new ones, until `accept`. */
  refuse(): Promise<void>;
  accept(): Promise<void>;
  /**
   * Passes the next matching request, and ends its connection when the answer comes; with `then`, also refuses all
   * others until `accept`. `isMeant` gets everything sent on a connection so far, as Latin-1. Resolves once the answer
   * is lost.
   */
  loseAnswer(isMeant: (sent: string) => boolean, then?: 'refuse'): Promise<void>;
  /** Ends all connections; new ones go to the new target. */
  leadTo(target: string): void;
  stop(): Promise<void>;
}

export interface NetworkLinkOptions {
  /** How long a byte takes, each way. */
  readonly delayMs?: number;
  /** Whether it refuses connections until `accept`. */
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
  let isEnding = false;
  let loss: { isMeant: (sent: string) => boolean; then?: 'refuse' | undefined; done: () => void } | undefined;
  const sockets = new Set<Socket>();

  const server = createServer({ allowHalfOpen: true, noDelay: true }, near => {
    if (isEnding) {
      near.destroy();
      return;
    }
    const far = connect({ host, port: Number(port), allowHalfOpen: true, noDelay: true });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    watch(near, far);
    carry(near, far);
    carry(far, near);
  });

  /** Registered before `carry`, whose listeners then find the connection ended. */
  function watch(near: Socket, far: Socket): void {
    let sent = '';
    let lost: typeof loss;
    near.on('data', chunk => {
      sent += chunk.toString('latin1');
      if (loss === undefined || !loss.isMeant(sent)) return;
      lost = loss;
      loss = undefined;
    });
    far.prependListener('data', () => {
      if (lost === undefined) return;
      if (lost.then === 'refuse') {
        isEnding = true;
        endAll();
      }
      near.destroy();
      far.destroy();
      lost.done();
    });
  }

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
    async accept() {
      isEnding = false;
      if (!server.listening) await listen(ownPort);
    },
    loseAnswer: (isMeant, then) =>
      new Promise(done => {
        loss = { isMeant, then, done };
      }),
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
