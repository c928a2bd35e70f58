/** The words after `npm run bench --`: names of scenarios and a few settings. */
export interface BenchOptions {
  /** Empty for all. */
  readonly scenarios: readonly string[];
  readonly rounds: number;
  /** How long one turn of load lasts. */
  readonly seconds: number;
  /** Links in the store of the `cold` scenario. */
  readonly links: number;
  /** Clicks that the `warehouse` scenario puts on one link. */
  readonly clicks: number;
  /** Whether the servers write CPU profiles, which makes them slower. */
  readonly profile: boolean;
}

export const usage = `npm run bench -- [scenario...] [--rounds=3] [--seconds=2] [--links=1m] [--clicks=2m] [--profile]`;

export function parseOptions(words: readonly string[], known: readonly string[]): BenchOptions {
  const given = new Map<string, string>();
  const scenarios: string[] = [];
  for (const word of words) {
    const flag = /^--(rounds|seconds|links|clicks|profile)(?:=(.+))?$/.exec(word);
    if (flag !== null) given.set(flag[1]!, flag[2] ?? '');
    else if (known.includes(word)) scenarios.push(word);
    else throw new Error(`"${word}" is neither a setting nor one of ${known.join(', ')}\n${usage}`);
  }
  const count = (name: string, standard: string): number => readCount(name, given.get(name) ?? standard);
  return {
    scenarios,
    rounds: count('rounds', '3'),
    seconds: count('seconds', '2'),
    links: count('links', '1m'),
    clicks: count('clicks', '2m'),
    profile: given.has('profile'),
  };
}

const multiples: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6 };

function readCount(name: string, text: string): number {
  const [, digits, multiple] = /^(\d{1,9})([km]?)$/i.exec(text) ?? [];
  const value = Number(digits) * (multiples[multiple?.toLowerCase() ?? ''] ?? Number.NaN);
  if (!(value >= 1)) throw new Error(`--${name} takes a number such as 5, 20k or 10m, not "${text}"`);
  return value;
}
