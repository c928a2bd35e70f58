/**
 * JSON.parse with its gaps closed. It takes an object that names a key twice and silently keeps the last one, so
 * that two readers of one request may disagree about what it says; and it takes any depth and any number of values,
 * at the cost of seconds for a few megabytes of brackets or of keys that nobody knows.
 *
 * All is found at little more than the price of parsing. A quick look over the source counts members and depth,
 * jumping from quote to quote; after parsing, fewer members than the source has mean that a key came twice.
 * Only then, or when parsing failed, does a slow reader go through the source to say where.
 *
 * Keys such as `__proto__` become own properties like any other and change nothing; whoever reads the value
 * refuses them as unknown.
 */
import { Problem } from '../base/errors.ts';
import { closingQuote, explainJson } from './json-fault.ts';

export const jsonDepthMax = 32;
/** Several times what any object has that we take. */
export const objectMembersMax = 64;
/** In the whole body; ten thousand links with all there is to say about each have fewer. */
export const valuesMax = 400_000;

export function parseStrictJson(source: string): unknown {
  const memberCount = countMembersInSource(source);
  if (memberCount === undefined) throw explainJson(source, jsonDepthMax);
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    throw explainJson(source, jsonDepthMax);
  }
  if (countMembers(value) !== memberCount) throw explainJson(source, jsonDepthMax);
  return value;
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

function tooMany(what: string, max: number, of: string): Problem {
  return new Problem('invalid_json', { detail: `${what} more than ${max} ${of}.` });
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
