/**
 * Parses an address in `TERSE_EDGE_PURGE`: the kind of edge and where it is. It never contains secrets.
 *
 *   http://varnish:6081/            PURGE with a header that names the codes
 *   http://nginx:8081/{code}        PURGE of the path of each code
 *   fastly://SERVICE                the batch purge of Fastly's API
 *   cloudfront://DISTRIBUTION       an invalidation of CloudFront's API
 *
 * The last two take `?endpoint=`, for a compatible API elsewhere.
 */
export type PurgeAddress =
  | { readonly kind: 'keys'; readonly url: string }
  /** The URL has `{code}` in its path. */
  | { readonly kind: 'paths'; readonly url: string }
  | { readonly kind: 'fastly'; readonly service: string; readonly endpoint: string }
  | { readonly kind: 'cloudfront'; readonly distribution: string; readonly endpoint: string };

const codePlaceholder = '{code}';

export function parsePurgeAddress(text: string): PurgeAddress {
  const vendor = /^(fastly|cloudfront):\/\/([A-Za-z0-9]{1,64})\/?(?:\?endpoint=([^&\s]+))?$/.exec(text);
  if (vendor === null) return parseHook(text);
  const [, scheme, name = '', given] = vendor;
  if (scheme === 'fastly')
    return { kind: 'fastly', service: name, endpoint: originOf(given ?? 'https://api.fastly.com') };
  const endpoint = originOf(given ?? 'https://cloudfront.amazonaws.com');
  return { kind: 'cloudfront', distribution: name, endpoint };
}

/** The URL that purges one code. */
export const urlOfCode = (url: string, code: string): string => url.replace(codePlaceholder, code);

function parseHook(text: string): PurgeAddress {
  if (/^(?:fastly|cloudfront):/.test(text))
    throw new Error('it looks like fastly://SERVICE or cloudfront://DISTRIBUTION');
  // The parser would write the braces as escapes.
  const parsed = /^https?:\/\/[^\s\\]+$/i.test(text)
    ? URL.parse(text.replaceAll(codePlaceholder, 'CODE'))
    : null;
  if (parsed === null) throw new Error('it is no http or https URL');
  if (parsed.username !== '' || parsed.password !== '')
    throw new Error('leave out the user and password; a token goes into TERSE_EDGE_PURGE_TOKEN');
  if (parsed.hash !== '') throw new Error('leave out the fragment');
  const marks = text.split(codePlaceholder).length - 1;
  if (marks === 0) return { kind: 'keys', url: parsed.href };
  const isInPath = text.indexOf(codePlaceholder) > text.indexOf('/', 'https://'.length);
  if (marks > 1 || !isInPath) throw new Error(`${codePlaceholder} stands once, after the host`);
  return { kind: 'paths', url: text };
}

function originOf(endpoint: string): string {
  const parsed = URL.parse(endpoint);
  const isOrigin = parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.pathname === '/';
  if (isOrigin && parsed.search === '' && parsed.username === '') return parsed.origin;
  throw new Error('the endpoint is an origin such as http://127.0.0.1:9000');
}
