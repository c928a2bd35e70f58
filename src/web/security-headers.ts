/**
 * The headers every page of ours carries. Scripts and styles come from files of ours only, so text that
 * slipped through escaping would still not run; nothing may frame a page, and no page tells where a visitor
 * came from.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The landing page fetches a QR code with the visitor's key and shows it from a data: address.
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** For pages that are the same for everyone: kept by a browser, but asked about before each use. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy,
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Cache-Control': 'no-cache',
};

/** For pages that speak of one link's state, which may change with the next request. */
export const statusPageHeaders: Readonly<Record<string, string>> = {
  ...pageHeaders,
  'Cache-Control': 'no-store',
};

/** For assets: their addresses change with their content. */
export const assetHeaders: Readonly<Record<string, string>> = {
  'Cache-Control': 'public, max-age=86400',
};
