import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { OpenApiDocument } from './api-reference.ts';
import { docsPage } from './docs-page.ts';
import { describePage, elementsOf, hostileText, unbalancedTags } from './page.conformance.ts';

const problem = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };

const sample = {
  openapi: '3.1.0',
  info: { title: 'Terse', version: '1.2.3', description: 'Short links.\n\nUse `longUrl`.' },
  servers: [{ url: 'https://terse.example/' }],
  security: [{ bearer: [] }, { header: [] }],
  tags: [{ name: 'Links', description: 'Make and change links.' }],
  paths: {
    '/api/v1/links': {
      post: {
        operationId: 'createLink',
        tags: ['Links'],
        summary: 'Create a link',
        security: [{}, { bearer: [] }],
        requestBody: {
          content: { 'application/json': { schema: { $ref: '#/components/schemas/NewLink' } } },
        },
        responses: {
          201: {
            description: 'Created.',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Link' } } },
          },
          409: { description: 'Taken.', content: problem },
        },
      },
    },
    '/api/v1/links/bulk': {
      post: {
        summary: 'Create many',
        requestBody: {
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['links'],
                properties: {
                  links: { type: 'array', maxItems: 10_000, items: { $ref: '#/components/schemas/NewLink' } },
                  matrix: { type: 'array', items: { type: 'array', items: { type: 'integer' } } },
                },
              },
            },
          },
        },
      },
    },
    '/api/v1/links/{code}': {
      parameters: [{ $ref: '#/components/parameters/Code' }],
      delete: {
        tags: ['Links'],
        deprecated: true,
        security: [],
        responses: { 204: { description: 'Gone.' } },
      },
      get: {
        tags: ['Links'],
        parameters: [{ name: 'fields', in: 'query', required: true, schema: { enum: ['all', 'few'] } }],
      },
    },
  },
  components: {
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer' },
      header: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
    },
    parameters: {
      Code: { name: 'code', in: 'path', required: true, example: 'x7Kq2Rt', schema: { type: 'string' } },
    },
    schemas: {
      NewLink: {
        type: 'object',
        required: ['longUrl'],
        properties: {
          longUrl: {
            type: 'string',
            format: 'uri',
            maxLength: 2048,
            description: "The owner's destination.",
          },
          expiresAt: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }], default: null },
          redirectType: { type: 'integer', enum: [301, 302], default: 302 },
          tags: { type: 'array', items: { type: 'string' }, uniqueItems: true },
          parent: { $ref: '#/components/schemas/NewLink' },
        },
      },
      Link: {
        allOf: [{ $ref: '#/components/schemas/NewLink' }, { properties: { status: { const: 'active' } } }],
      },
      Problem: { type: 'object', properties: { code: { enum: ['alias_taken', 'alias_reserved'] } } },
    },
  },
} satisfies OpenApiDocument;

/** The markup of one operation, by its anchor. */
function operation(anchor: string): string {
  const page = docsPage(sample);
  const start = page.indexOf(`<article class="operation" id="${anchor}"`);
  expect(start).toBeGreaterThan(0);
  return page.slice(start, page.indexOf('</article>', start));
}

/** The same document with every string replaced, keys that hold words included. */
function poisoned(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith('#/') ? value : hostileText;
  if (Array.isArray(value)) return value.map(poisoned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, poisoned(part)]));
}

describePage('docsPage', () => docsPage(sample));
describePage('docsPage (empty)', () => docsPage({}));
describePage('docsPage (hostile words)', () => docsPage(poisoned(sample) as OpenApiDocument));
describePage('docsPage (hostile names)', () =>
  docsPage({
    paths: { [`/${hostileText}`]: { get: { responses: { [hostileText]: {} } } } },
    components: { schemas: { [hostileText]: {} } },
  }),
);

