/**
 * Real S3-compatible storage for tests: one that a whole test process shares, with a prefix per caller, and exclusive
 * ones that a test can pause and kill.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { S3Keys } from '../../../src/engines/s3/address.ts';
import { type Engine, EngineProcess, startEngine } from './engine-process.ts';
import { thingOf } from './found.ts';
import { findS3, type S3Program } from './s3-programs.ts';
import { type Revivable, shareEngine } from './shared-engine.ts';

export interface SharedS3 extends Revivable {
  readonly keys: S3Keys;
  /** The address of an unused prefix. */
  freshAddress(): string;
}

export interface S3Engine extends Engine, SharedS3 {}

/** The only keys that the server of tests knows. */
const testKeys: S3Keys = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
const bucket = 'terse';

/** One per test process, or what TERSE_TEST_S3 names with the keys of AWS. No test may pause or stop it. */
export const sharedS3 = shareEngine(async (): Promise<SharedS3> => {
  const { TERSE_TEST_S3: given, AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = process.env;
  if (given === undefined) return startS3();
  const keys = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY };
  return { keys, freshAddress: () => freshPrefix(given) };
});

/** An exclusive one, which the caller stops. */
export function startS3(): Promise<S3Engine> {
  const program = thingOf(findS3());
  return startEngine('s3', (folder, port) => new S3Process(folder, port, program));
}

class S3Process extends EngineProcess implements S3Engine {
  readonly keys = testKeys;
  readonly #endpoint: string;

  constructor(folder: string, port: number, { command }: S3Program) {
    const endpoint = `http://127.0.0.1:${port}`;
    const data = join(folder, 'data');
    mkdirSync(data, { recursive: true });
    super(folder, {
      name: 'the S3 server',
      command: [
        ...command,
        ...['--address', '127.0.0.1', '--port', String(port), '--directory', data],
        ...['--silent', '--no-vhost-buckets', '--configure-bucket', bucket],
      ],
      stopSignal: 'SIGTERM',
      isReady: async () => (await (await fetch(`${endpoint}/${bucket}`)).text()).includes(bucket),
    });
    this.#endpoint = endpoint;
  }

  freshAddress(): string {
    return freshPrefix(`s3://${bucket}?endpoint=${this.#endpoint}`);
  }
}

function freshPrefix(address: string): string {
  const fresh = new URL(address);
  fresh.pathname = `/test-${crypto.randomUUID()}`;
  return fresh.href;
}
