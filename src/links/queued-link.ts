/**
 * A new link on its way to the store: which ones may go by the queue, how they are written down there and in the
 * pending records, and how they are inserted in the end. The text is versioned and read strictly, because whoever reads
 * it may be older or newer than whoever wrote it, and a broken record must never become a link.
 */
import {
  codePattern,
  type Link,
  type LinkRisk,
  linkOrigins,
  linkStatuses,
  type RedirectType,
  redirectTypes,
} from './link.ts';
import type { InsertItem } from './store.ts';

const formatVersion = 1;

/**
 * Whether an insert leaves nothing to find out: its code was leased, so nobody can have it, and nothing else has to be
 * found, remembered or kept together with it.
 */
export function isQueueable({ leased, claim, existing, idempotency, trace }: InsertItem): boolean {
  return (
    leased &&
    claim === undefined &&
    existing === 'ignored' &&
    idempotency === undefined &&
    trace === undefined
  );
}

/** The insert that a queued link was, and will be. */
export function queuedItem(link: Link): InsertItem {
  return { link, leased: true, claim: undefined, existing: 'ignored', idempotency: undefined };
}

/** Whether what the store has under the code is this link, whatever was changed about it since. */
export function isSameCreation(stored: Link, queued: Link): boolean {
  return stored.origin === 'generated' && stored.createdAt === queued.createdAt;
}

export function encodeQueuedLink(link: Link): string {
  return JSON.stringify({ v: formatVersion, link });
}

/** Throws an error that says what is wrong. */
export function decodeQueuedLink(text: string): Link {
  const record = objectOf(parse(text), 'the message');
  if (record.v !== formatVersion) throw new Error(`the format ${JSON.stringify(record.v)} is not known`);
  const given = objectOf(record.link, 'the link');
  const entries = Object.entries(fields).map(([name, isFit]) => {
    const value = given[name];
    if (!isFit(value)) throw new Error(`the link's ${name} is not fit to be stored`);
    return [name, value];
  });
  // The loop above went over every field, each of which is of its type.
  return Object.fromEntries(entries) as unknown as Link;
}

/** Those that can be read; what nobody can read is the drain's to bury. */
export const readableLinks = (texts: readonly string[]): Link[] =>
  texts.flatMap(text => {
    try {
      return [decodeQueuedLink(text)];
    } catch {
      return [];
    }
  });

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('the message is not JSON');
  }
}

function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${what} is not an object`);
  }
  return value as Record<string, unknown>;
}

type Check = (value: unknown) => boolean;

const isText: Check = value => typeof value === 'string';
const isSwitch: Check = value => typeof value === 'boolean';
const isCount: Check = value => Number.isSafeInteger(value) && (value as number) >= 0;
const isTime = isCount;
const isTexts: Check = value => Array.isArray(value) && value.every(isText);
const orNull =
  (check: Check): Check =>
  value =>
    value === null || check(value);
const isRisk: Check = value => {
  const { score, reasons } = (value ?? {}) as Partial<LinkRisk>;
  return isCount(score) && isTexts(reasons);
};

/** One row per field; the type makes a field without a row an error. */
const fields: Readonly<Record<keyof Link, Check>> = {
  code: value => isText(value) && codePattern.test(value as string),
  longUrl: value => isText(value) && value !== '',
  ownerId: orNull(isText),
  origin: value => linkOrigins.includes(value as Link['origin']),
  status: value => linkStatuses.includes(value as Link['status']),
  redirectType: value => redirectTypes.includes(value as RedirectType),
  forwardQuery: isSwitch,
  publicStats: isSwitch,
  title: orNull(isText),
  tags: isTexts,
  createdAt: isTime,
  updatedAt: isTime,
  expiresAt: orNull(isTime),
  maxClicks: orNull(isCount),
  usedClicks: isCount,
  risk: orNull(isRisk),
  version: isCount,
};
