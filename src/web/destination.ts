/**
 * A destination as text. Whoever made the link chose it, so it is hostile until proven otherwise: the host stands out
 * because it is the part that tells a bank from its imitation, in the parser's spelling, and nothing in it can change
 * the direction of the words around it.
 */
import { domainToUnicode } from 'node:url';
import { type Html, html } from './html.ts';

/** Undefined for anything a visitor should not be sent to; userinfo would stand where the host is expected. */
export function webUrlOf(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  return url.username === '' && url.password === '' ? url : undefined;
}

/** The parser's spelling is shown: an internationalised host in punycode, so that look-alikes look different. */
export function destinationText(longUrl: string, destination = webUrlOf(longUrl)): Html {
  if (destination === undefined) return html`<bdi>${longUrl}</bdi>`;
  const { protocol, host, href } = destination;
  const before = `${protocol}//`;
  return html`<bdi><span class="quiet">${before}</span><strong>${host}</strong>${href.slice(before.length + host.length)}</bdi>`;
}

/** The host in its own letters; undefined where they are the plain ones that the address shows anyway. */
export function hostInLetters({ hostname }: URL): string | undefined {
  if (!/(?:^|\.)xn--/i.test(hostname)) return undefined;
  const letters = domainToUnicode(hostname);
  return letters === '' || letters === hostname ? undefined : letters;
}
