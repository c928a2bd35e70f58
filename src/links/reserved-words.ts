/**
 * Aliases nobody may have: every path that Terse serves or may serve, so that a link never shadows a page, and
 * the names a site's operator would regret giving away because visitors take them for official.
 *
 * A route's first path segment belongs in here on the day the route is added. Operators change the list with
 * a word file, see word-file.ts.
 */
export const reservedWords: readonly string[] = [
  // The API and its spellings.
  'api, v1, v2, v3, links, link, urls, url, shorten, short, bulk, import, export, openapi, openapi.json',
  'swagger, graphql, rpc, webhook, webhooks, callback, oauth, oauth2, token, tokens, keys, key, session, sessions',
  // Operations.
  'health, healthz, ready, readyz, live, livez, metrics, status, ping, version, debug, config, internal, system',
  // People and what they manage.
  'admin, administrator, root, superuser, owner, staff, moderator, moderation, operator, official, terse',
  'login, logout, signin, signout, signup, sign-in, sign-out, sign-up, register, auth, password, reset, verify',
  'account, accounts, user, users, me, profile, settings, preferences, dashboard, console, setup, billing',
  'payment, payments, checkout, invoice, pricing, plans, upgrade, team, teams, domains',
  // Features with a page of their own.
  'stats, analytics, clicks, events, reports, report, abuse, appeal, appeals, audit, preview, qr, qrcode, search',
  'create, new, edit, delete, list, tags, blocked, warning, expired, unsafe',
  // Files and folders of a site.
  'assets, static, public, dist, images, img, css, js, fonts, media, files, uploads, download, downloads, cdn',
  'robots.txt, favicon.ico, favicon.svg, favicon.png, sitemap.xml, .well-known, security.txt, humans.txt, ads.txt',
  'manifest.json, site.webmanifest, sw.js, service-worker.js, apple-touch-icon.png, browserconfig.xml',
  'robots, favicon, sitemap, well-known, manifest, feed, rss, atom',
  // Pages that visitors take as the site speaking.
  'about, help, support, contact, terms, tos, privacy, legal, imprint, impressum, cookies, gdpr, security, license',
  'docs, doc, documentation, faq, guide, blog, news, press, jobs, careers, home, index, index.html, index.php, main',
  'start, welcome, landing, error, errors, 400, 401, 403, 404, 410, 429, 500, 502, 503',
  // Host names and mail names that travel with a domain.
  'www, mail, email, ftp, smtp, imap, pop, ns, ns1, ns2, dns, mx, webmail, postmaster, hostmaster, webmaster',
  'localhost, noreply, no-reply, mailer-daemon, nobody, app, beta, staging, test, dev, demo',
  // What software writes when it has lost a value.
  'null, undefined, nan, none, true, false, nil, void, object, object-object, constructor, prototype, __proto__',
].flatMap(line => line.split(', '));
