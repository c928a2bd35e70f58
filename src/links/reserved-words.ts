/**
 * Aliases nobody may have: the first segment of every path that Terse serves or is planned to serve, so that a link
 * never shadows a page and a new route never takes a link's place, and the few names that would pass for the operator.
 * Other common words (`help`, `jobs`, `pricing`) are free.
 *
 * A route's first path segment belongs in here on the day the route is planned. Operators change the list with
 * a word file, see word-file.ts.
 */
export const reservedWords: readonly string[] = [
  // The API, its spellings and versions, and those of other shorteners that it speaks or will speak.
  'api, v1, v2, v3, v4, v5, rest, links, link, urls, url, shorten, bulk, aliases, openapi, openapi.json, openapi.yaml',
  'swagger, graphql, rpc, mcp, sse, sdk, yourls, yourls-api.php, yourls-infos.php, import, imports, export, exports',
  // Resources that may have pages of their own.
  'domain, domains, workspace, workspaces, teams, webhook, webhooks, tags, keys, key, tokens, token',
  'stats, analytics, clicks, explain, reports, report, abuse, appeal, appeals, audit, blocklist',
  'preview, unlock, qr, qrcode, share, bookmarklet, misses',
  // Operations.
  'health, healthz, ready, readyz, livez, metrics, status, ping, version, debug, config, internal',
  // Signing in, and accounts.
  'login, logout, signin, signout, signup, sign-in, sign-out, sign-up, register, auth, authorize, callback, oauth',
  'oauth2, oidc, openid, saml, sso, scim, passkey, passkeys, webauthn, totp, mfa, 2fa, password, forgot',
  'reset, verify, invite, invites, invitation, invitations, session, sessions, account, accounts, user, users',
  'me, profile, settings, preferences, dashboard, console, setup',
  // Files and folders of a site.
  'assets, static, public, dist, images, img, css, js, fonts, uploads, index, index.html, index.php',
  'robots.txt, favicon.ico, favicon.svg, favicon.png, favicon, apple-touch-icon.png, apple-touch-icon-precomposed.png',
  '.well-known, well-known, security.txt, humans.txt, ads.txt, app-ads.txt, llms.txt, sitemap.xml, sitemap, opensearch.xml',
  'apple-app-site-association, assetlinks.json, crossdomain.xml, browserconfig.xml, manifest, manifest.json',
  'manifest.webmanifest, site.webmanifest, sw.js, service-worker.js, serviceworker.js, offline, offline.html',
  // Pages of ours, and those that the law asks an operator for.
  'docs, doc, documentation, error, errors, blocked, warning, expired, unsafe, security',
  'terms, tos, privacy, legal, imprint, impressum',
  // Names that pass for the operator.
  'admin, administrator, root, superuser, staff, moderator, moderation, operator, official, terse',
  // What software writes when it has lost a value.
  'null, undefined, nan, true, false, constructor, prototype, __proto__',
].flatMap(line => line.split(', '));
