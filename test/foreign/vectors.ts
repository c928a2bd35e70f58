/**
 * The requests of llhttp's own tests, from the folder `shared` beside the checkout or the one that TERSE_TEST_SHARED
 * names. They are read where they are and never copied into this repository.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface LlhttpVector {
  /** Short and unique, such as `connection:83`: the file of llhttp's tests and the line. */
  readonly id: string;
  readonly name: string;
  /** `request` is strict; others name a lenient mode of llhttp. */
  readonly type: string;
  readonly bytes: Buffer;
  /** How many complete messages llhttp sees. */
  readonly messages: number;
  /** Its error code. */
  readonly error: number | undefined;
}

interface StoredVector extends Pick<LlhttpVector, 'name' | 'type' | 'messages'> {
  readonly bytes: string;
  readonly error: string | null;
}

const file = 'foreign/llhttp-requests.json';
const folders = [join(import.meta.dir, '../../../shared'), process.env.TERSE_TEST_SHARED];
const path = folders
  .flatMap(folder => (folder === undefined ? [] : [join(folder, file)]))
  .find(each => existsSync(each));

/** Undefined when the vectors are there. */
export const whyNoVectors = path === undefined ? `no ${file} in ../shared or TERSE_TEST_SHARED` : undefined;

/** None when they are missing. */
export function llhttpVectors(): readonly LlhttpVector[] {
  if (path === undefined) return [];
  const { vectors } = JSON.parse(readFileSync(path, 'utf8')) as { vectors: readonly StoredVector[] };
  return vectors.map(({ name, type, bytes, messages, error }) => ({
    id: name.split(' ', 1)[0]!,
    name,
    type,
    bytes: Buffer.from(bytes, 'base64'),
    messages,
    error: error === null ? undefined : Number(error),
  }));
}

/** The vector with a Host in each HTTP/1.1 request, if it has none: proxies and Terse reject it otherwise. */
export const withHost = (text: string): string =>
  /^host *:/im.test(text) ? text : text.replaceAll('HTTP/1.1\r\n', 'HTTP/1.1\r\nHost: h\r\n');
