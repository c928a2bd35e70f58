/** A listener on loopback for tests: its clock is advanced by hand, and handlers are a line each. */
import { ManualClock } from '../../base/clock.ts';
import type { Problem } from '../../base/errors.ts';
import { type Answer, answerOf } from './answer.ts';
import type { ConnectionContext } from './connection-context.ts';
import { Listener, type ListenerOptions } from './listener.ts';

export type FakeHandle = ConnectionContext['handle'];

export const saying = (body: string): Answer => answerOf(200, {}, body);

/** Answers with the path at once, unless the path says otherwise. */
export const sayPath: FakeHandle = request => saying(request.path);

export const refuse = (problem: Problem): Answer => answerOf(problem.status, problem.headers, problem.detail);

export interface FakeWire {
  readonly url: string;
  readonly listener: Listener;
  readonly faults: unknown[];
  /** Advances the clock by this many seconds. */
  tick(count: number): void;
  stop(): Promise<void>;
}

export function startFakeWire(options: Partial<ListenerOptions> = {}): FakeWire {
  const clock = new ManualClock();
  const faults: unknown[] = [];
  const listener = new Listener({
    at: { hostname: '127.0.0.1', port: 0 },
    connectionsMax: 100,
    clock,
    handle: sayPath,
    refuse,
    onFault: error => faults.push(error),
    ...options,
  });
  return {
    url: `${options.identity === undefined ? 'http' : 'https'}://127.0.0.1:${listener.port}`,
    listener,
    faults,
    tick(count) {
      for (let ticks = 0; ticks < count; ticks += 1) clock.advance(1_000);
    },
    async stop() {
      const drained = listener.drain();
      listener.cutOff();
      await drained;
    },
  };
}
