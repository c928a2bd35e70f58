/** The network between parties: calls with latency, which can be lost, be refused, hang, or lose their answer. */
import type { Kernel, Party } from './kernel.ts';

/** The outcome of a failed call: `none` if it never arrived. */
export type Lost = 'none' | 'unknown';

export interface CallOptions {
  readonly timeoutMs: number;
  /** The error for a call without an answer. */
  readonly failure: (lost: Lost, reason: string) => Error;
}

/** The fault between a pair of parties. */
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
  /** The chance that a message takes much longer. */
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

  /** Runs `work` at the server and returns its result. */
  call<Result>(
    client: Party,
    server: Party,
    work: () => Promise<Result> | Result,
    { timeoutMs, failure }: CallOptions,
  ): Promise<Result> {
    const { kernel } = this;
    // Only the life that made the call gets the answer: a process that died meanwhile never does, not even after a
    // restart.
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
