/**
 * A bucket of S3-compatible storage. Bun's client signs, and the calls are plain fetches: they can be given up when
 * their time is over. Every call has a deadline and few tries, so that storage that is down costs its caller a bounded
 * time. Invariant: no message holds an address that was signed, because that is as good as a key.
 */
import { backoffMs } from '../../base/backoff.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { withinDeadline, withSignal } from '../../base/deadline.ts';
import type { S3Address, S3Keys } from './address.ts';

export interface S3Options {
  readonly address: S3Address;
  readonly keys: S3Keys;
  readonly clock: Clock;
  /** For one try of one call. */
  readonly deadlineMs?: number;
  /** Keys asked for at once when listing; the storage gives 1,000 at most. */
  readonly pageKeys?: number;
}

/** It cannot be reached, or fails for now: what was asked may work later. */
export class S3Unavailable extends Error {
  override readonly name = 'S3Unavailable';
}

const deadlineMsDefault = 60_000;
const pageKeysDefault = 1_000;
const pagesMax = 100;
const triesMax = 3;
const pause = { minMs: 250, maxMs: 4_000 };
/** How long a signature is good for: longer than any deadline. */
const signedForS = 900;

export class S3 {
  readonly #options: Required<S3Options>;
  readonly #client: Bun.S3Client;

  constructor(options: S3Options) {
    this.#options = { deadlineMs: deadlineMsDefault, pageKeys: pageKeysDefault, ...options };
    const { bucket, region, endpoint } = options.address;
    this.#client = new Bun.S3Client({ ...options.keys, bucket, region, endpoint });
  }

  async put(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#tried(() => this.#fetch('PUT', key, bytes));
  }

  /** Undefined when there is no such object. */
  get(key: string): Promise<Uint8Array | undefined> {
    return this.#tried(() => this.#fetch('GET', key));
  }

  /** All keys that begin with `start`, sorted. */
  async list(start: string): Promise<string[]> {
    const { prefix } = this.#options.address;
    const keys: string[] = [];
    for (let page = 0; page < pagesMax; page += 1) {
      const startAfter = keys.at(-1);
      const answer = await this.#tried(() => this.#listPage(start, startAfter));
      keys.push(
        ...(answer.contents ?? []).map(({ key }) => (prefix === '' ? key : key.slice(prefix.length + 1))),
      );
      if (answer.isTruncated !== true) return keys.sort();
    }
    throw new Error(`the bucket ${this.#options.address.bucket} has more objects than can be listed`);
  }

  async #listPage(start: string, after: string | undefined): Promise<Bun.S3ListObjectsResponse> {
    const { clock, deadlineMs, pageKeys } = this.#options;
    const asked = this.#client
      .list({
        prefix: this.#whole(start),
        maxKeys: pageKeys,
        ...(after !== undefined && { startAfter: this.#whole(after) }),
      })
      .catch((error: Error & { code?: string }) => {
        throw refusalOf(error.code ?? error.name);
      });
    const late = () => new S3Unavailable('the storage did not answer in time');
    return withinDeadline(clock, deadlineMs, asked, late);
  }

  async #fetch(
    method: 'GET' | 'PUT',
    key: string,
    body?: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array | undefined> {
    const { clock, deadlineMs } = this.#options;
    const signed = this.#client.presign(this.#whole(key), { method, expiresIn: signedForS });
    return withSignal(clock, deadlineMs, async signal => {
      try {
        const answer = await fetch(signed, { method, signal, ...(body && { body }) });
        if (answer.ok) return await answer.bytes();
        const code = /<Code>(\w+)<\/Code>/.exec(await answer.text())?.[1] ?? `status ${answer.status}`;
        if (answer.status === 404 && code !== 'NoSuchBucket') return undefined;
        throw answer.status >= 500 || answer.status === 429 ? downBecause(code) : refusalOf(code);
      } catch (error) {
        if (error instanceof S3Unavailable || error instanceof S3Refusal) throw error;
        throw downBecause(signal.aborted ? 'it did not answer in time' : codeOf(error));
      }
    });
  }

  /** A refusal stays one however often it is asked for; only what may pass is tried again. */
  async #tried<Result>(call: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call();
      } catch (error) {
        if (tries === triesMax || !(error instanceof S3Unavailable)) throw error;
        await sleep(this.#options.clock, backoffMs(tries, pause));
      }
    }
  }

  #whole(key: string): string {
    const { prefix } = this.#options.address;
    return prefix === '' ? key : `${prefix}/${key}`;
  }
}

/** The storage understood and said no. */
export class S3Refusal extends Error {
  override readonly name = 'S3Refusal';
}

const downBecause = (reason: string): S3Unavailable => new S3Unavailable(`the storage is down: ${reason}`);

/** Codes that the storage, or the client before it, gives for what may pass. */
const transient =
  /^(?:ConnectionRefused|ConnectionClosed|Timeout|InternalError|SlowDown|ServiceUnavailable|UnknownError)$/;

function refusalOf(code: string): S3Unavailable | S3Refusal {
  return transient.test(code) ? downBecause(code) : new S3Refusal(`the storage refused: ${code}`);
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return String(code ?? name ?? 'unknown');
}
