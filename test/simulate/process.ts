/** A simulated Terse process: the real composition over simulated engines, with requests passed to it directly. */
import { startTerse } from '../../src/compose.ts';
import { type Config, loadConfig } from '../../src/config/config.ts';
import type { Drivers } from '../../src/drivers.ts';
import type { HttpServer } from '../../src/http/server.ts';
import type { Answer } from '../../src/http/wire/answer.ts';
import { Fields } from '../../src/http/wire/fields.ts';
import type { ListenerOptions } from '../../src/http/wire/listener.ts';
import { WireRequest } from '../../src/http/wire/wire-request.ts';
import type { Terse } from '../../src/process/serve.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { type Kernel, Party } from './kernel.ts';

/** The drivers for each start of a process. */
export type DriversFor = (process: SimProcess) => Partial<Drivers>;

export interface SimResponse {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

export interface SimRequest {
  readonly method: string;
  readonly path: string;
  readonly key?: string;
  readonly body?: unknown;
  readonly address?: string;
  readonly idempotencyKey?: string;
}

const startAgainMs = 1_000;
/** The time after which an orchestrator would kill it. */
const stopMaxMs = 30_000;
const encoder = new TextEncoder();
/** Other agents do not use up the clicks of a link with a limit. */
const browser =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36';

export class SimProcess {
  readonly party: Party;
  readonly config: Config;
  readonly #driversFor: DriversFor;
  #handle: ListenerOptions['handle'] | undefined;
  #terse: Terse | undefined;
  #inFlight = 0;
  /** The life in which it was last started. */
  #bootedLife = -1;
  #isStopping = false;
  #bootsWhenStopped = false;
  /** The number of logged errors, for the trace. */
  errors = 0;

  constructor(kernel: Kernel, name: string, env: Readonly<Record<string, string>>, driversFor: DriversFor) {
    this.party = new Party(kernel, name);
    this.#driversFor = driversFor;
    this.config = loadConfig({
      argv: [],
      env: { PORT: '8080', TERSE_BASE_URL: 'http://sim.test', TERSE_LIMITS: 'off', ...env },
      readFile: path => {
        throw new Error(`unexpected read of ${path}`);
      },
    });
  }

  get isServing(): boolean {
    return this.#handle !== undefined && this.party.state !== 'down';
  }

  /** Starts, and retries like a supervisor if an engine is down. */
  boot(): void {
    const { party } = this;
    if (this.#isStopping) {
      this.#bootsWhenStopped = true;
      return;
    }
    if (party.state === 'down') party.recover();
    const life = party.life;
    if (this.#bootedLife === life) return;
    this.#bootedLife = life;
    party.after(0, () => {
      this.#start().then(
        terse => {
          if (party.life === life) this.#terse = terse;
        },
        error => {
          if (party.life !== life) return;
          party.kernel.note(`${party.name} cannot start: ${messageOf(error)}`);
          this.crash();
          const failedLife = party.life;
          party.kernel.outside.after(startAgainMs, () => {
            if (party.life === failedLife) this.boot();
          });
        },
      );
    });
  }

  crash(): void {
    this.#handle = undefined;
    this.#terse = undefined;
    this.#inFlight = 0;
    this.#isStopping = false;
    this.#bootsWhenStopped = false;
    this.party.crash();
  }

  /** Stops gracefully, as on SIGTERM, and then ends; `onStopped` gets what failed, or undefined. */
  stop(onStopped: (failure: string | undefined) => void): void {
    const { party } = this;
    const terse = this.#terse;
    // A starting process does not handle signals yet.
    if (terse === undefined) return;
    this.#isStopping = true;
    this.#handle = undefined;
    this.#terse = undefined;
    const life = party.life;
    const end = (failure: string | undefined): void => {
      if (party.life !== life) return;
      const bootsAgain = this.#bootsWhenStopped;
      this.crash();
      onStopped(failure);
      if (bootsAgain) party.kernel.outside.after(0, () => this.boot());
    };
    // Timed by the process itself, because a paused process makes no progress.
    const watch = (leftMs: number): void => {
      party.after(1_000, () => {
        if (party.life !== life) return;
        if (leftMs > 0) watch(leftMs - 1_000);
        else end(`${party.name} did not stop within ${stopMaxMs / 1_000} s`);
      });
    };
    watch(stopMaxMs);
    terse.stop().then(
      () => end(undefined),
      error => end(`${party.name} failed to stop: ${messageOf(error)}`),
    );
  }

