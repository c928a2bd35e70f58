/** Whether a stored URL leads to a domain or to anything below it. */
export function leadsTo(longUrl: string, domain: string): boolean {
  const hostname = URL.parse(longUrl)?.hostname ?? '';
  return hostname === domain || hostname.endsWith(`.${domain}`);
}
