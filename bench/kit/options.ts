/** The words after `npm run bench --`: names of scenarios and a few settings. */
export interface BenchOptions {
  /** Empty for all except those that run only on request. */
  readonly scenarios: readonly string[];
  readonly rounds: number;
  /** How long one turn of load lasts. */
  readonly seconds: number;
  /** Links in the store of the `cold` scenario. */
  readonly links: number;
  /** Links in the store that warm traffic is spread over. */
  readonly warmLinks: number;
  /** Clicks that the `warehouse` scenario puts on one link. */
  readonly clicks: number;
  /** How long the `soak` scenario lasts. */
  readonly minutes: number;
  /** The rate of the `soak` scenario, if known; otherwise it is searched first. */
  readonly perSecond?: number;
  /** Whether the servers write CPU profiles, which makes them slower. */
  readonly profile: boolean;
}

type SizeName = 'rounds' | 'seconds' | 'links' | 'warmLinks' | 'clicks' | 'minutes';

/** Each size in a quick run of minutes, and in a full one (`--full`). */
export const sizes: Readonly<Record<SizeName, { readonly quick: number; readonly full: number }>> = {
  rounds: { quick: 3, full: 7 },
  seconds: { quick: 2, full: 5 },
  links: { quick: 1e6, full: 10e6 },
  warmLinks: { quick: 1e6, full: 1e6 },
  clicks: { quick: 1e6, full: 20e6 },
  minutes: { quick: 30, full: 30 },
};
const sizeNames = Object.keys(sizes) as readonly SizeName[];
/** Sizes without a default. */
const optionalNames = ['perSecond'] as const;
const switches = ['full', 'profile'];

export const usage = `npm run bench -- [scenario...] ${sizeNames
  .map(name => `[${flagOf(name)}=${sizes[name].quick}]`)
  .join(
    ' ',
  )} ${optionalNames.map(name => `[${flagOf(name)}=N]`).join(' ')} ${switches.map(name => `[--${name}]`).join(' ')}`;

export function parseOptions(words: readonly string[], known: readonly string[]): BenchOptions {
  const given = new Map<string, string>();
  const counts = [...sizeNames, ...optionalNames].map(flagOf);
  const scenarios: string[] = [];
  for (const word of words) {
    const [flag = '', ...value] = word.split('=');
    if (counts.includes(flag)) given.set(flag, value.join('='));
    else if (switches.some(name => `--${name}` === word)) given.set(word, '');
    else if (known.includes(word)) scenarios.push(word);
    else throw new Error(`"${word}" is neither a setting nor one of ${known.join(', ')}\n${usage}`);
  }
  const kind = given.has('--full') ? 'full' : 'quick';
  const size = (name: SizeName): number => {
    const text = given.get(flagOf(name));
    return text === undefined ? sizes[name][kind] : readCount(flagOf(name), text);
  };
  const optional = optionalNames.flatMap(name => {
    const text = given.get(flagOf(name));
    return text === undefined ? [] : [[name, readCount(flagOf(name), text)]];
  });
  return {
    scenarios,
    rounds: size('rounds'),
    seconds: size('seconds'),
    links: size('links'),
    warmLinks: size('warmLinks'),
    clicks: size('clicks'),
    minutes: size('minutes'),
    ...Object.fromEntries(optional),
    profile: given.has('--profile'),
  };
}

/** Descriptions of the sizes that are scaled down; empty when none is. */
export function scaledDown(options: BenchOptions): string[] {
  return sizeNames
    .filter(name => options[name] < sizes[name].full)
    .map(name => `${flagOf(name).slice(2)} ${compact(options[name])} of ${compact(sizes[name].full)}`);
}

function flagOf(name: SizeName | (typeof optionalNames)[number]): string {
  return `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;
}

const compact = (count: number): string => count.toLocaleString('en-US');
const multiples: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6 };

function readCount(flag: string, text: string): number {
  const [, digits, multiple] = /^(\d{1,9})([km]?)$/i.exec(text) ?? [];
  const value = Number(digits) * (multiples[multiple?.toLowerCase() ?? ''] ?? Number.NaN);
  if (!(value >= 1)) throw new Error(`${flag} takes a number such as 5, 20k or 10m, not "${text}"`);
  return value;
}
