/**
 * Rates as an operator writes them: `100/h`, or `off` for no limit; and changes to the table of plans, such as
 * `free=200/h,anonymous=off`. Everything that is read here was typed by hand, so a slip is named, not guessed.
 */
import { closestName } from '../base/did-you-mean.ts';
import {
  defaultRates,
  type PlanName,
  planNames,
  type Rate,
  type RateName,
  type Rates,
  rateNames,
} from './plans.ts';

const unitMs = { s: 1_000, min: 60_000, h: 3_600_000, day: 86_400_000 } as const;
const countMax = 1_000_000;

export const off = 'off';

/** A whole text that is no rate, with what is wrong about it. */
export class NotARate extends Error {
  override readonly name = 'NotARate';
}

/** Null for `off`. */
export function parseRate(text: string): Rate | null {
  if (text === off) return null;
  const [, count = '', unit = ''] = /^([1-9]\d{0,6})\/(s|min|h|day)$/.exec(text) ?? [];
  if (count === '' || Number(count) > countMax) throw new NotARate(`${text} is not a rate`);
  return { count: Number(count), periodMs: unitMs[unit as keyof typeof unitMs] };
}

/** The table of plans with the operator's changes; `off` alone switches every limit off. */
export function ratesWith(changes: readonly string[]): Rates {
  if (changes.length === 1 && changes[0] === off) {
    return Object.fromEntries(rateNames.map(name => [name, null])) as unknown as Rates;
  }
  return { ...defaultRates, ...Object.fromEntries(named(changes, rateNames)) } as Record<
    RateName,
    Rate | null
  >;
}

/** How often an address may follow links: any at all, and those of accounts on one plan. */
export interface VisitRates {
  readonly everyone: Rate | null;
  readonly byPlan: Partial<Readonly<Record<PlanName, Rate | null>>>;
}

/** A list with a rate for everyone, rates such as `anonymous=60/min` for the links of one plan, or both. */
export function visitRates(items: readonly string[]): VisitRates {
  const [everyone = off, ...more] = items.filter(item => !item.includes('='));
  if (more.length > 0) throw new NotARate(`${more[0]} is a second rate for everyone`);
  const byPlan = named(
    items.filter(item => item.includes('=')),
    planNames,
  );
  return { everyone: parseRate(everyone), byPlan: Object.fromEntries(byPlan) };
}

function named<Name extends string>(
  items: readonly string[],
  names: readonly Name[],
): Map<Name, Rate | null> {
  const rates = new Map<Name, Rate | null>();
  for (const item of items) {
    const [given = '', ...rest] = item.split('=');
    const name = names.find(candidate => candidate === given);
    if (name === undefined) {
      const close = closestName(given, names);
      throw new NotARate(`${given} has no limit${close === undefined ? '' : `: did you mean ${close}?`}`);
    }
    if (rates.has(name)) throw new NotARate(`${name} is given twice`);
    rates.set(name, parseRate(rest.join('=')));
  }
  return rates;
}
