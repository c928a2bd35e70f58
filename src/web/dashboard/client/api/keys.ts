/** The calls about API keys. */
import { request } from './request.ts';
import type { KeyView } from './types.ts';

const path = (id: string): string => `/api/v1/keys/${encodeURIComponent(id)}`;

export interface NewKey extends KeyView {
  /** The key itself: shown now and never again. */
  readonly key: string;
}

export const listKeys = (signal: AbortSignal): Promise<readonly KeyView[]> =>
  request<{ keys: readonly KeyView[] }>('GET', '/api/v1/keys', { signal }).then(({ keys }) => keys);

export const createKey = (fields: {
  name: string;
  scopes?: readonly string[];
  expiresAt?: string | null;
}): Promise<NewKey> => request('POST', '/api/v1/keys', { body: fields });

export const rotateKey = (id: string): Promise<NewKey> => request('POST', `${path(id)}/rotate`, { body: {} });

export const revokeKey = (id: string): Promise<void> => request('DELETE', path(id));
