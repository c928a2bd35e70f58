/** Where anyone can say that a short link is bad. The form is sent by report.js; it needs no account and no cookie. */
import { type Html, html } from './html.ts';
import { layout } from './layout.ts';

export interface ReportView {
  /** The link to report, as far as it is known; anyone may have put anything there. */
  readonly code: string;
}

const categories: readonly (readonly [value: string, words: string])[] = [
  ['phishing', 'It pretends to be someone else to get passwords or money'],
  ['malware', 'It offers harmful software'],
  ['spam', 'It is unwanted advertising'],
  ['illegal', 'It leads to something illegal'],
  ['other', 'Something else'],
];

export function reportPage(view: ReportView): string {
  return layout({
    title: 'Report a link · Terse',
    description: 'Report a short link that leads to something bad.',
    indexable: false,
    kind: 'report',
    main: content(view),
    script: '/assets/report.js',
  });
}

function content({ code }: ReportView): Html {
  return html`<p class="eyebrow">Report</p>
<h1>Report a link<span class="stop" aria-hidden="true">.</span></h1>
<p class="lede">A person will look at it. You do not need an account, and who you are is not kept.</p>
<form id="report-form" class="report" method="post" action="/api/v1/reports" novalidate>
<div class="field">
<label for="report-code">Short link, or its ending</label>
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
