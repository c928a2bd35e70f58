/** The network between parties: calls with latency that can be lost, cut off, answered into the void, or hang. */
import type { Kernel, Party } from './kernel.ts';

/** What became of a call that failed: it never arrived, or nobody knows. */
export type Lost = 'none' | 'unknown';

export interface CallOptions {
  readonly timeoutMs: number;
  /** What the caller gets when there is no answer. */
  readonly failure: (lost: Lost, reason: string) => Error;
}

/** Of one direction of a pair of parties. */
type Cut =
  /** Packets vanish: a call hangs until its deadline. */
  | 'silent'
  /** Connections are refused: a call fails at once. */
  | 'refused';

export class Network {
  readonly kernel: Kernel;
  readonly #cuts = new Map<string, Cut>();
  /** The chance that a call, or its answer, is lost. */
  lossRate = 0;
  latencyMs: readonly [number, number] = [0.2, 2];
  /** Now and then something takes much longer. */
  slowRate = 0.01;

  constructor(kernel: Kernel) {
    this.kernel = kernel;
  }

  cut(one: Party, other: Party, how: Cut): void {
    this.#cuts.set(pairOf(one, other), how);
  }

  heal(one: Party, other: Party): void {
    this.#cuts.delete(pairOf(one, other));
  }

  healAll(): void {
    this.#cuts.clear();
    this.lossRate = 0;
  }

  isCut(one: Party, other: Party): boolean {
    return this.#cuts.has(pairOf(one, other));
  }

  latency(): number {
    const [from, to] = this.latencyMs;
    const { kernel } = this;
    const usualMs = from + kernel.random.float() * (to - from);
    return kernel.chance(this.slowRate) ? usualMs * 100 : usualMs;
  }

  /** Runs `work` at the server and brings back its result. */
  call<Result>(
    client: Party,
    server: Party,
    work: () => Promise<Result> | Result,
    { timeoutMs, failure }: CallOptions,
  ): Promise<Result> {
    const { kernel } = this;
    // The answer belongs to the life that asked: a process that died meanwhile never gets it, also not after a restart.
    const life = kernel.lifeOf(client);
    return new Promise<Result>((resolve, reject) => {
      if (client.isOver) return;
      let isSettled = false;
      const atClient = (delayMs: number, settle: () => void): (() => void) =>
        client.after(
          delayMs,
          () => {
            if (isSettled) return;
            isSettled = true;
            cancelTimeout();
            settle();
          },
          life,
        );
      const fail = (delayMs: number, lost: Lost, reason: string): void =>
        void atClient(delayMs, () => reject(failure(lost, reason)));
      const cancelTimeout = client.after(
        timeoutMs,
        () => {
          if (isSettled) return;
          isSettled = true;
          reject(failure('unknown', 'no answer in time'));
        },
        life,
      );
      const cut = this.#cuts.get(pairOf(client, server));
      if (cut === 'refused') return fail(this.latency(), 'none', 'connection refused');
      if (cut === 'silent' || kernel.chance(this.lossRate)) return;
      kernel.schedule(kernel.outside, this.latency(), () => {
        if (server.state === 'down') return fail(0, 'none', 'connection refused');
        server.after(0, () => {
          const answer = (settle: () => void): void => {
            if (this.isCut(client, server) || kernel.chance(this.lossRate)) return;
            atClient(this.latency(), settle);
          };
          Promise.resolve()
            .then(work)
            .then(
              result => answer(() => resolve(result)),
              error => answer(() => reject(error)),
            );
        });
      });
    });
  }
}

const pairOf = (one: Party, other: Party): string => [one.name, other.name].sort().join('|');
