/** The calls about the blocklist. */
import { request } from './request.ts';

export interface BlockEntry {
  readonly id: string;
  readonly entry: string;
  readonly reason: string | null;
  readonly addedAt: string;
  readonly addedBy: string | null;
}

export interface BlockList {
  readonly name: string;
  readonly state: 'loaded' | 'kept' | 'absent';
  readonly entries: number;
  readonly loadedAt: string | null;
  readonly fault: string | null;
}

export interface Blocklist {
  readonly lists: readonly BlockList[];
  readonly entries: readonly BlockEntry[];
  readonly nextCursor: string | null;
}

const shownMax = 1_000;

export const readBlocklist = (signal: AbortSignal): Promise<Blocklist> =>
  request('GET', '/api/v1/blocklist', { query: { limit: shownMax }, signal });

export const addBlockEntry = (entry: string, reason: string): Promise<BlockEntry> =>
  request('POST', '/api/v1/blocklist', { body: { entry, ...(reason !== '' && { reason }) } });

export const removeBlockEntry = (id: string): Promise<void> =>
  request('DELETE', `/api/v1/blocklist/${encodeURIComponent(id)}`);
