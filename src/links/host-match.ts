/** A host name as the URL parser writes it, without a dot at the end; undefined for any other text. */
export function hostIn(text: string): string | undefined {
  // Anything else in the text would end up elsewhere in the URL.
  const url = /^[^\s/?#@:\\]+$/.test(text) ? URL.parse(`http://${text}/`) : null;
  return url?.hostname.replace(/\.$/, '') || undefined;
}

/** Whether a stored URL leads to a domain or to anything below it. */
export function leadsTo(longUrl: string, domain: string): boolean {
  const hostname = URL.parse(longUrl)?.hostname ?? '';
  return hostname === domain || hostname.endsWith(`.${domain}`);
}
