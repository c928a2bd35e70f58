/**
 * Clicks under faults, with the real click path from the recorder to the counts. Counts must be exact: only clicks that
 * a process recorded just before it died may be missing.
 */
import { producerOf } from '../../src/clicks/log.ts';
import { grainMs, type LedgerRow } from '../../src/clicks/warehouse.ts';
import {
  adminKey,
  type ClickStream,
  CountingInstallation,
  dataFolder,
  type Producer,
  processCount,
} from './counting-installation.ts';
import type { Fault } from './faults.ts';
import { Violation } from './history.ts';
import { type Kernel, Party } from './kernel.ts';
import type { SimProcess, SimResponse } from './process.ts';
import type { RunFigures } from './shared-engines.ts';

const startedMs = 1_500;
const faultsUntilMs = 25_000;
export const countingFaultWindow = { processes: processCount, fromMs: startedMs, toMs: faultsUntilMs };
/** Long enough to detect a dead process, and to store and count the clicks that it left. */
const settleMs = 60_000;
/** Small, so that maintenance takes several steps. */
const maintainedRows = 200;

export class CountingRun {
  readonly #kernel: Kernel;
  readonly #installation: CountingInstallation;
  readonly #codes: string[] = [];
  /** How often clients were redirected by each code. */
  readonly #followed = new Map<string, number>();
  #operations = 0;
  #failed = 0;
  #redirects = 0;

  constructor(kernel: Kernel, stream: ClickStream) {
    this.#kernel = kernel;
    this.#installation = new CountingInstallation(kernel, stream);
  }

  async run(faults: readonly Fault[]): Promise<RunFigures> {
    const kernel = this.#kernel;
    const installation = this.#installation;
    const uninstall = installation.disk.install();
    try {
      installation.boot();
      for (const fault of faults) {
        kernel.outside.after(fault.atMs, () => {
          kernel.note(`fault: ${fault.kind} ${fault.process}`);
          installation.begin(fault);
        });
        kernel.outside.after(fault.atMs + fault.forMs, () => installation.end(fault));
      }
      await kernel.runUntil(kernel.startMs + startedMs);
      let failure: unknown;
      for (let index = 0; index < 3; index += 1) {
        const client = new Party(kernel, `client-${index}`);
        client.after(kernel.between(0, 100), () => {
          this.#client(client).catch(error => {
            failure ??= error;
          });
        });
      }
      const endMs = kernel.startMs + faultsUntilMs + 3_000;
      while (kernel.nowMs < endMs && failure === undefined) await kernel.runUntil(kernel.nowMs + 250);
      if (failure !== undefined) throw failure;
      installation.heal();
      await kernel.runUntil(kernel.nowMs + settleMs);
      if (installation.failedStop !== undefined) throw new Violation(installation.failedStop);
      if (faults.length === 0 && this.#failed > 0)
        throw new Violation(`${this.#failed} of ${this.#operations} requests failed without any fault`);
      await this.#checkCreates();
      await this.#checkCounts();
    } finally {
      uninstall();
    }
    return { operations: this.#operations, failed: this.#failed, redirects: this.#redirects };
  }

  async #client(client: Party): Promise<void> {
    const kernel = this.#kernel;
    const endMs = kernel.startMs + faultsUntilMs;
    while (kernel.nowMs < endMs) {
      const process = kernel.pick(this.#installation.processes);
      if (this.#codes.length < 5 || kernel.chance(0.03)) {
        const body = { longUrl: `https://d${this.#operations}.example/` };
        const response = await this.#send(client, process, 'POST', '/api/v1/links', body);
        if (response?.status === 201) this.#codes.push(JSON.parse(response.body).shortCode);
      } else {
        // Most visits go to few links.
        const code = this.#codes[Math.floor(this.#codes.length * kernel.random.float() ** 3)]!;
        const response = await this.#send(client, process, 'GET', `/${code}`);
        this.#redirects += 1;
        if (response?.status === 302) this.#followed.set(code, (this.#followed.get(code) ?? 0) + 1);
      }
      await new Promise<void>(resolve => client.after(kernel.between(2, 60), resolve));
    }
  }

  async #send(
    client: Party,
    process: SimProcess,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<SimResponse | undefined> {
    this.#operations += 1;
    const request = { method, path, ...(body !== undefined && { body, key: adminKey }) };
    const response = await Promise.race([
      process.request(client, request),
      new Promise<undefined>(resolve => client.after(5_000, () => resolve(undefined))),
    ]);
    if (response === undefined || response.status >= 500) this.#failed += 1;
    if (response?.status === 404 && method === 'GET')
      throw new Violation(`${path} was acknowledged and answered 404`);
    if (response?.status === 500) throw new Violation(`${method} ${path} answered 500: ${response.body}`);
    return response;
  }

