/**
 * Aliases that no link may have: the first segment of every path that Terse serves or is planned to serve, so that a
 * link never shadows a page and a new route never takes a link's place, and the few names that would pass for the
 * operator. Other common words (`help`, `jobs`, `pricing`) are free.
 *
 * A route's first path segment belongs in here on the day the route is planned. Operators change the list with a word
 * file (`parseWordFile`).
 */
export const reservedWords: readonly string[] = [
  // The API, its spellings and versions, and those of other shorteners that it supports or will support.
  'api, v1, v2, v3, v4, v5, rest, links, link, urls, url, shorten, bulk, aliases, openapi, openapi.json, openapi.yaml',
  'swagger, graphql, rpc, mcp, sse, sdk, yourls, yourls-api.php, yourls-infos.php, import, imports, export, exports',
  // Resources that may have their own pages.
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
  // Our own pages, and those that the law requires of an operator.
  'docs, doc, documentation, error, errors, blocked, warning, expired, unsafe, security',
  'terms, tos, privacy, legal, imprint, impressum',
  // Names that pass for the operator.
  'admin, administrator, root, superuser, staff, moderator, moderation, operator, official, terse',
  // What software writes when a value is missing.
  'null, undefined, nan, true, false, constructor, prototype, __proto__',
].flatMap(line => line.split(', '));

/**
 * Words that neither an alias nor a generated code should show. Short on purpose: it holds what nearly every operator
 * would reject on sight, not every word that someone may object to. Operators change it with a word file.
 *
 * Three kinds, distinguished by their first character, because a plain list of substrings rejects half of a dictionary
 * (`Scunthorpe`, `therapist`, `openissues`):
 * - `word` is rejected anywhere in an alias, also in common digit-for-letter spelling;
 * - `=word` is part of too many innocent words, so it is rejected only as a separate word;
 * - `~word` is innocent although it contains one of the others.
 */
export const offensiveTerms: readonly string[] = [
  // Vulgar.
  'fuck, shit, cunt, bitch, asshole, arsehole, wanker, whore, pussy, porn, jizz, blowjob, cumshot',
  '=ass, =arse, =cock, =cum, =penis, =slut, =sluts, =tits, =twat, =wank',
  // Slurs. Names of school subjects and of support services (history, crime) are not among them.
  'nigger, nigga, faggot',
  '=fag, =fags, =kike, =chink, =gook, =spic, =coon, =paki, =tranny, =retard',
  // Hate slogans.
  'siegheil, heilhitler, whitepower, =kkk',
  // Innocent.
  '~scunthorpe, ~shitake, ~mishit, ~shitzu, ~ashita, ~pussycat, ~pussywillow, ~bitchute, ~snigger, ~pornic',
  '~cum-laude, ~maine-coon',
].flatMap(line => line.split(', '));

/**
 * The operator's changes to one of the lists. One word per line; `word` or `+word` adds it, `-word` removes a default,
 * `#` starts a comment, and `!only` as the first instruction drops all defaults. Changes are written relative to the
 * defaults, so that an update of Terse still brings the words it adds.
 */
export function parseWordFile(text: string, defaults: readonly string[]): string[] {
  const lines = instructionsOf(text);
  const isReplacement = lines[0]?.instruction === '!only';
  const words = new Set(isReplacement ? [] : defaults.map(word => word.toLowerCase()));
  for (const { instruction, lineNumber } of isReplacement ? lines.slice(1) : lines) {
    const { action, word } = readInstruction(instruction);
    if (word === '' || /[\s!]/.test(word)) {
      throw new Error(`line ${lineNumber}: ${JSON.stringify(instruction.slice(0, 40))} is not a word`);
    }
    if (action === 'remove') words.delete(word);
    else words.add(word);
  }
  return [...words];
}

/** Trimming also drops a byte order mark, which counts as white space. */
function instructionsOf(text: string): { instruction: string; lineNumber: number }[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((line, position) => ({
      instruction: line.replace(/#.*$/, '').trim().toLowerCase(),
      lineNumber: position + 1,
    }))
    .filter(({ instruction }) => instruction !== '');
}

function readInstruction(instruction: string): { action: 'add' | 'remove'; word: string } {
  if (instruction.startsWith('-')) return { action: 'remove', word: instruction.slice(1) };
  return { action: 'add', word: instruction.startsWith('+') ? instruction.slice(1) : instruction };
}
