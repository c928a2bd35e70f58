/**
 * Which parts of a data folder belong in a backup. Left out is what is recreated automatically (limits, Safe Browsing
 * lists) and what is on its way elsewhere (the spill).
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RequestError } from '../../cli/command.ts';
import type { Config } from '../../config/config.ts';

export interface Contents {
  /** In the order in which they are copied, before and after the folders. */
  readonly before: readonly string[];
  readonly folders: readonly string[];
  readonly after: readonly string[];
}

export const linksDatabase = 'terse.db';
const statsDatabase = 'stats.db';
const clickFolders = ['clicks', 'kafka'];

/**
 * Counts come first: they say how far a log was counted, and the log, copied later, reaches at least as far. Links come
 * last, so that every click that was saved belongs to a link that was.
 */
export function contentsOf(config: Pick<Config, 'data' | 'links' | 'stats' | 'clicks'>): Contents {
  const isThere = (name: string): boolean => existsSync(join(config.data, name));
  const hasLinks = config.links === 'sqlite';
  if (hasLinks && !isThere(linksDatabase)) {
    throw new RequestError(`there is no Terse installation in ${config.data}`);
  }
  const hasStats = config.stats === 'sqlite' && config.clicks && isThere(statsDatabase);
  const folders = config.clicks ? clickFolders.filter(isThere) : [];
  if (!hasLinks && !hasStats && folders.length === 0) {
    throw new RequestError(
      `nothing is kept in ${config.data}: back up the engines that the settings name with their own tools`,
    );
  }
  return {
    before: hasStats ? [statsDatabase] : [],
    folders,
    after: hasLinks ? [linksDatabase] : [],
  };
}
