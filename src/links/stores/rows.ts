/** The two shapes of a link, record and row of a table, and the way between them. The SQL engines share it. */
import { createHash } from 'node:crypto';
import type { Link, LinkRisk, LinkStatus, RedirectType } from '../link.ts';

export interface LinkRow {
  id: number;
  code: string;
  long_url: string;
  url_hash: number;
  owner: string;
  custom: number;
  status: number;
  redirect_type: number;
  forward_query: number;
  public_stats: number;
  title: string | null;
  tags: string | null;
  created_at: number;
  updated_at: number;
  expires_at: number | null;
  max_clicks: number | null;
  used_clicks: number;
  risk: string | null;
  version: number;
}

/** Position is the number on disk; append only. Migrations and partial indexes name these numbers. */
const statusOnDisk: readonly LinkStatus[] = ['active', 'disabled', 'deleted', 'quarantined', 'blocked'];

export const statusNumber = (status: LinkStatus): number => statusOnDisk.indexOf(status);

/** Nobody's links have the empty owner, so one index serves both kinds. */
export const ownerColumn = (ownerId: string | null): string => ownerId ?? '';

export function linkOf(row: LinkRow): Link {
  return {
    code: row.code,
    longUrl: row.long_url,
    ownerId: row.owner === '' ? null : row.owner,
    origin: row.custom === 1 ? 'custom' : 'generated',
    status: statusOnDisk[row.status] ?? 'disabled',
    redirectType: row.redirect_type as RedirectType,
    forwardQuery: row.forward_query === 1,
    publicStats: row.public_stats === 1,
    title: row.title,
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
    maxClicks: row.max_clicks,
    usedClicks: row.used_clicks,
    risk: row.risk === null ? null : (JSON.parse(row.risk) as LinkRisk),
    version: row.version,
  };
}

export function rowOf(link: Link): Omit<LinkRow, 'id'> {
  return {
    code: link.code,
    long_url: link.longUrl,
    url_hash: urlHash(link.ownerId, link.longUrl),
    owner: ownerColumn(link.ownerId),
    custom: link.origin === 'custom' ? 1 : 0,
    status: statusNumber(link.status),
    redirect_type: link.redirectType,
    forward_query: link.forwardQuery ? 1 : 0,
    public_stats: link.publicStats ? 1 : 0,
    title: link.title,
    tags: link.tags.length === 0 ? null : JSON.stringify(link.tags),
    created_at: link.createdAt,
    updated_at: link.updatedAt,
    expires_at: link.expiresAt,
    max_clicks: link.maxClicks,
    used_clicks: link.usedClicks,
    risk: link.risk === null ? null : JSON.stringify(link.risk),
    version: link.version,
  };
}

/**
 * 52 bits of SHA-256 over owner and URL: an integer key a fifth the size of the average URL. Readers compare
 * the URL itself afterwards, so a collision costs a row read and nothing else.
 */
export function urlHash(ownerId: string | null, longUrl: string): number {
  const digest = createHash('sha256').update(ownerColumn(ownerId)).update('\n').update(longUrl).digest();
  return digest.readUIntBE(0, 6) * 16 + (digest[6]! >>> 4);
}
