/** Links that differ in nothing but their codes and the length of their URLs, for whoever wants to know their size. */
import { encodeBase62 } from '../../src/codes/base62.ts';
import type { Link } from '../../src/links/link.ts';

const codeLength = 7;
const codes = 62 ** codeLength;
/** Prime, so that every number below `codes` comes once. */
const step = 829_378_151;

export const codeAt = (index: number): string => encodeBase62(index, codeLength);

/** The numbers of codes in an order that looks like chance, as new links have it. */
export const scattered = (index: number): number => Number((BigInt(index) * BigInt(step)) % BigInt(codes));

export function linkOf(code: string, urlBytes: number): Link {
  return {
    code,
    // Made byte by byte: text that was put together would share its parts with other texts.
    longUrl: Buffer.from(`https://example.com/${code}/`.padEnd(urlBytes, 'x')).toString('latin1'),
    ownerId: 'account-0123456789',
    origin: 'generated',
    status: 'active',
    redirectType: 302,
    forwardQuery: false,
    publicStats: false,
    title: null,
    tags: [],
    createdAt: Date.now(),
    updatedAt: Date.now(),
    expiresAt: null,
    maxClicks: null,
    usedClicks: 0,
    risk: null,
    version: 1,
  };
}
