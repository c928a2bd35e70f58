/**
 * Where a short link leads, told before going there. The owner of the link chose the title and the URL, so
 * both are hostile until proven otherwise: they appear as text, and only http and https become a link.
 */
import { destinationText, webUrlOf } from './destination.ts';
import { type Html, html } from './html.ts';
import { layout } from './layout.ts';

export interface PreviewView {
  readonly code: string;
  readonly shortUrl: string;
  /** Null where only following the link may show it. */
  readonly longUrl: string | null;
  /** Why the destination is not shown; null where it is. */
  readonly notice: string | null;
  readonly title: string | null;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly state: string;
}

const stateWarnings: Record<string, string> = {
  disabled: 'This link is switched off. The short address does not lead anywhere at the moment.',
  expired: 'This link has expired. The short address does not lead anywhere any more.',
  exhausted: 'This link has reached its limit of visits. The short address does not lead anywhere any more.',
  deleted: 'This link was deleted. The short address does not lead anywhere any more.',
  quarantined: 'This link is being checked. Whoever follows the short address sees a warning first.',
  blocked: 'This link was blocked. The short address does not lead anywhere any more.',
  unsafe: 'This link is no longer allowed. Its destination is not one that this service sends people to.',
};

export function previewPage(view: PreviewView): string {
  return layout({
    title: `Preview of ${view.code} · Terse`,
    description: 'Where a short link leads.',
    indexable: false,
    kind: 'preview',
    main: content(view),
  });
}

function content(view: PreviewView): Html {
  const destination = webUrlOf(view.longUrl ?? view.shortUrl);
  const active = view.state === 'active';
  return html`<p class="eyebrow">Preview</p>
<h1>Where this link leads<span class="stop" aria-hidden="true">.</span></h1>
${!active && html`<p class="notice" role="note">${warningFor(view.state)}</p>`}
<section class="destination" aria-label="Destination">
${view.title !== null && view.title !== '' && html`<p class="destination-title"><bdi>${view.title}</bdi></p>`}
<p class="destination-url">${view.longUrl === null ? view.notice : destinationText(view.longUrl, destination)}</p>
</section>
${active && destination !== undefined && continueLink(destination)}
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
 * shown, the short one is all there is to follow.
 */
function continueLink(destination: URL): Html {
  return html`<p class="actions"><a class="button" href="${destination.href}" rel="noopener noreferrer nofollow">Continue to <bdi>${destination.host}</bdi></a></p>`;
}

const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

function readableTime(timeMs: number): Html {
  const date = new Date(timeMs);
  if (Number.isNaN(date.getTime())) return html`Unknown`;
  const iso = date.toISOString();
  const day = `${date.getUTCDate()} ${monthNames[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
  return html`<time datetime="${iso}">${day}, ${iso.slice(-13, -8)} UTC</time>`;
}
