/**
 * The referrer of a visit: a domain to group by, and the page without parts that may identify a person. Credentials,
 * query and fragment are always removed: they may contain search terms, session ids and e-mail addresses. A text that
 * is not the address of a page is a direct visit, and so is a page of our own, such as the preview page, because the
 * visitor came from elsewhere before.
 */
import type { ReferrerTraits } from '../click.ts';
import { boundedText, memoise } from './bounded-text.ts';

export const referrerLengthMax = 1024;
const hostLengthMax = 253;

export type ReferrerDescriber = (referrer: string) => ReferrerTraits;

export interface ReferrerOptions {
  /** Distinguishes our hosts from others, given a host as the WHATWG parser writes it. */
  readonly isOwnHost?: (hostname: string) => boolean;
}

const direct: ReferrerTraits = Object.freeze({ referrer: '', domain: '' });

export function createReferrerDescriber(
  options: ReferrerOptions & { readonly entriesMax: number },
): ReferrerDescriber {
  const describe = memoise(referrer => describeReferrer(referrer, options), options.entriesMax);
  return referrer => (referrer === '' ? direct : describe(boundedReferrer(referrer)));
}

export function describeReferrer(text: string, options: ReferrerOptions = {}): ReferrerTraits {
  const referrer = boundedReferrer(text);
  const app = androidApp.exec(referrer)?.[1]?.toLowerCase();
  if (app !== undefined && app.length <= hostLengthMax)
    return { referrer: `android-app://${app}`, domain: app };
  const url = URL.parse(referrer);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return direct;
  const domain = domainOf(url.hostname);
  if (domain === '' || options.isOwnHost?.(url.hostname)) return direct;
  return { referrer: pageOf(url), domain };
}

/** Apps on Android name themselves, as in `android-app://com.google.android.gm/`. */
const androidApp = /^android-app:\/\/([a-z]\w*(?:\.\w+){1,20})(?:[/?#]|$)/i;

/** The parser accepts hosts that DNS does not allow, such as `(other)`, which statistics use themselves. */
const hostPattern = /^(?:[a-z0-9._-]+|\[[0-9a-f:]+\])$/;

/** The parser has made it lower case and ASCII. */
function domainOf(hostname: string): string {
  const host = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  if (host.length > hostLengthMax || !hostPattern.test(host)) return '';
  // The remainder must still be a domain: www.com is one, and com is not.
  return host.startsWith('www.') && host.includes('.', 4) ? host.slice(4) : host;
}

/** Percent-encoding can make a path three times as long; then only the site is kept. */
function pageOf(url: URL): string {
  const page = `${url.protocol}//${url.host}${url.pathname}`;
  return page.length <= referrerLengthMax ? page : `${url.protocol}//${url.host}/`;
}

/** Empty if the cut is within the host, because a truncated host is another one. */
function boundedReferrer(referrer: string): string {
  const bounded = boundedText(referrer, referrerLengthMax);
  const isCut = referrer.length > referrerLengthMax;
  return isCut && !/[^:/\\][/\\?#]/.test(bounded) ? '' : bounded;
}
