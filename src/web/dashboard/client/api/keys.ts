/** The calls about API keys. */
import { request } from './request.ts';
import type { KeyView } from './types.ts';

const path = (id: string): string => `/api/v1/keys/${encodeURIComponent(id)}`;

export interface NewKey extends KeyView {
  /** The key itself: shown now and never again. */
  readonly key: string;
}

interface KeyPage {
  readonly keys: readonly KeyView[];
  readonly nextCursor: string | null;
}

/** All of them: an account has a few pages at the most. */
export async function listKeys(signal: AbortSignal): Promise<readonly KeyView[]> {
  const all: KeyView[] = [];
  let cursor: string | undefined;
  do {
    const page: KeyPage = await request('GET', '/api/v1/keys', { query: { cursor }, signal });
    all.push(...page.keys);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return all;
}

export const createKey = (fields: {
  name: string;
  scopes?: readonly string[];
  expiresAt?: string | null;
}): Promise<NewKey> => request('POST', '/api/v1/keys', { body: fields });

export const rotateKey = (id: string): Promise<NewKey> => request('POST', `${path(id)}/rotate`, { body: {} });

export const revokeKey = (id: string): Promise<void> => request('DELETE', path(id));