  /** Undefined when there is no answer: the connection broke, or was refused. */
  async request(from: Party, request: SimRequest): Promise<SimResponse | undefined> {
    const { party } = this;
    const { kernel } = party;
    const life = party.life;
    return new Promise(resolve => {
      let isOver = false;
      const settle = (response: SimResponse | undefined): void => {
        isOver = true;
        resolve(response);
      };
      const answer = (response: SimResponse | undefined): void =>
        void from.after(0.1, () => settle(response));
      if (!this.isServing) return answer(undefined);
      // The connection breaks when the process dies.
      const watch = (): void => {
        from.after(50, () => {
          if (isOver) return;
          if (party.life === life) watch();
          else settle(undefined);
        });
      };
      watch();
      party.after(0.1, () => {
        const handle = this.#handle;
        if (handle === undefined) return kernel.outside.after(0, () => answer(undefined));
        this.#inFlight += 1;
        Promise.resolve()
          .then(() => handle(wireRequestOf(request)))
          .then(readAnswer)
          .catch((error): SimResponse => {
            kernel.note(`${party.name} failed: ${messageOf(error)}`);
            return { status: 500, location: undefined, body: messageOf(error) };
          })
          .then(response => {
            if (party.life !== life) return;
            this.#inFlight -= 1;
            answer(response);
          });
      });
    });
  }

  /** Requests in progress are finished first. */
  async #drain(): Promise<void> {
    while (this.#inFlight > 0) await new Promise<void>(resolve => this.party.after(10, resolve));
  }

  async #start(): Promise<Terse> {
    const clock = this.party.clock();
    const log = createLog({
      level: 'error',
      clock,
      write: text => {
        this.errors += 1;
        this.party.kernel.note(`${this.party.name} logs ${text.slice(0, 300).trimEnd()}`);
      },
    });
    return startTerse(this.config, log, {
      clock,
      drivers: {
        random: this.party.kernel.random,
        waitClock: clock,
        listen: options => {
          this.#handle = options.handle;
          return { ...serverWithoutSocket, drain: () => this.#drain() } as unknown as HttpServer;
        },
        ...this.#driversFor(this),
      },
    });
  }
}

const serverWithoutSocket = {
  port: 8080,
  connections: 0,
  inFlight: 0,
  bodiesGivenUp: 0,
  counts: {},
  cutOff() {},
  renew() {},
};

function wireRequestOf(request: SimRequest): WireRequest {
  const { method, path, key, body, idempotencyKey, address = '192.0.2.1' } = request;
  const [target = path, query = ''] = path.split('?');
  const bytes = body === undefined ? undefined : encoder.encode(JSON.stringify(body));
  const headers: [string, string][] = [
    ['host', 'sim.test'],
    ['user-agent', browser],
  ];
  if (key !== undefined) headers.push(['authorization', `Bearer ${key}`]);
  if (idempotencyKey !== undefined) headers.push(['idempotency-key', idempotencyKey]);
  if (bytes !== undefined)
    headers.push(['content-type', 'application/json'], ['content-length', String(bytes.length)]);
  return new WireRequest(
    { method, path: target, query, isOldVersion: false },
    new Fields(
      headers.map(([name]) => name),
      headers.map(([, value]) => value),
    ),
    { address },
    bytes,
  );
}

async function readAnswer(answer: Answer | Response): Promise<SimResponse> {
  if (answer instanceof Response) {
    const location = answer.headers.get('location') ?? undefined;
    return { status: answer.status, location, body: await answer.text() };
  }
  const location = /^Location: (.*)\r$/m.exec(answer.head)?.[1];
  return { status: answer.status, location, body: answer.body };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
