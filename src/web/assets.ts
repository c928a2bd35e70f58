/**
 * Everything a page loads, held in memory and served by path. Pages refer to an asset through `assetUrl`, which carries
 * a hash of the content: a cache may keep the file for long and an upgrade still takes effect at once.
 */
import docsJs from './assets/docs.js' with { type: 'text' };
import faviconSvg from './assets/favicon.svg' with { type: 'text' };
import landingJs from './assets/landing.js' with { type: 'text' };
import reportJs from './assets/report.js' with { type: 'text' };
import terseCss from './assets/terse.css' with { type: 'text' };

interface Asset {
  readonly body: string;
  readonly contentType: string;
  /** A strong validator, quoted as the header requires. */
  readonly etag: string;
}

const svgType = 'image/svg+xml; charset=utf-8';

export const assets: ReadonlyMap<string, Asset> = new Map([
  ['/assets/terse.css', asset(terseCss, 'text/css; charset=utf-8')],
  ['/assets/landing.js', asset(landingJs, 'text/javascript; charset=utf-8')],
  ['/assets/docs.js', asset(docsJs, 'text/javascript; charset=utf-8')],
  ['/assets/report.js', asset(reportJs, 'text/javascript; charset=utf-8')],
  ['/assets/favicon.svg', asset(faviconSvg, svgType)],
  // Browsers request this path by themselves; they use the content type, not the name.
  ['/favicon.ico', asset(faviconSvg, svgType)],
]);

export function assetUrl(path: string): string {
  const found = assets.get(path);
  if (found === undefined) throw new Error(`no asset is served at ${path}`);
  return `${path}?v=${found.etag.slice(1, 13)}`;
}

function asset(body: string, contentType: string): Asset {
  const hash = new Bun.CryptoHasher('sha256').update(body).digest('hex');
  return { body, contentType, etag: `"${hash.slice(0, 32)}"` };
}
