/** One runnable command per operation, made of the examples and defaults that its schemas already carry. */
import { type JsonObject, jsonText, listOf, objectOf, type References, textOf } from './json-value.ts';

export interface CurlRequest {
  readonly method: string;
  readonly serverUrl: string;
  readonly path: string;
  readonly parameters: readonly JsonObject[];
  readonly authenticated: boolean;
  /** The media type object of a JSON body; undefined without a body. */
  readonly jsonBody: JsonObject | undefined;
}

const depthMax = 5;

export function curlExample(request: CurlRequest, references: References): string {
  const url = request.serverUrl + filledPath(request, references) + requiredQuery(request, references);
  const lines = [
    request.method === 'GET' ? `curl ${quoted(url)}` : `curl -X ${request.method} ${quoted(url)}`,
  ];
  if (request.authenticated) lines.push('  -H "Authorization: Bearer $TERSE_KEY"');
  if (request.jsonBody !== undefined) {
    const body = mediaExample(request.jsonBody) ?? sample(request.jsonBody.schema, '', references);
    lines.push("  -H 'Content-Type: application/json'", `  -d ${quoted(jsonText(body))}`);
  }
  return lines.join(' \\\n');
}

/** Single quotes keep everything as it is in a shell, except the single quote. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function filledPath({ path, parameters }: CurlRequest, references: References): string {
  return path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const parameter = parameters.find(candidate => candidate.name === name && candidate.in === 'path');
    return encodeURIComponent(parameterValue(name, parameter ?? {}, references));
  });
}

function requiredQuery({ parameters }: CurlRequest, references: References): string {
  const pairs = parameters
    .filter(parameter => parameter.in === 'query' && parameter.required === true)
    .map(parameter => {
      const name = textOf(parameter.name);
      return `${encodeURIComponent(name)}=${encodeURIComponent(parameterValue(name, parameter, references))}`;
    });
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function parameterValue(name: string, parameter: JsonObject, references: References): string {
  const value = mediaExample(parameter) ?? sample(parameter.schema, name, references);
  if (typeof value === 'object') return jsonText(value);
  return value === 'text' ? name : String(value);
}

/** The example beside a schema rather than in it; `examples` there is a table of named ones. */
function mediaExample(holder: JsonObject): unknown {
  if (holder.example !== undefined) return holder.example;
  return objectOf(Object.values(objectOf(holder.examples))[0]).value;
}

function sample(schema: unknown, name: string, references: References, depth = 0): unknown {
  const resolved = references.resolve(schema);
  const given = [resolved.example, listOf(resolved.examples)[0], resolved.default, resolved.const];
  const ready = [...given, listOf(resolved.enum)[0]].find(value => value !== undefined && value !== null);
  if (ready !== undefined) return ready;
  if (depth >= depthMax) return null;
  for (const part of ['anyOf', 'oneOf', 'allOf'].flatMap(keyword => listOf(resolved[keyword]))) {
    const value = sample(part, name, references, depth + 1);
    if (value !== null && value !== undefined) return value;
  }
  return sampleOfType(resolved, name, references, depth);
}

function sampleOfType(schema: JsonObject, name: string, references: References, depth: number): unknown {
  const declared = listOf(schema.type).find(candidate => candidate !== 'null') ?? schema.type;
  const type = declared ?? (schema.properties === undefined ? 'string' : 'object');
  if (type === 'object') return sampleObject(schema, references, depth);
  if (type === 'array') return [sample(schema.items, name, references, depth + 1)];
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  if (schema.format === 'date-time') return '2030-01-01T00:00:00Z';
  if (schema.format === 'uri' || /url$/i.test(name)) return 'https://example.com/a/long/path';
  return 'text';
}

/** What must be there, or the first field where nothing must: an empty body teaches nothing. */
function sampleObject(schema: JsonObject, references: References, depth: number): JsonObject {
  const properties = Object.entries(objectOf(schema.properties));
  const required = new Set(listOf(schema.required));
  const needed = properties.filter(([name]) => required.has(name));
  const shown = needed.length > 0 ? needed : properties.slice(0, 1);
  return Object.fromEntries(
    shown.map(([name, property]) => [name, sample(property, name, references, depth + 1)]),
  );
}
