/**
 * The pages with a form: the landing page, which makes a short link, and the report of a bad one. Each form is driven by
 * its script in assets/, which finds its parts by the ids here. It is a POST form with a disabled button until the
 * script is ready, so that an API key can never end up in an address bar.
 */
import { type Html, html } from './html.ts';
import { layout } from './layout.ts';

interface LandingView {
  /** Public origin of the short links, such as `https://terse.example`. */
  readonly baseUrl: string;
  readonly anonymousAllowed: boolean;
}

export function landingPage(view: LandingView): string {
  return layout({
    title: 'Terse: short links',
    description: promise(view),
    indexable: true,
    kind: 'landing',
    script: '/assets/landing.js',
    main: landingContent(view),
  });
}

/** Promises only what this visitor can do: a link created without an account cannot be edited. */
const promise = ({ anonymousAllowed }: LandingView): string =>
  anonymousAllowed
    ? 'Terse turns a long web address into a short link. No account needed.'
    : 'Terse turns a long web address into a short link that you can edit, expire or switch off.';

function landingContent(view: LandingView): Html {
  const shortOrigin = view.baseUrl.replace(/^https?:\/\//, '').replace(/\/+$/, '');
  return html`<h1>Say it shorter<span class="stop" aria-hidden="true">.</span></h1>
<p class="lede">${promise(view)}</p>
<p class="edited" aria-hidden="true"><del>https://example.com/2026/spring/collection/items?ref=newsletter&amp;page=1</del> <ins>${shortOrigin}/k7Rp2wX</ins></p>
${shortenForm(view, shortOrigin)}
${resultArea}
<noscript><p class="notice">The box above needs JavaScript. Without it, use the command below.</p></noscript>
<section class="terminal" aria-labelledby="terminal-heading">
<h2 id="terminal-heading">From a terminal</h2>
<pre tabindex="0"><code>${curlCommand(view)}</code></pre>
<p>With an account you can edit links, let them expire, choose their aliases and see their clicks: in the <a href="/dashboard">dashboard</a>, or by the <a href="/docs">API</a>.</p>
</section>`;
}

function shortenForm(view: LandingView, shortOrigin: string): Html {
  return html`<form id="shorten-form" class="shorten" method="post" action="/api/v1/links" novalidate>
${!view.anonymousAllowed && keyField('Links on this server are made with an API key. It is not stored.')}
<div class="shorten-row">
<div class="field">
<label for="long-url">Long web address</label>
<input id="long-url" name="longUrl" type="url" inputmode="url" required maxlength="2048" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="https://" aria-describedby="shorten-error">
</div>
<button id="shorten-button" class="button" type="submit" disabled>Shorten</button>
</div>
<p id="shorten-error" class="form-error" role="alert"></p>
<details id="shorten-options">
<summary>Choose an alias</summary>
<div class="field">
<label for="custom-alias">Alias</label>
<div class="prefixed"><span aria-hidden="true">${shortOrigin}/</span><input id="custom-alias" name="customAlias" type="text" maxlength="64" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="custom-alias-help"></div>
<p id="custom-alias-help" class="help">Up to 64 letters, digits, hyphens or underscores.</p>
</div>
${view.anonymousAllowed && keyField('An alias needs the API key of an account. It is not stored.')}
</details>
</form>`;
}

function keyField(help: string): Html {
  return html`<div class="field">
<label for="api-key">API key</label>
<input id="api-key" type="password" autocomplete="off" spellcheck="false" aria-describedby="api-key-help">
<p id="api-key-help" class="help">${help}</p>
</div>`;
}

const resultArea = html`<section id="result" class="result" aria-labelledby="result-heading" tabindex="-1" hidden>
<div class="result-text">
<h2 id="result-heading">Your short link</h2>
<p id="result-note" class="notice" hidden></p>
<p class="short-link"><a id="short-link"></a></p>
<p class="result-source">leads to <bdi id="result-source"></bdi></p>
<p id="result-actions" class="actions"><button id="copy-button" class="button" type="button">Copy</button> <a id="preview-link" class="button-quiet">Preview</a> <span id="copy-status" class="quiet" role="status"></span></p>
</div>
<div id="qr-code" class="qr-code" hidden></div>
</section>`;

function curlCommand(view: LandingView): string {
  return [
    `curl ${view.baseUrl.replace(/\/+$/, '')}/api/v1/links`,
    ...(view.anonymousAllowed ? [] : ['  -H "Authorization: Bearer $TERSE_KEY"']),
    "  -H 'Content-Type: application/json'",
    `  -d '{"longUrl": "https://example.com/a/long/path"}'`,
  ].join(' \\\n');
}

interface ReportView {
  /** The link to report, if known; this is untrusted input. */
  readonly code: string;
}

const categories: readonly (readonly [value: string, words: string])[] = [
  ['phishing', 'It pretends to be someone else to get passwords or money'],
  ['malware', 'It offers harmful software'],
  ['spam', 'It is unwanted advertising'],
  ['illegal', 'It leads to something illegal'],
  ['other', 'Something else'],
];

/** The public page to report a bad short link. The form is sent by report.js; it needs no account and no cookie. */
export function reportPage(view: ReportView): string {
  return layout({
    title: 'Report abuse · Terse',
    description: 'Report a short link that leads to something bad.',
    indexable: false,
    kind: 'report',
    main: reportContent(view),
    script: '/assets/report.js',
  });
}

function reportContent({ code }: ReportView): Html {
  return html`<p class="eyebrow">Report</p>
<h1>Report abuse<span class="stop" aria-hidden="true">.</span></h1>
<p class="lede">A person will look at it. You do not need an account, and who you are is not kept.</p>
<form id="report-form" class="report" method="post" action="/api/v1/reports" novalidate>
<div class="field">
<label for="report-code">Short link, or its code</label>
<input id="report-code" name="shortCode" type="text" required maxlength="200" autocomplete="off" autocapitalize="none" spellcheck="false" value="${code}" aria-describedby="report-error">
</div>
<div class="field">
<label for="report-category">What is wrong with it</label>
<select id="report-category" name="category">${categories.map(([value, words]) => html`<option value="${value}">${words}</option>`)}</select>
</div>
<div class="field">
<label for="report-text">What you saw (optional)</label>
<textarea id="report-text" name="text" rows="4" maxlength="2000"></textarea>
</div>
<p id="report-error" class="form-error" role="alert"></p>
<p class="actions"><button id="report-button" class="button" type="submit" disabled>Send the report</button></p>
</form>
<p id="report-done" class="lede" role="status" tabindex="-1" hidden>Thank you. The report was received.</p>
<noscript><p class="notice">The form needs JavaScript. Without it, send the report by the <a href="/docs">API</a>.</p></noscript>`;
}
