/**
 * An OpenAPI 3.1 document as the API reference shows it: operations in groups, each with what a caller must
 * know. This is the only file that knows OpenAPI's shape; docs-page.ts only lays the result out.
 */
import { curlExample } from './curl-example.ts';
import { type JsonObject, listOf, objectOf, type References, referencesIn, textOf } from './json-value.ts';
import { type FieldRow, fieldRow, fieldRows, typeName } from './schema-fields.ts';

/** Only what is looked at; everything below is read as unknown. */
export interface OpenApiDocument {
  readonly openapi?: unknown;
  readonly info?: unknown;
  readonly servers?: unknown;
  readonly paths?: unknown;
  readonly components?: unknown;
  readonly security?: unknown;
  readonly tags?: unknown;
  /** Ours: every way to be refused, by code, with `status` and `title`. */
  readonly 'x-problems'?: unknown;
}

export interface ApiReference {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly groups: readonly OperationGroup[];
  readonly problems: readonly ProblemView[];
}

export interface ProblemView {
  readonly code: string;
  readonly status: string;
  readonly title: string;
}

export interface OperationGroup {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

export interface Operation {
  /** Unique within the page. */
  readonly anchor: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly deprecated: boolean;
  readonly authentication: string;
  readonly parameters: readonly (FieldRow & { readonly location: string })[];
  readonly requestBody: BodyView | undefined;
  readonly responses: readonly ResponseView[];
  readonly curl: string;
}

export interface BodyView {
  readonly mediaType: string;
  readonly type: string;
  readonly description: string;
  readonly fields: readonly FieldRow[];
}

export interface ResponseView {
  readonly status: string;
  readonly description: string;
  /** What `code` in a problem document can be. */
  readonly problemCodes: readonly string[];
  /** Absent for problems, which all have one shape. */
  readonly body: BodyView | undefined;
}

const methods = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'] as const;

export function readApiReference(document: OpenApiDocument): ApiReference {
  const root = objectOf(document);
  const references = referencesIn(root);
  const info = objectOf(root.info);
  const anchors = new Set<string>();
  const groups = new Map<string, Operation[]>();
  for (const [path, item] of Object.entries(objectOf(root.paths))) {
    const pathItem = references.resolve(item);
    for (const method of methods) {
      if (typeof pathItem[method] !== 'object' || pathItem[method] === null) continue;
      const source = objectOf(pathItem[method]);
      const operation = readOperation({ root, references, pathItem, source, path, method, anchors });
      const group = textOf(listOf(source.tags)[0]) || resourceOf(path);
      groups.set(group, [...(groups.get(group) ?? []), operation]);
    }
  }
  const tags = listOf(root.tags).map(objectOf);
  return {
    title: textOf(info.title) || 'API',
    version: textOf(info.version),
    description: textOf(info.description),
    groups: [...groups].map(([name, operations]) => ({
      name,
      description: textOf(tags.find(tag => tag.name === name)?.description),
      operations,
    })),
    problems: Object.entries(objectOf(root['x-problems'])).map(([code, row]) => ({
      code,
      status: String(objectOf(row).status ?? ''),
      title: textOf(objectOf(row).title),
    })),
  };
}

/** Where nothing is tagged, the first word of the path that is not a version is the resource. */
function resourceOf(path: string): string {
  const word = path.split('/').find(part => /^[a-z][a-z-]*$/i.test(part) && part !== 'api');
  return word === undefined ? 'Other' : word.slice(0, 1).toUpperCase() + word.slice(1);
}

interface OperationSource {
  readonly root: JsonObject;
  readonly references: References;
  readonly pathItem: JsonObject;
  readonly source: JsonObject;
  readonly path: string;
  readonly method: string;
  readonly anchors: Set<string>;
}

function readOperation({
  root,
  references,
  pathItem,
  source,
  path,
  method,
  anchors,
}: OperationSource): Operation {
  const parameters = [...listOf(pathItem.parameters), ...listOf(source.parameters)]
    .map(references.resolve)
    .filter(parameter => textOf(parameter.name) !== '');
  const requirements = listOf(source.security ?? root.security).map(entry => Object.keys(objectOf(entry)));
  const content = objectOf(references.resolve(source.requestBody).content);
  return {
    anchor: uniqueAnchor(textOf(source.operationId) || `${method} ${path}`, anchors),
    method: method.toUpperCase(),
    path,
    summary: textOf(source.summary),
    description: textOf(source.description),
    deprecated: source.deprecated === true,
    authentication: authenticationOf(requirements, objectOf(root.components), references),
    parameters: parameters.map(parameter => readParameter(parameter, references)),
    requestBody: readBody(content, textOf(references.resolve(source.requestBody).description), references),
    responses: Object.entries(objectOf(source.responses)).map(([status, response]) =>
      readResponse(status, references.resolve(response), references),
    ),
    curl: curlExample(
      {
        method: method.toUpperCase(),
        serverUrl: serverUrlOf(root),
        path,
        parameters,
        // The simplest command that works: a key is only shown where there is no way without.
        authenticated: requirements.length > 0 && requirements.every(names => names.length > 0),
        jsonBody: Object.hasOwn(content, 'application/json')
          ? objectOf(content['application/json'])
          : undefined,
      },
      references,
    ),
  };
}

function uniqueAnchor(name: string, taken: Set<string>): string {
  const slug = name.replace(/([a-z])([A-Z])/g, '$1-$2').replace(/[^0-9A-Za-z]+/g, '-');
  const base = `operation-${slug.replace(/^-|-$/g, '').toLowerCase()}`;
  let anchor = base;
  for (let suffix = 2; taken.has(anchor); suffix += 1) anchor = `${base}-${suffix}`;
  taken.add(anchor);
  return anchor;
}

function serverUrlOf(root: JsonObject): string {
  const url = textOf(objectOf(listOf(root.servers)[0]).url).replace(/\/+$/, '');
  return /^https?:\/\//.test(url) ? url : `https://terse.example${url}`;
}

function readParameter(parameter: JsonObject, references: References): FieldRow & { location: string } {
  const row = fieldRow(textOf(parameter.name), parameter.schema, parameter.required === true, references);
  const description = textOf(parameter.description) || row.description;
  return { ...row, description, location: textOf(parameter.in) || 'query' };
}

function readBody(content: JsonObject, description: string, references: References): BodyView | undefined {
  const [mediaType, media] = Object.entries(content)[0] ?? [];
  if (mediaType === undefined) return undefined;
  const schema = objectOf(media).schema;
  const type = typeName(schema, references);
  return { mediaType, type, description, fields: fieldRows(schema, references) };
}

const problemMediaType = 'application/problem+json';

function readResponse(status: string, response: JsonObject, references: References): ResponseView {
  const { [problemMediaType]: problem, ...content } = objectOf(response.content);
  return {
    status,
    description: textOf(response.description),
    problemCodes: problemCodesOf(objectOf(problem), references).filter(
      // A description that explains its codes has named them.
      code => !textOf(response.description).includes(`\`${code}\``),
    ),
    body: readBody(content, '', references),
  };
}

/** Codes stand in the schema of `code`, or in the examples where the schema allows any. */
function problemCodesOf(problem: JsonObject, references: References): string[] {
  const variants = [problem.schema, ...alternativesOf(references.resolve(problem.schema))];
  const fromSchema = variants.flatMap(variant => {
    const code = references.resolve(objectOf(references.resolve(variant).properties).code);
    return [code.const, ...listOf(code.enum)];
  });
  const examples = Object.values(objectOf(problem.examples)).map(entry => objectOf(entry).value);
  const fromExamples = [problem.example, ...examples].map(example => objectOf(example).code);
  const named = fromSchema.some(code => typeof code === 'string') ? fromSchema : fromExamples;
  return [...new Set(named.map(textOf).filter(Boolean))];
}

function alternativesOf(schema: JsonObject): readonly unknown[] {
  return ['allOf', 'anyOf', 'oneOf'].flatMap(keyword => listOf(schema[keyword]));
}

/** Each requirement names the schemes that satisfy it together; an empty one means that none is needed. */
function authenticationOf(
  requirements: readonly string[][],
  components: JsonObject,
  references: References,
): string {
  const schemes = objectOf(components.securitySchemes);
  const ways = [...new Set(requirements.flat())].map(name =>
    schemeWords(name, references.resolve(schemes[name])),
  );
  if (ways.length === 0) return 'None';
  const optional = requirements.some(names => names.length === 0);
  return `${optional ? 'Optional' : 'Required'}: ${ways.join(' or ')}`;
}

function schemeWords(name: string, scheme: JsonObject): string {
  if (textOf(scheme.scheme).toLowerCase() === 'bearer') return '`Authorization: Bearer` key';
  if (scheme.type === 'apiKey') return `\`${textOf(scheme.name)}\` ${textOf(scheme.in)}`;
  return name;
}
