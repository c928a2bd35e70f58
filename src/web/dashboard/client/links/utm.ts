/** Campaign parameters in a destination's query: read from it, written to it, the rest left as it is. */
export const utmNames = ['source', 'medium', 'campaign', 'term', 'content'] as const;
export type UtmName = (typeof utmNames)[number];
export type Utm = Readonly<Record<UtmName, string>>;

export function readUtm(address: string): Utm {
  const query = URL.parse(address)?.searchParams;
  return Object.fromEntries(utmNames.map(name => [name, query?.get(`utm_${name}`) ?? ''])) as unknown as Utm;
}

/** The address as it is when it is no address yet. */
export function withUtm(address: string, name: UtmName, value: string): string {
  const url = URL.parse(address);
  if (url === null) return address;
  if (value === '') url.searchParams.delete(`utm_${name}`);
  else url.searchParams.set(`utm_${name}`, value);
  return url.href;
}
