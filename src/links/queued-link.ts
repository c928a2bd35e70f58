/**
 * A new link on its way to the store: how it is encoded in the queue and in the pending records, and how it is finally
 * inserted. The text is versioned and parsed strictly, because the reading
 * process may be older or newer than the writing one, and a broken record must never become a link.
 */
import { type FieldKind, fieldRows, type LinkField } from './fields.ts';
import { codePattern, type Link, type LinkRisk } from './link.ts';
import type { InsertItem } from './store.ts';

const formatVersion = 1;

/** The insert that a queued link was, and will be. */
export function queuedItem(link: Link): InsertItem {
  return { link, leased: true, claim: undefined, existing: 'ignored', idempotency: undefined };
}

/** Whether the store's link under the code is this one, whatever was changed about it since. */
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
  const entries = fieldRows.map(([name, field]) => {
    const value = given[name] === undefined && field.since > 1 ? field.default : given[name];
    if (!isFit(name, field, value)) throw new Error(`the link's ${name} is not fit to be stored`);
    return [name, value];
  });
  // The loop above checked every field, so each has its type.
  return Object.fromEntries(entries) as unknown as Link;
}

/** Those that can be parsed; the drain dead-letters the others. */
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
const isTexts: Check = value => Array.isArray(value) && value.every(isText);
const isCount: Check = value => Number.isSafeInteger(value) && (value as number) >= 0;
const isRisk: Check = value => {
  const { score, reasons } = (value ?? {}) as Partial<LinkRisk>;
  return isCount(score) && isTexts(reasons);
};
const checks: Readonly<Record<Exclude<FieldKind, 'choice'>, Check>> = {
  text: isText,
  flag: value => typeof value === 'boolean',
  count: isCount,
  time: isCount,
  texts: isTexts,
  risk: isRisk,
};

function isFit(name: string, { kind, isNullable, choices }: LinkField, value: unknown): boolean {
  if (value === null) return isNullable;
  if (name === 'code') return isText(value) && codePattern.test(value as string);
  if (name === 'longUrl' && value === '') return false;
  return kind === 'choice' ? choices!.includes(value) : checks[kind](value);
}
