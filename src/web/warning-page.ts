/**
 * What a visitor sees before a quarantined link: where it really leads, in plain text, and a choice. It works without
 * any script, and going on is a link, because a form that ends in a redirect to another site is stopped by the policy
 * that every page of ours carries.
 */
import { destinationText, hostInLetters, webUrlOf } from './destination.ts';
import { type Html, html } from './html.ts';
import { layout } from './layout.ts';

export interface WarningView {
  readonly code: string;
  readonly shortUrl: string;
  /** Where the link leads, with whatever of the visitor's query it takes along. */
  readonly location: string;
  /** Path and query on this server that lead on, for this visitor and for a while. */
  readonly continuePath: string;
}

export function warningPage(view: WarningView): string {
  return layout({
    title: 'Look before you go · Terse',
    description: 'This short link is being checked.',
    indexable: false,
    kind: 'preview',
    main: content(view),
  });
}

function content({ code, shortUrl, location, continuePath }: WarningView): Html {
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
<div><dt>You know it is bad?</dt><dd><a href="/report?code=${encodeURIComponent(code)}">Report this link</a></dd></div>
</dl>`;
}

function lookAlike(letters: string, hostname: string): Html {
  return html`<p class="destination-letters">In a browser its name may look like <strong><bdi>${letters}</bdi></strong>. Its real name is <strong><bdi>${hostname}</bdi></strong>: letters of other alphabets can imitate a name that you know.</p>`;
}

function continueLink(path: string, host: string): Html {
  return html`<a class="button-quiet" href="${path}" rel="nofollow noreferrer">Continue to <bdi>${host}</bdi></a>`;
}
