/** The query of a request, whatever its Host header says: an odd host makes the whole URL one that no parser takes. */

/** Without the question mark; empty when there is none. */
export function queryTextOf(url: string): string {
  const at = url.indexOf('?');
  if (at === -1) return '';
  const end = url.indexOf('#', at);
  return end === -1 ? url.slice(at + 1) : url.slice(at + 1, end);
}
