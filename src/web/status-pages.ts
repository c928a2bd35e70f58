/** The pages for links that do not lead anywhere: plain words, no blame, one next step. */
import { type Html, html } from './html.ts';
import { layout } from './layout.ts';

export type GoneReason = 'expired' | 'deleted' | 'disabled' | 'exhausted' | 'unsafe' | 'blocked';

const goneWords: Record<GoneReason, { title: string; detail: string }> = {
  expired: {
    title: 'This link has expired',
    detail: 'Its owner set an end date, and that date has passed.',
  },
  deleted: {
    title: 'This link was deleted',
    detail: 'Its owner removed it. This address will never lead anywhere else.',
  },
  disabled: {
    title: 'This link is switched off',
    detail: 'It does not lead anywhere at the moment. It may be switched on again.',
  },
  exhausted: {
    title: 'This link is used up',
    detail: 'It was made for a limited number of visits, and all of them are used.',
  },
  blocked: {
    title: 'This link was blocked',
    detail: 'It was used for abuse, and it no longer leads anywhere.',
  },
  unsafe: {
    title: 'This link is no longer allowed',
    detail: 'Its destination is not one that this service sends people to.',
  },
};

export function missingPage(): string {
  return statusPage({
    status: 404,
    title: 'Link not found',
    detail: 'The address may be mistyped: capital and small letters are different in a short link.',
  });
}

export function gonePage(view: { readonly reason: GoneReason }): string {
  return statusPage({ status: 410, ...goneWords[view.reason] });
}

interface ErrorView {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

export function errorPage(view: ErrorView): string {
  return statusPage(view);
}

function statusPage(view: ErrorView): string {
  return layout({
    title: `${view.title} · Terse`,
    description: view.detail,
    indexable: false,
    kind: 'status',
    main: content(view),
  });
}

function content({ status, title, detail }: ErrorView): Html {
  return html`<p class="eyebrow"><span class="visually-hidden">Status </span>${status}</p>
<h1>${title}<span class="stop" aria-hidden="true">.</span></h1>
<p class="lede">${detail}</p>
<p class="actions"><a class="button" href="/">Make a short link</a></p>`;
}
