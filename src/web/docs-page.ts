/**
 * The API reference: readable offline and without script, rendered from the same OpenAPI document that
 * machines read, so the two cannot disagree.
 */
import {
  type BodyView,
  type OpenApiDocument,
  type Operation,
  type OperationGroup,
  type ProblemView,
  type ResponseView,
  readApiReference,
} from './api-reference.ts';
import { type Html, html } from './html.ts';
import { layout } from './layout.ts';
import type { FieldRow } from './schema-fields.ts';

/** On a thread of its own, because it takes as long as thousands of redirects. */
export function renderDocs(document: OpenApiDocument): Promise<string> {
  const thread = new Worker(new URL('./docs-thread.ts', import.meta.url));
  const page = new Promise<string>((resolve, reject) => {
    thread.onmessage = ({ data }: MessageEvent<string>) => resolve(data);
    thread.onerror = ({ message }) => reject(new Error(message));
  });
  thread.postMessage(document);
  return page.finally(() => thread.terminate());
}

export function docsPage(document: OpenApiDocument): string {
  const reference = readApiReference(document);
  return layout({
    title: 'API reference · Terse',
    description: 'Every operation of the Terse API, with its parameters, answers and an example.',
    indexable: true,
    kind: 'docs',
    main: html`<div class="docs-intro">
<h1>API reference<span class="stop" aria-hidden="true">.</span></h1>
<p class="eyebrow">${reference.title} ${reference.version}</p>
${prose(reference.description)}
<p>For machines: <a href="/api/v1/openapi.json">OpenAPI document</a></p>
</div>
<nav class="contents" aria-labelledby="contents-heading">
<h2 id="contents-heading">Contents</h2>
${reference.groups.map(contents)}
${reference.problems.length > 0 && html`<p><a href="#problems">Problems</a></p>`}
</nav>
<div class="operations">
${reference.groups.map(groupSection)}
${reference.problems.length > 0 && problemSection(reference.problems)}
</div>`,
  });
}

function contents(group: OperationGroup): Html {
  return html`<h3>${group.name}</h3>
<ul>
${group.operations.map(
  operation => html`<li><a href="#${operation.anchor}">${methodName(operation)} <span>${operation.summary || operation.path}</span></a></li>
`,
)}</ul>
`;
}

function groupSection(group: OperationGroup): Html {
  return html`<section class="group">
<h2>${group.name}</h2>
${prose(group.description)}
${group.operations.map(operationArticle)}
</section>
`;
}

/** Where the `type` of a problem document leads. */
function problemSection(problems: readonly ProblemView[]): Html {
  return html`<section class="group" id="problems">
<h2>Problems</h2>
<table>
<caption>What <code>code</code> in a problem document can be</caption>
<thead><tr><th scope="col">Code</th><th scope="col">Status and meaning</th></tr></thead>
<tbody>
${problems.map(
  ({ code, status, title }) => html`<tr id="problem-${code}">
<th scope="row"><code>${code}</code></th>
<td><code>${status}</code> ${title}</td>
</tr>
`,
)}</tbody>
</table>
</section>
`;
}

function operationArticle(operation: Operation): Html {
  return html`<article class="operation" id="${operation.anchor}" aria-labelledby="${operation.anchor}-heading">
<h3 id="${operation.anchor}-heading">${operation.summary || `${operation.method} ${operation.path}`}</h3>
<p class="endpoint">${methodName(operation)} <code>${operation.path}</code></p>
${operation.deprecated && html`<p class="notice" role="note">Deprecated: do not use it in new work.</p>`}
${prose(operation.description)}
<p class="authentication"><span class="quiet">Authentication</span> ${inlineCode(operation.authentication)}</p>
${operation.parameters.length > 0 && fieldTable('Parameters', operation.parameters)}
${operation.requestBody !== undefined && requestBody(operation.requestBody)}
${operation.responses.length > 0 && responseTable(operation.responses)}
${operation.responses.map(responseBody)}
<h4>Example</h4>
<pre tabindex="0"><code>${operation.curl}</code></pre>
</article>
`;
}

/** The colour of a method is decoration; its word carries the meaning. */
function methodName({ method }: Operation): Html {
  return html`<code class="method" data-method="${method}">${method}</code>`;
}

function requestBody(body: BodyView): Html {
  const caption = html`Request body ${bodyType(body)}`;
  const content = body.fields.length > 0 ? fieldTable(caption, body.fields) : html`<p>${caption}</p>`;
  return html`${content}
${prose(body.description)}`;
}

function bodyType({ mediaType, type }: BodyView): Html {
  return html`<span class="body-type"><code>${mediaType}</code> ${type}</span>`;
}

function fieldTable(
  caption: Html | string,
  rows: readonly (FieldRow & { readonly location?: string })[],
): Html {
  return html`<table>
<caption>${caption}</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Meaning</th></tr></thead>
<tbody>
${rows.map(fieldTableRow)}</tbody>
</table>`;
}

function fieldTableRow(row: FieldRow & { readonly location?: string }): Html {
  const constraints = [...row.constraints];
  if (row.defaultValue !== undefined) constraints.push(`default ${row.defaultValue}`);
  return html`<tr>
<th scope="row"><code>${row.name}</code> <span class="type">${row.type}${row.location !== undefined && `, in ${row.location}`}</span>${row.required && html` <span class="required">required</span>`}</th>
<td>${prose(row.description)}${constraints.length > 0 && html`<p class="constraints">${constraints.join(' · ')}</p>`}</td>
</tr>
`;
}

function responseTable(responses: readonly ResponseView[]): Html {
  return html`<table class="responses">
<caption>Responses</caption>
<thead><tr><th scope="col">Status</th><th scope="col">Meaning</th></tr></thead>
<tbody>
${responses.map(
  response => html`<tr>
<th scope="row"><code>${response.status}</code></th>
<td>${prose(response.description)}${response.problemCodes.length > 0 && html`<p>${response.problemCodes.map(code => html`<code class="problem-code">${code}</code> `)}</p>`}</td>
</tr>
`,
)}</tbody>
</table>`;
}

function responseBody({ status, body }: ResponseView): Html | false {
  if (body === undefined || body.fields.length === 0) return false;
  return html`<details>
<summary>Fields of the ${status} answer</summary>
${fieldTable(bodyType(body), body.fields)}
</details>
`;
}

/** Descriptions are Markdown by the specification; paragraphs and `code` are what ours use. */
function prose(text: string): Html[] {
  const paragraphs = text.split(/\n\s*\n/).filter(paragraph => paragraph.trim() !== '');
  return paragraphs.map(paragraph => html`<p>${inlineCode(paragraph.trim())}</p>`);
}

function inlineCode(text: string): (Html | string)[] {
  const parts = text.split(/`([^`]+)`/);
  return parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}
