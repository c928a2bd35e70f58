/**
 * A steady load of visitors and owners on several processes: some follow links that are warm in every process, some
 * links that were never followed, some create links. Every outcome is kept with its time, to compute the cost of a
 * fault afterwards.
 */
import { callerOf } from './client.ts';

export type VisitKind = 'warm' | 'cold' | 'create';

export interface Outcome {
  readonly kind: VisitKind;
  /** Milliseconds by `performance.now`. */
  readonly at: number;
  readonly ok: boolean;
  readonly took: number;
  /** The status, or the failure of the connection. */
  readonly answer: string;
}

export interface MadeLink {
  readonly code: string;
  readonly longUrl: string;
}

export interface SteadyVisitorsOptions {
  /** Addresses of the running processes; a load balancer knows which ones are down. */
  readonly servers: () => readonly string[];
  readonly warmCount: number;
  readonly visitsPerSecond: number;
  readonly coldPerSecond: number;
  readonly createsPerSecond: number;
}

const answerMaxMs = 15_000;
const coldAtFirst = 500;

export class SteadyVisitors {
  readonly #options: SteadyVisitorsOptions;
  readonly #warm: MadeLink[] = [];
  readonly #cold: MadeLink[] = [];
  readonly #timers: ReturnType<typeof setInterval>[] = [];
  readonly #open = new Set<Promise<void>>();
  readonly outcomes: Outcome[] = [];
  /** Every acknowledged link. */
  readonly made: MadeLink[] = [];
  #turn = 0;

  constructor(options: SteadyVisitorsOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { warmCount, visitsPerSecond, coldPerSecond, createsPerSecond } = this.#options;
    this.#warm.push(...(await this.#bulk(warmCount)));
    this.#cold.push(...(await this.#bulk(coldAtFirst)));
    for (const server of this.#options.servers()) {
      for (const link of this.#warm) await this.#visit('warm', server, link);
    }
    this.outcomes.length = 0;
    this.#every(visitsPerSecond, server =>
      this.#visit('warm', server, this.#warm[this.#turn % this.#warm.length]!),
    );
    this.#every(coldPerSecond, async server => {
      const link = this.#cold.shift();
      if (link !== undefined) await this.#visit('cold', server, link);
    });
    this.#every(createsPerSecond, server => this.#create(server));
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all(this.#open);
  }

  /** The outcomes between two times. */
  between(from: number, to: number, kind: VisitKind): Outcome[] {
    return this.outcomes.filter(outcome => outcome.kind === kind && outcome.at >= from && outcome.at < to);
  }

  #every(perSecond: number, act: (server: string) => Promise<void>): void {
    const timer = setInterval(() => {
      const servers = this.#options.servers();
      this.#turn += 1;
      const acting = act(servers[this.#turn % servers.length]!);
      this.#open.add(acting);
      acting.finally(() => this.#open.delete(acting));
    }, 1_000 / perSecond);
    this.#timers.push(timer);
  }

  async #bulk(count: number): Promise<MadeLink[]> {
    const [server] = this.#options.servers();
    const links = Array.from({ length: count }, (_, n) => ({ longUrl: `https://example.com/${n}` }));
    const { body } = await callerOf(server!)('POST', '/api/v1/links/bulk', { body: { links } });
    const made = body.results.map(({ link }: { link: { shortCode: string; longUrl: string } }) => ({
      code: link.shortCode,
      longUrl: link.longUrl,
    }));
    this.made.push(...made);
    return made;
  }

  async #visit(kind: 'warm' | 'cold', server: string, { code, longUrl }: MadeLink): Promise<void> {
    await this.#note(kind, async () => {
      const response = await fetch(`${server}/${code}`, {
        redirect: 'manual',
        signal: AbortSignal.timeout(answerMaxMs),
      });
      await response.arrayBuffer();
      const isRight = response.status === 302 && response.headers.get('location') === longUrl;
      return { ok: isRight, answer: String(response.status) };
    });
  }

  async #create(server: string): Promise<void> {
    await this.#note('create', async () => {
      const longUrl = `https://example.com/made/${this.made.length}`;
      const { status, body } = await callerOf(server)('POST', '/api/v1/links', { body: { longUrl } });
      if (status === 201) {
        const link = { code: body.shortCode, longUrl };
        this.made.push(link);
        this.#cold.push(link);
      }
      return { ok: status === 201, answer: String(status) };
    });
  }

  async #note(kind: VisitKind, act: () => Promise<{ ok: boolean; answer: string }>): Promise<void> {
    const at = performance.now();
    const { ok, answer } = await act().catch(error => ({ ok: false, answer: (error as Error).name }));
    this.outcomes.push({ kind, at, ok, took: performance.now() - at, answer });
  }
}
