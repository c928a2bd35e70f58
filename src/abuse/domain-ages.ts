/**
 * When domains were registered, from a feed that the operator supplies: lines of a domain and a day, `evil.example
 * 2026-01-31` (a comma or a tab also works). There are no network lookups, so a domain that the feed does not name has
 * no known age. Only new domains are kept, as one set of hashes per day: a feed of a million costs as much as a
 * blocklist of a million, and tomorrow a day drops out by itself.
 */
import { HashSet, type HashSetData } from './hash-set.ts';
import { partsOf } from './hosts.ts';
import { newDomainDays } from './risk-signals.ts';

export interface CompiledAges {
  readonly days: readonly { readonly day: number; readonly hashes: HashSetData }[];
  readonly lines: number;
  readonly unreadable: number;
  readonly examples: readonly string[];
}

/** Days since a domain was registered; undefined when that is unknown, or long ago. */
export type DomainAge = (domain: string, now: number) => number | undefined;

const dayMs = 24 * 60 * 60 * 1_000;
const domainTag = 68;
const examplesMax = 20;
const linePattern = /^([^\s,;]+)[\s,;]+(\d{4}-\d{2}-\d{2})(?:[T\s,;].*)?$/;

/** A day ahead of ours may be today elsewhere. */
const futureDaysMax = 1;

export function compileAges(text: string, key: Uint8Array, now: number): CompiledAges {
  const today = Math.floor(now / dayMs);
  const sets = new Map<number, HashSet>();
  const examples: string[] = [];
  let [lines, unreadable] = [0, 0];
  for (const line of linesOf(text)) {
    lines += 1;
    const [, name = '', date = ''] = linePattern.exec(line) ?? [];
    const day = Math.floor(Date.parse(`${date}T00:00:00Z`) / dayMs);
    const domain = domainOf(name);
    if (Number.isNaN(day) || domain === undefined) {
      unreadable += 1;
      if (examples.length < examplesMax) examples.push(`line ${lines}: ${JSON.stringify(line.slice(0, 60))}`);
    } else if (today - day < newDomainDays && day - today <= futureDaysMax) {
      const set = sets.get(day) ?? new HashSet(key);
      set.add(domainTag, domain);
      sets.set(day, set);
    }
  }
  const days = [...sets].map(([day, set]) => ({ day, hashes: set.release() }));
  return { days, lines, unreadable, examples };
}

export function createDomainAge({ days }: CompiledAges, key: Uint8Array): DomainAge {
  const sets = days.map(({ day, hashes }) => ({ day, set: new HashSet(key, hashes) }));
  return (domain, now) => {
    const found = sets.find(({ set }) => set.has(domainTag, domain));
    return found === undefined ? undefined : Math.max(0, Math.floor(now / dayMs) - found.day);
  };
}

export const knownDomains = ({ days }: CompiledAges): number =>
  days.reduce((sum, { hashes }) => sum + hashes.size, 0);

function* linesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from);
    const line = text.slice(from, end === -1 ? text.length : end).trim();
    from = end === -1 ? text.length : end + 1;
    if (line !== '' && !line.startsWith('#')) yield line;
  }
}

function domainOf(name: string): string | undefined {
  const host = /^[a-z0-9.-]+$/.test(name) ? name : URL.parse(`http://${name}/`)?.hostname;
  if (host === undefined || !host.includes('.')) return undefined;
  return partsOf(host).domain;
}
