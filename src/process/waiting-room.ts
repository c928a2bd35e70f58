/**
 * Where visitors wait while the store is down at a start, or takes long to upgrade. A server that did not listen before
 * it had its store looks dead to its orchestrator, and is restarted again and again, each time later; one that listens
 * reports what it waits for, and serves as soon as it can.
 *
 * Invariant: the port is free again before the server needs it, and a room that cannot be opened does not prevent the
 * start.
 */
import { type Clock, systemClock } from '../base/clock.ts';
import { endsWithin } from '../base/deadline.ts';
import { Problem } from '../base/errors.ts';
import { systemRandom } from '../base/random.ts';
import type { Config } from '../config/config.ts';
import { problemAnswer, refusalAnswer } from '../http/problem.ts';
import { type Answer, answerOf } from '../http/wire/answer.ts';
import { Listener, type ListenerOptions } from '../http/wire/listener.ts';
import type { WireRequest } from '../http/wire/wire-request.ts';
import { openStores } from '../stores/stores.ts';
import { describeFailure, type Log } from '../telemetry/log.ts';
import { openCertificate } from './certificate.ts';
import { proxyProtocolPeersOf } from './listening-socket.ts';

interface WaitingRoomOptions extends Pick<ListenerOptions, 'identity' | 'hstsMaxAgeS' | 'sendsProxyHeader'> {
  /** The sockets that visitors connect to, at least one; the room closes them. */
  readonly listenAddresses: () => readonly ListenerOptions['at'][];
  readonly clock: Clock;
  readonly log: Log;
}

const connectionsMax = 1_000;
const leaveMaxMs = 500;
/** A start that takes longer is reported although the store answers. */
const slowAfterMs = 1_000;

export class WaitingRoom {
  readonly #options: WaitingRoomOptions;
  #listener: Listener | undefined;

  constructor(options: WaitingRoomOptions) {
    this.#options = options;
  }

  get port(): number | undefined {
    return this.#listener?.port;
  }

  /** May be called again; one room is enough. */
  open(): void {
    if (this.#listener !== undefined) return;
    const { listenAddresses, identity, hstsMaxAgeS, sendsProxyHeader, clock, log } = this.#options;
    const onFault = (error: unknown): void =>
      log.error('request failed', { failure: describeFailure(error) });
    try {
      const [first, ...others] = listenAddresses();
      this.#listener = new Listener({
        at: first!,
        identity,
        hstsMaxAgeS,
        sendsProxyHeader,
        connectionsMax,
        clock,
        refuse: problemAnswer,
        onFault,
        handle: answerWaiting,
      });
      for (const door of others) if ('fd' in door) this.#listener.serveAlso(door.fd);
    } catch (error) {
      log.warn('cannot listen to report what the server waits for', { failure: describeFailure(error) });
    }
  }

  async close(): Promise<void> {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.#listener = undefined;
    await endsWithin(this.#options.clock, leaveMaxMs, listener.drain());
    listener.cutOff();
  }
}

/**
 * The first step of a server: it makes sure that its store is up. A store that is a separate server may be down for
 * longer than a start should take, and then Terse neither exits, to be restarted again and again, nor stays silent:
 * it listens, reports what it waits for, and continues when the store responds.
 */
interface BeforeServing extends Pick<WaitingRoomOptions, 'listenAddresses'> {
  readonly log: Log;
  /** Whether a stop was requested meanwhile. */
  readonly isGivenUp?: () => boolean;
}

/** Returns the room that visitors wait in; the code that takes over the port closes it. */
export async function untilStoreAnswers(
  config: Config,
  { listenAddresses, log, isGivenUp = () => false }: BeforeServing,
): Promise<WaitingRoom> {
  const clock = systemClock;
  const certificate = await openCertificate(config, clock, log);
  const sendsProxyHeader = proxyProtocolPeersOf(config);
  const { hstsMaxAgeS } = config;
  const identity = certificate?.identity;
  const room = new WaitingRoom({ listenAddresses, identity, hstsMaxAgeS, sendsProxyHeader, clock, log });
  if (config.links === 'sqlite' || config.links === 'memory') return room;
  // An upgrade may have much to import.
  const stopTimer = clock.after(slowAfterMs, () => room.open());
  try {
    const wait = { waitMaxMs: Number.POSITIVE_INFINITY, onDown: () => room.open(), isGivenUp };
    const opening = openStores(config, { clock, random: systemRandom, log, wait }).finally(stopTimer);
    await (await opening).links.close();
  } catch (error) {
    await room.close();
    if (!isGivenUp()) throw error;
  }
  return room;
}

const retryAfterS = 5;
const jsonHeaders = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' };

const alive = answerOf(200, jsonHeaders, JSON.stringify({ status: 'ok' }));
const notReady = answerOf(
  503,
  jsonHeaders,
  JSON.stringify({ status: 'unavailable', parts: { links: 'unavailable' } }),
);

/**
 * Answers before the store is available: liveness says the process runs, readiness says what is missing, and everything
 * else gets 503. No client gets a 404, which a visitor, a crawler or a cache would believe.
 */
function answerWaiting(request: WireRequest): Answer {
  if (request.path === '/health/live') return alive;
  if (request.path === '/health/ready') return notReady;
  return refusalAnswer(
    request,
    new Problem('store_unavailable', {
      detail: 'The server has started and waits for its link store.',
      headers: { 'Retry-After': String(retryAfterS) },
      outcome: 'none',
    }),
  );
}
