/**
 * JSON.parse with its gaps closed. It takes an object that names a key twice and silently keeps the last one, so
 * that two readers of one request may disagree about what it says; and it takes any depth and any number of values,
 * at the cost of seconds for a few megabytes of brackets or of keys that nobody knows.
 *
 * For a small body all is found at little more than the price of parsing. A quick look over the source counts members
 * and depth, jumping from quote to quote; after parsing, fewer members than the source has mean that a key came twice.
 * Only then, or when parsing failed, does a slow reader go through the source to say where. A large body would keep
 * every other request waiting meanwhile, so the slow reader reads it, with pauses.
 *
 * Keys such as `__proto__` become own properties like any other and change nothing; whoever reads the value
 * refuses them as unknown.
 */
import { letOthersRun } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { JsonReader, tooMany } from './json-reader.ts';

export const jsonDepthMax = 32;
/** Several times what any object has that we take. */
export const objectMembersMax = 64;
/** In the whole body; ten thousand links with all there is to say about each have fewer. */
export const valuesMax = 400_000;

const limits = { depthMax: jsonDepthMax, membersMax: objectMembersMax, valuesMax };

/** Read before other requests get their turn: a few milliseconds of work, whatever the bytes are. */
const turnBytes = 64 * 1024;

/** A body of up to this size is parsed in one go. */
export const wholeBytesMax = turnBytes;

export async function parseInTurns(bytes: Uint8Array): Promise<unknown> {
  const reader = new JsonReader(bytes, limits);
  while (!reader.readOn(turnBytes)) await letOthersRun();
  return reader.value;
}

export function parseStrictJson(source: string): unknown {
  const memberCount = countMembersInSource(source);
  if (memberCount === undefined) throw explainJson(source);
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    throw explainJson(source);
  }
  if (countMembers(value) !== memberCount) throw explainJson(source);
  return value;
}

/** The problem with `source`, which the caller knows to have one. */
function explainJson(source: string): Problem {
  try {
    new JsonReader(Buffer.from(source), limits).readOn(Number.POSITIVE_INFINITY);
  } catch (fault) {
    if (fault instanceof Problem) return fault;
    throw fault;
  }
  return new Problem('invalid_json', { detail: 'The body is broken or repeats a key.' });
}

/**
 * Each member has one colon outside of strings; each value has a comma before it or is the first behind a bracket.
 * Undefined when the nesting is too deep. The counts mean nothing for broken JSON, but up to the point where it breaks
 * they are right, and the parser goes no further.
 */
function countMembersInSource(source: string): number | undefined {
  const membersAtDepth = new Uint32Array(jsonDepthMax + 1);
  let memberCount = 0;
  let valueCount = 0;
  let depth = 0;
  for (let position = 0; position < source.length; position += 1) {
    switch (source.charCodeAt(position)) {
      case 0x22: // "
        position = closingQuote(source, position);
        break;
      case 0x3a: // :
        memberCount += 1;
        membersAtDepth[depth]! += 1;
        if (membersAtDepth[depth]! > objectMembersMax)
          throw tooMany('An object has', objectMembersMax, 'members');
        break;
      case 0x2c: // ,
        valueCount += 1;
        if (valueCount > valuesMax) throw tooMany('The body has', valuesMax, 'values');
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        if (depth > jsonDepthMax) return undefined;
        membersAtDepth[depth] = 0;
        valueCount += 1;
        if (valueCount > valuesMax) throw tooMany('The body has', valuesMax, 'values');
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
    }
  }
  return memberCount;
}

/** The recursion is bounded, because the source was seen to be no deeper than `jsonDepthMax`. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const isArray = Array.isArray(value);
  const items: readonly unknown[] = isArray ? value : Object.values(value);
  let memberCount = isArray ? 0 : items.length;
  for (const item of items) memberCount += countMembers(item);
  return memberCount;
}

/** Where the string that opens at `open` ends; the end of the source when it does not. */
function closingQuote(source: string, open: number): number {
  for (let from = open + 1; ; ) {
    const quote = source.indexOf('"', from);
    if (quote === -1) return source.length;
    let backslashes = 0;
    while (source.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}