  /** Checks that every process works again. */
  async #checkCreates(): Promise<void> {
    const kernel = this.#kernel;
    const client = new Party(kernel, 'last-client');
    for (const process of this.#installation.processes) {
      const body = { longUrl: `https://last-${process.party.name}.example/` };
      let status: number | undefined;
      client.after(0, async () => {
        const response = await process.request(client, {
          method: 'POST',
          path: '/api/v1/links',
          key: adminKey,
          body,
        });
        status = response?.status;
      });
      await kernel.runUntil(kernel.nowMs + 5_000);
      if (status !== 201)
        throw new Violation(`${process.party.name} answers ${status} to a create after healing`);
    }
  }

  async #checkCounts(): Promise<void> {
    if (this.#codes.length === 0) throw new Violation('no link was made in the whole run');
    for (const [code, followed] of this.#followed) {
      const noted = this.#installation.noted.get(code) ?? 0;
      if (noted < followed)
        throw new Violation(`${code} redirected clients ${followed} times and noted ${noted} clicks`);
    }
    const { owners } = this.#installation;
    const { real } = this.#installation.warehouse;
    const ledger = await real.ledger(0, Number.MAX_SAFE_INTEGER);
    let counted = 0;
    for (const [code, noted] of this.#installation.noted) {
      const { clicks, bots } = await real.total({ kind: 'link', code, ownerId: owners.get(code)! });
      counted += clicks + bots;
      if (clicks + bots > noted)
        throw new Violation(`${code} was followed ${noted} times and has ${clicks + bots} clicks`);
    }
    if (counted === 0) throw new Violation('no click was counted in the whole run');
    // Part of the trace by which equal runs are compared.
    this.#kernel.note(`counted ${counted} clicks of ${this.#installation.noted.size} links`);
    const inLedger = ledger.reduce((sum, row) => sum + row.counted, 0);
    if (inLedger !== counted) throw new Violation(`links have ${counted} clicks, the ledger ${inLedger}`);
    await this.#checkAnswers('at the end');
    for (const [when, singlesFrom] of [
      ['after merging', 0],
      ['without single clicks', Number.MAX_SAFE_INTEGER],
    ] as const) {
      const now = this.#kernel.nowMs + 30 * grainMs.day;
      const plan = { now, singlesFrom, minutesFrom: singlesFrom, rowsMax: maintainedRows };
      while ((await real.maintain(plan)) > 0);
      await this.#checkAnswers(when);
    }
    for (const producer of this.#installation.producers.values()) this.#checkProducer(producer, ledger);
    const spilled = this.#installation.disk.namesBelow(dataFolder).filter(name => name.endsWith('.spill'));
    if (spilled.length > 0) throw new Violation(`clicks are still spilled: ${spilled.join(', ')}`);
  }

  /** Checks answers, too, because they are not computed from the same rows as totals. */
  async #checkAnswers(when: string): Promise<void> {
    const { noted, owners } = this.#installation;
    const { real } = this.#installation.warehouse;
    const { startMs, nowMs } = this.#kernel;
    const from = Math.floor(startMs / grainMs.day) * grainMs.day - grainMs.day;
    const range = { from, to: nowMs - (nowMs % grainMs.day) + 2 * grainMs.day };
    for (const code of noted.keys()) {
      const scope = { kind: 'link', code, ownerId: owners.get(code)! } as const;
      const total = await real.total(scope);
      const breakdowns = [{ dimension: 'country', offset: 0, limit: 1_000, search: '' }] as const;
      const asked = {
        scopes: [scope],
        ...range,
        starts: [from, from + 2 * grainMs.day],
        filters: [],
        breakdowns,
      };
      const answer = await real.answer(asked);
      const listed = answer.breakdowns[0]!.values.reduce((sum, { clicks }) => sum + clicks, 0);
      const inSeries = answer.series.reduce((sum, { clicks, bots }) => sum + clicks + bots, 0);
      const { clicks, bots } = answer.counts;
      if (clicks !== total.clicks || bots !== total.bots || listed !== clicks || inSeries !== clicks + bots)
        throw new Violation(
          `${when} ${code} has ${total.clicks} clicks and ${total.bots} of bots in all, ${clicks} and ${bots} by the day, ${inSeries} in a series, ${listed} in a list`,
        );
    }
  }

  #checkProducer(producer: Producer, ledger: readonly LedgerRow[]): void {
    const { name, notedMs, diedMs } = producer;
    const rows = ledger.filter(row => producerOf(row.producer) === name);
    const counted = rows.reduce((sum, row) => sum + row.counted, 0);
    const lost = notedMs.length - counted;
    if (lost < 0) throw new Violation(`${name} noted ${notedMs.length} clicks, and ${counted} were counted`);
    const mayBeLost = this.#installation.mayBeLost(producer);
    if (lost > mayBeLost)
      throw new Violation(
        `${name} noted ${notedMs.length} clicks and lost ${lost}, ${diedMs === undefined ? 'though it never died' : `though only ${mayBeLost} were recent when it died`}`,
      );
  }
}
