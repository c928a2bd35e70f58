/** A visit of a short link as a browser makes it, returned instead of followed; and the counters a scrape shows. */
export interface Visit {
  readonly status: number;
  readonly location: string | null;
}

export async function follow(url: string, code: string): Promise<Visit> {
  const response = await fetch(`${url}/${code}`, { redirect: 'manual' });
  await response.arrayBuffer();
  return { status: response.status, location: response.headers.get('location') };
}

/** The value of one metric without labels. */
export async function metricOf(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find(each => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`there is no metric ${name}`);
  return Number(line.slice(name.length + 1));
}
