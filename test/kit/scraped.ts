/** A parsed scrape: the name, labels and value of each line. */
export interface ScrapedLine {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Scraped {
  readonly lines: readonly ScrapedLine[];
  /** By name, including metrics without a line. */
  readonly types: ReadonlyMap<string, string>;
  readonly helps: ReadonlyMap<string, string>;
  /** The sum over all lines of that name that have these labels; undefined when there is none. */
  total(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

/** A connection of its own, so that any worker may answer. */
export async function scrapeAt(url: string): Promise<Scraped> {
  const answer = await fetch(`${url}/metrics`, { headers: { Connection: 'close' } });
  return parseScrape(await answer.text());
}

export function parseScrape(text: string): Scraped {
  const lines: ScrapedLine[] = [];
  const types = new Map<string, string>();
  const helps = new Map<string, string>();
  for (const line of text.split('\n').filter(each => each !== '')) {
    const [, comment, described = '', words = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (comment !== undefined) (comment === 'TYPE' ? types : helps).set(described, words);
    else lines.push(lineOf(line));
  }
  return {
    lines,
    types,
    helps,
    total(name, wanted = {}) {
      const found = lines.filter(
        line =>
          line.name === name &&
          Object.entries(wanted).every(([label, value]) => line.labels[label] === value),
      );
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

function lineOf(line: string): ScrapedLine {
  const [, name, labels = '', value] = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined) throw new Error(`no line of a scrape: ${line}`);
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
    ([, label = '', text = '']) => [label, text] as const,
  );
  return { name, labels: Object.fromEntries(pairs), value: Number(value?.replace('Inf', 'Infinity')) };
}
