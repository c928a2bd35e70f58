/** The one page of the dashboard. Everything in it is drawn by the script; without it, it says what is missing. */
import { assetUrl } from '../assets.ts';
import { html } from '../html.ts';
import type { DashboardBundle } from './bundle.ts';
import { texts } from './texts.ts';

export interface ShellView {
  readonly bundle: Pick<DashboardBundle, 'script' | 'theme' | 'style' | 'map'>;
  /** Public origin of the short links. */
  readonly baseUrl: string;
}

export function shellPage({ bundle, baseUrl }: ShellView): string {
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${texts.product}</title>
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="terse-base-url" content="${baseUrl}">
<meta name="terse-map" content="${bundle.map.path}">
<link rel="icon" href="${assetUrl('/assets/favicon.svg')}" type="image/svg+xml">
<script src="${bundle.theme.path}"></script>
<link rel="stylesheet" href="${bundle.style.path}">
<script type="module" src="${bundle.script.path}"></script>
</head>
<body>
<div id="dashboard"></div>
<noscript><p class="noscript">${texts.noScript}</p></noscript>
</body>
</html>
`.toString();
}
