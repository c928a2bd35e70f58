import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type CurlRequest, curlExample } from './curl-example.ts';
import { referencesIn } from './json-value.ts';

const references = referencesIn({
  components: {
    schemas: { Address: { type: 'string', format: 'uri', examples: ['https://example.com/x'] } },
  },
});

const request: CurlRequest = {
  method: 'GET',
  serverUrl: 'https://terse.example',
  path: '/api/v1/links',
  parameters: [],
  authenticated: false,
  jsonBody: undefined,
};

function bodyOf(schema: unknown): unknown {
  const command = curlExample({ ...request, method: 'POST', jsonBody: { schema } }, references);
  return JSON.parse(command.slice(command.indexOf("-d '") + 4, -1));
}

describe('curlExample', () => {
  test('is one short line for a plain read', () => {
    expect(curlExample(request, references)).toBe("curl 'https://terse.example/api/v1/links'");
  });

  test('names the method, the key and the body where they are needed', () => {
    const jsonBody = { example: { longUrl: 'https://example.com/' } };
    const command = curlExample({ ...request, method: 'POST', authenticated: true, jsonBody }, references);
    expect(command.split(' \\\n')).toEqual([
      "curl -X POST 'https://terse.example/api/v1/links'",
      '  -H "Authorization: Bearer $TERSE_KEY"',
      "  -H 'Content-Type: application/json'",
      `  -d '{"longUrl":"https://example.com/"}'`,
    ]);
  });

  test('fills in path parameters and required query parameters, encoded', () => {
    const parameters = [
      { name: 'code', in: 'path', required: true, example: 'a/b' },
      { name: 'from', in: 'query', required: true, schema: { type: 'string', format: 'date-time' } },
      { name: 'to', in: 'query', schema: { type: 'string' } },
    ];
    expect(curlExample({ ...request, path: '/{code}/{other}', parameters }, references)).toBe(
      "curl 'https://terse.example/a%2Fb/other?from=2030-01-01T00%3A00%3A00Z'",
    );
  });

  test('makes a body of the required fields, from examples, defaults and types', () => {
    const schema = {
      type: 'object',
      required: ['address', 'count', 'kind', 'on', 'many', 'longUrl', 'maybe'],
      properties: {
        address: { $ref: '#/components/schemas/Address' },
        count: { type: 'integer', minimum: 5 },
        kind: { enum: ['fast', 'slow'] },
        on: { type: ['null', 'boolean'] },
        many: { type: 'array', items: { type: 'string' } },
        longUrl: { type: 'string' },
        maybe: { anyOf: [{ type: 'null' }, { type: 'number' }] },
        notNeeded: { type: 'string' },
      },
    };
    expect(bodyOf(schema)).toEqual({
      address: 'https://example.com/x',
      count: 5,
      kind: 'fast',
      on: true,
      many: ['text'],
      longUrl: 'https://example.com/a/long/path',
      maybe: 1,
    });
  });

  test('shows the first field where none is required', () => {
    expect(bodyOf({ type: 'object', properties: { title: { type: 'string' }, tags: {} } })).toEqual({
      title: 'text',
    });
  });

  test('ends for a schema that contains itself', () => {
    const self: Record<string, unknown> = { type: 'object', required: ['self'] };
    self.properties = { self };
    expect(bodyOf(self)).toBeObject();
  });

  test('quotes so that a shell passes every body on unchanged', () => {
    const shellCharacters = fc.constantFrom("'", '"', '\\', '$', '`', '!', '\n', ' ', ';', '(', 'a');
    fc.assert(
      fc.property(fc.string({ unit: shellCharacters, minLength: 1 }), text => {
        const command = curlExample(
          { ...request, method: 'POST', jsonBody: { example: { text } } },
          references,
        );
        const script = command.replace(/^curl/, "printf '%s\\n'");
        const printed = Bun.spawnSync(['sh', '-c', script]).stdout.toString();
        expect(printed.split('\n').at(-2)).toBe(JSON.stringify({ text }));
      }),
      { numRuns: 20 },
    );
  });
});
