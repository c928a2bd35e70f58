/**
 * The API reference: Swagger UI draws it in the browser from the OpenAPI document that machines read. Its files come
 * from the installed package, so the page works offline and under the same policy as every page. The table of problems,
 * where the `type` of a problem document leads, needs no script.
 */
import packageDocument from 'swagger-ui-dist/package.json' with { type: 'json' };
import stylePath from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' };
import scriptPath from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' };
import { problemTable } from '../base/errors.ts';
import { html } from './html.ts';
import { assetHeaders, layout } from './layout.ts';

/** A hash of the version instead of the content, so that no file is read at the start. */
const version = new Bun.CryptoHasher('sha256')
  .update(`swagger-ui-dist ${packageDocument.version}`)
  .digest('hex')
  .slice(0, 32);
const stylesheet = '/assets/swagger-ui.css';
const script = '/assets/swagger-ui.js';
const versioned = (path: string): string => `${path}?v=${version.slice(0, 12)}`;

export function docsPage(): string {
  return layout({
    title: 'API reference · Terse',
    description: 'Every operation of the Terse API, with its parameters and answers.',
    indexable: true,
    kind: 'docs',
    script: '/assets/docs.js',
    head: html`<link rel="stylesheet" href="${versioned(stylesheet)}">
<script src="${versioned(script)}" defer></script>`,
    main: html`<h1>API reference<span class="stop" aria-hidden="true">.</span></h1>
<p>For machines: <a href="/api/v1/openapi.json">OpenAPI document</a>. Errors: <a href="#problems">problem codes</a>.</p>
<noscript><p class="notice">The reference needs JavaScript. Without it, read the OpenAPI document.</p></noscript>
<p class="notice" id="docs-error" role="alert" hidden>The OpenAPI document cannot be loaded. Reload the page.</p>
<div id="reference"></div>
<section class="problems" id="problems">
<h2>Problem codes</h2>
<table>
<caption>What <code>code</code> in a problem document can be</caption>
<thead><tr><th scope="col">Code</th><th scope="col">Status and meaning</th></tr></thead>
<tbody>
${Object.entries(problemTable).map(
  ([code, { status, title }]) => html`<tr id="problem-${code}">
<th scope="row"><code>${code}</code></th>
<td><code>${status}</code> ${title}</td>
</tr>
`,
)}</tbody>
</table>
</section>`,
  });
}

type FileHandler = (request: Request) => Promise<Response>;

/** The renderer's files by path. Each is read at its first request. */
export function docsFileHandlers(): Record<string, FileHandler> {
  return {
    [stylesheet]: fileHandler(stylePath, 'text/css; charset=utf-8'),
    [script]: fileHandler(scriptPath, 'text/javascript; charset=utf-8'),
  };
}

function fileHandler(path: string, contentType: string): FileHandler {
  let loading: Promise<Uint8Array<ArrayBuffer>> | undefined;
  const headers = { ...assetHeaders, 'Content-Type': contentType, ETag: `"${version}"` };
  return async request => {
    if (request.headers.get('if-none-match') === headers.ETag)
      return new Response(null, { status: 304, headers });
    loading ??= Bun.file(path)
      .bytes()
      .catch(error => {
        loading = undefined;
        throw error;
      });
    return new Response(await loading, { headers });
  };
}
