/**
 * A crowd that only takes up room: connections that were answered once and then say nothing, or that ask for much
 * and read none of it. It stays until its input ends, and says how many were let in and how many were left at last.
 */
import type { Socket } from 'bun';

export interface CrowdPlan {
  readonly url: string;
  readonly connections: number;
  /** Sent once when the connection is there. */
  readonly request: string;
  /** Whether the answer is taken; if not, the server has to wait with it. */
  readonly isReading: boolean;
}

export interface CrowdOpening {
  readonly opened: number;
  readonly refused: number;
}

export interface CrowdEnding {
  /** Connections that the server had not closed when the crowd left. */
  readonly stayed: number;
}

/** So that the queue of the listener is not what is measured. */
const openingAtOnce = 100;

/** Reports through `say`; resolves when `leave` does. */
export async function runCrowd(
  plan: CrowdPlan,
  say: (what: CrowdOpening | CrowdEnding) => void,
  leave: Promise<unknown>,
): Promise<void> {
  const { hostname, port } = new URL(plan.url);
  const request = Buffer.from(plan.request, 'latin1');
  const open = new Set<Socket<Buffer>>();
  let [opened, refused, left] = [0, 0, plan.connections];

  const enter = async (): Promise<void> => {
    const settled = Promise.withResolvers<void>();
    const flush = (socket: Socket<Buffer>): void => {
      if (socket.data.length > 0) socket.data = socket.data.subarray(Math.max(0, socket.write(socket.data)));
    };
    await Bun.connect<Buffer>({
      hostname,
      port: Number(port),
      data: request,
      socket: {
        open(socket) {
          open.add(socket);
          opened += 1;
          if (!plan.isReading) socket.pause();
          flush(socket);
          if (!plan.isReading) settled.resolve();
        },
        drain: flush,
        data: () => settled.resolve(),
        close(socket) {
          open.delete(socket);
          settled.resolve();
        },
        error() {},
        connectError() {
          refused += 1;
          settled.resolve();
        },
      },
    }).catch(() => {});
    await settled.promise;
  };
  const enterInTurn = async (): Promise<void> => {
    for (; left > 0; await enter()) left -= 1;
  };
  await Promise.all(Array.from({ length: openingAtOnce }, enterInTurn));
  say({ opened, refused });
  await leave;
  say({ stayed: open.size });
}