describe('docsPage', () => {
  test('lists every operation in its contents, each with its own anchor', async () => {
    const anchors = (await elementsOf(docsPage(sample)))
      .map(element => element.attributes.get('href') ?? '')
      .filter(href => href.startsWith('#operation'));
    expect(anchors).toEqual([
      '#operation-create-link',
      '#operation-post-api-v1-links-bulk',
      '#operation-get-api-v1-links-code',
      '#operation-delete-api-v1-links-code',
    ]);
  });

  test('keeps anchors apart when two operations share an id', async () => {
    const get = { operationId: 'same' };
    const page = docsPage({ paths: { '/a': { get }, '/b': { get } } });
    expect(page).toContain('id="operation-same"');
    expect(page).toContain('id="operation-same-2"');
  });

  test('shows the fields of a referenced body with type, limits, default and meaning', () => {
    const markup = operation('operation-create-link');
    expect(markup).toContain('<code>longUrl</code> <span class="type">string</span> <span class="required">');
    expect(markup).toContain('The owner&#39;s destination.');
    expect(markup).toContain('format uri · at most 2048 characters');
    expect(markup).toContain('<code>expiresAt</code> <span class="type">string or null</span>');
    expect(markup).toContain('format date-time · default null');
    expect(markup).toContain('one of 301, 302 · default 302');
    expect(markup).toContain('array of string');
    expect(markup).toContain('no item twice');
  });

  test('shows the parameters of a path with each of its operations, and fills them into the example', () => {
    for (const anchor of ['operation-get-api-v1-links-code', 'operation-delete-api-v1-links-code']) {
      expect(operation(anchor)).toContain('<code>code</code> <span class="type">string, in path</span>');
      expect(operation(anchor)).toContain('https://terse.example/api/v1/links/x7Kq2Rt');
    }
  });

  test('shows combined schemas as one, and what is always the same', () => {
    const markup = operation('operation-create-link');
    const answer = markup.slice(markup.indexOf('<details>'));
    expect(answer).toContain('<code>longUrl</code>');
    expect(answer).toContain('<code>status</code> <span class="type">string</span>');
    expect(answer).toContain('always &quot;active&quot;');
  });

  test('names nested fields by their path and nested arrays by their members', () => {
    const markup = operation('operation-post-api-v1-links-bulk');
    expect(markup).toContain('<code>links[].longUrl</code>');
    expect(markup).toContain('array of array of integer');
    expect(markup).toContain('at most 10000 items');
  });

  test('shows alternatives as one: their values in one list, their words and limits on the field', () => {
    const schema = {
      type: 'object',
      properties: {
        status: { anyOf: [{ const: 301 }, { const: 302 }] },
        title: { anyOf: [{ type: 'string', maxLength: 9, description: 'For people.' }, { type: 'null' }] },
      },
    };
    const page = docsPage({
      paths: { '/a': { put: { requestBody: { content: { 'application/json': { schema } } } } } },
    });
    expect(page).toContain('one of 301, 302');
    expect(page).toContain('<p>For people.</p><p class="constraints">at most 9 characters</p>');
  });

  test('leaves out limits that say nothing: those of the number type, and patterns of a named format', () => {
    const parameters = [
      {
        name: 'size',
        in: 'query',
        schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      },
      { name: 'when', in: 'query', schema: { type: 'string', format: 'date-time', pattern: '^noise$' } },
    ];
    const page = docsPage({ paths: { '/a': { get: { parameters } } } });
    expect(page).toContain('<p class="constraints">at least 1</p>');
    expect(page).toContain('<p class="constraints">format date-time</p>');
  });

  test('groups untagged operations by the resource in their path', () => {
    const get = {};
    const page = docsPage({
      paths: { '/api/v1/keys': { get }, '/health/live': { get }, '/{code}': { get } },
    });
    for (const group of ['Keys', 'Health', 'Other']) expect(page).toContain(`<h2>${group}</h2>`);
  });

  test('shows a key in the example only where there is no way without', () => {
    expect(operation('operation-create-link')).not.toContain('$TERSE_KEY');
    expect(operation('operation-get-api-v1-links-code')).toContain('$TERSE_KEY');
    expect(operation('operation-delete-api-v1-links-code')).not.toContain('$TERSE_KEY');
  });

  test('names the problem codes of an answer', () => {
    expect(operation('operation-create-link')).toContain(
      '<code class="problem-code">alias_taken</code> <code class="problem-code">alias_reserved</code>',
    );
  });

  test('has a place for each problem, which is where the type of a problem document leads', () => {
    const problems = { alias_taken: { status: 409, title: 'Taken' }, odd: null };
    const page = docsPage({ paths: {}, 'x-problems': problems });
    expect(page).toContain('<tr id="problem-alias_taken">');
    expect(page).toContain('<td><code>409</code> Taken</td>');
    expect(docsPage({ paths: {} })).not.toContain('id="problems"');
  });

  test('finds problem codes in examples where the schema names none', () => {
    const examples = { taken: { value: { code: 'alias_taken' } }, other: { value: { code: 'not_found' } } };
    const content = { 'application/problem+json': { schema: { type: 'object' }, examples } };
    const page = docsPage({ paths: { '/a': { get: { responses: { 409: { content } } } } } });
    expect(page).toContain('<code class="problem-code">alias_taken</code>');
    expect(page).toContain('<code class="problem-code">not_found</code>');
  });

  test('does not repeat problem codes that a description explains', () => {
    const content = {
      'application/problem+json': { schema: { properties: { code: { enum: ['a', 'b'] } } } },
    };
    const responses = { 400: { description: '`a`: It is explained.', content } };
    const page = docsPage({ paths: { '/x': { get: { responses } } } });
    expect(page).not.toContain('<code class="problem-code">a</code>');
    expect(page).toContain('<code class="problem-code">b</code>');
  });

  test('says who may call: anyone, key holders, or both', () => {
    expect(operation('operation-create-link')).toContain('Optional: <code>Authorization: Bearer</code> key');
    expect(operation('operation-get-api-v1-links-code')).toContain(
      'Required: <code>Authorization: Bearer</code> key or <code>X-Api-Key</code> header',
    );
    expect(operation('operation-delete-api-v1-links-code')).toContain('</span> None</p>');
  });

  test('marks what is deprecated', () => {
    expect(operation('operation-delete-api-v1-links-code')).toContain('Deprecated');
    expect(operation('operation-create-link')).not.toContain('Deprecated');
  });

  test('renders paragraphs and code of descriptions', () => {
    expect(docsPage(sample)).toContain('<p>Short links.</p><p>Use <code>longUrl</code>.</p>');
  });

  test('ends, whatever a circle of references', () => {
    const circle = { $ref: '#/components/schemas/A' };
    const page = docsPage({
      paths: { '/a': { post: { requestBody: { content: { 'application/json': { schema: circle } } } } } },
      components: { schemas: { A: { $ref: '#/components/schemas/B' }, B: circle } },
    });
    expect(unbalancedTags(page)).toEqual([]);
    expect(operation('operation-create-link')).toContain('<code>parent.parent.longUrl</code>');
  });

  test('survives any shape in any place', () => {
    const places = ['info', 'servers', 'security', 'tags', 'paths', 'components'] as const;
    const keyword = fc.constantFrom(
      ...['type', 'items', 'properties', 'required', 'enum', 'anyOf', 'allOf', 'oneOf', '$ref', 'format'],
      ...[
        'get',
        'post',
        'parameters',
        'requestBody',
        'responses',
        'content',
        'schema',
        'name',
        'in',
        'default',
      ],
      ...[
        'application/json',
        'application/problem+json',
        'examples',
        'code',
        'security',
        'tags',
        '__proto__',
      ],
    );
    const { tree } = fc.letrec<{ tree: unknown }>(tie => ({
      tree: fc.oneof(
        { depthSize: 'large', withCrossShrink: true },
        fc.oneof(fc.constantFrom(null, true, 0, '', '#/paths', '#/components', hostileText), fc.double()),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(keyword, tie('tree'), { maxKeys: 5 }),
      ),
    }));
    const pathItems = fc.dictionary(fc.constantFrom('/a', '/{b}', ''), fc.dictionary(keyword, tree));
    fc.assert(
      fc.property(fc.constantFrom(...places), tree, pathItems, (place, odd, paths) => {
        for (const document of [
          { ...sample, [place]: odd },
          { ...sample, paths },
        ]) {
          const page = docsPage(document as OpenApiDocument);
          expect(unbalancedTags(page)).toEqual([]);
          expect(page).not.toContain('<script>');
        }
      }),
    );
    const parameters = [{ name: 'odd', in: 'query', required: true, schema: { default: { size: 1n } } }];
    expect(docsPage({ paths: { '/a': { get: { parameters } } } })).toContain('<code>odd</code>');
    for (const odd of [null, [], 'text', 7]) expect(docsPage(odd as OpenApiDocument)).toContain('</html>');
  });
});
