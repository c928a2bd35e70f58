/**
 * The pages about one link: its preview, and the warning before a quarantined one. The owner of the link chose the
 * destination, so it is hostile until proven otherwise: it appears as text, and only http and https become a link. The
 * title is the owner's own note and is not shown.
 */
import { domainToUnicode } from 'node:url';
import { type Html, html } from './html.ts';
import { layout } from './layout.ts';

export interface PreviewView {
  readonly code: string;
  readonly shortUrl: string;
  /** Null where only following the link may reveal it. */
  readonly longUrl: string | null;
  /** Why the destination is not shown; null where it is. */
  readonly notice: string | null;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly state: string;
}

const stateWarnings: Record<string, string> = {
  disabled: 'This link is switched off. The short address does not lead anywhere at the moment.',
  expired: 'This link has expired. The short address no longer leads anywhere.',
  exhausted: 'This link has reached its limit of visits. The short address no longer leads anywhere.',
  deleted: 'This link was deleted. The short address no longer leads anywhere.',
  quarantined: 'This link is being checked. Visitors of the short address see a warning first.',
  blocked: 'This link was blocked. The short address no longer leads anywhere.',
  unsafe: 'This link is no longer allowed. Its destination is not one that this service sends people to.',
};

export function previewPage(view: PreviewView): string {
  return layout({
    title: `Preview of ${view.code} · Terse`,
    description: 'Where a short link leads.',
    indexable: false,
    kind: 'preview',
    main: previewContent(view),
  });
}

function previewContent(view: PreviewView): Html {
  const destination = webUrlOf(view.longUrl ?? view.shortUrl);
  const active = view.state === 'active';
  return html`<p class="eyebrow">Preview</p>
<h1>Where this link leads<span class="stop" aria-hidden="true">.</span></h1>
${!active && html`<p class="notice" role="note">${warningFor(view.state)}</p>`}
<section class="destination" aria-label="Destination">
<p class="destination-url">${view.longUrl === null ? view.notice : destinationText(view.longUrl, destination)}</p>
</section>
${active && destination !== undefined && continueButton(destination)}
<dl class="facts">
<div><dt>Short link</dt><dd><bdi>${view.shortUrl}</bdi></dd></div>
<div><dt>Created</dt><dd>${readableTime(view.createdAt)}</dd></div>
<div><dt>Expires</dt><dd>${view.expiresAt === null ? 'Never' : readableTime(view.expiresAt)}</dd></div>
</dl>`;
}

function warningFor(state: string): string {
  const known = Object.hasOwn(stateWarnings, state) ? stateWarnings[state] : undefined;
  return known ?? `This link is not active: its state is “${state}”.`;
}

/**
 * The link goes to the URL that is shown, not through the short one, which could be edited in between; where none is
 * shown, it goes to the short one.
 */
function continueButton(destination: URL): Html {
  return html`<p class="actions"><a class="button" href="${destination.href}" rel="noopener noreferrer nofollow">Continue to <bdi>${destination.host}</bdi></a></p>`;
}

const days = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
});

function readableTime(timeMs: number): Html {
  const date = new Date(timeMs);
  if (Number.isNaN(date.getTime())) return html`Unknown`;
  const iso = date.toISOString();
  return html`<time datetime="${iso}">${days.format(date)}, ${iso.slice(-13, -8)} UTC</time>`;
}

export interface WarningView {
  readonly code: string;
  readonly shortUrl: string;
  /** The destination, with the part of the visitor's query that is passed on. */
  readonly location: string;
  /** Path and query on this server that continue to the destination, for this visitor and for a limited time. */
  readonly continuePath: string;
}

/**
 * The page before a quarantined link: its real destination, and a choice. It works without any script. Continuing is a
 * link, because our Content-Security-Policy stops a form that ends in a redirect to another site.
 */
export function warningPage(view: WarningView): string {
  return layout({
    title: 'Check this link · Terse',
    description: 'This short link is being checked.',
    indexable: false,
    kind: 'preview',
    main: warningContent(view),
  });
}

function warningContent({ code, shortUrl, location, continuePath }: WarningView): Html {
  const destination = webUrlOf(location);
  const letters = destination && hostInLetters(destination);
  return html`<p class="eyebrow">Warning</p>
<h1>Look before you go<span class="stop" aria-hidden="true">.</span></h1>
<p class="notice" role="note">This link is being checked because it shows signs of abuse. Do not enter a password, payment details or anything private there unless you are sure whose site it is.</p>
<section class="destination" aria-label="Destination">
<p class="destination-url">${destinationText(location, destination)}</p>
${letters !== undefined && destination !== undefined && lookAlike(letters, destination.hostname)}
</section>
<p class="actions"><a class="button" href="/">Do not go there</a> ${destination !== undefined && continueLink(continuePath, destination.host)}</p>
<dl class="facts">
<div><dt>Short link</dt><dd><bdi>${shortUrl}</bdi></dd></div>
<div><dt>You know it is bad?</dt><dd><a href="/report?code=${encodeURIComponent(code)}">Report abuse</a></dd></div>
</dl>`;
}

function lookAlike(letters: string, hostname: string): Html {
  return html`<p class="destination-letters">In a browser its name may look like <strong><bdi>${letters}</bdi></strong>. Its real name is <strong><bdi>${hostname}</bdi></strong>: letters of other alphabets can imitate a name that you know.</p>`;
}

function continueLink(path: string, host: string): Html {
  return html`<a class="button-quiet" href="${path}" rel="nofollow noreferrer">Continue to <bdi>${host}</bdi></a>`;
}

/** Undefined for any address a visitor should not be sent to; userinfo would appear where the host is expected. */
function webUrlOf(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  return url.username === '' && url.password === '' ? url : undefined;
}

/**
 * The host stands out because it distinguishes a bank from its imitation. It is shown in the parser's spelling: an
 * internationalised host in punycode, so that look-alikes look different.
 */
function destinationText(longUrl: string, destination = webUrlOf(longUrl)): Html {
  if (destination === undefined) return html`<bdi>${longUrl}</bdi>`;
  const { protocol, host, href } = destination;
  const before = `${protocol}//`;
  return html`<bdi><span class="quiet">${before}</span><strong>${host}</strong>${href.slice(before.length + host.length)}</bdi>`;
}

/** The host in its own letters; undefined where they are the plain ones that the address shows anyway. */
function hostInLetters({ hostname }: URL): string | undefined {
  if (!/(?:^|\.)xn--/i.test(hostname)) return undefined;
  const letters = domainToUnicode(hostname);
  return letters === '' || letters === hostname ? undefined : letters;
}
