/**
 * The OpenAPI 3.1 document, printed from the routes and the schemas that validate them, so it cannot disagree with
 * what the server does.
 */
import { yieldToEventLoop } from '../base/clock.ts';
import { type ProblemCode, problemTable } from '../base/errors.ts';
import { codePattern, redirectTypes } from '../links/link.ts';
import { createSessionCookie } from './identity.ts';
import { type AnswerDescription, problemsOf, type RouteDescription } from './route.ts';
import { type JsonObject, SchemaPrinter } from './schema-printer.ts';
import { idempotencyKeyPattern, previewAnswer, problemAnswer } from './schemas.ts';
import { fieldSpellings, pathSpellings } from './spellings.ts';

interface OpenApiOptions {
  readonly version: string;
  readonly baseUrl: string;
}

/** Yields after each route: printing all of them takes as long as thousands of redirects. */
export async function openApiDocument(
  routes: readonly RouteDescription[],
  { version, baseUrl }: OpenApiOptions,
): Promise<JsonObject> {
  const schemas = new SchemaPrinter();
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    await yieldToEventLoop();
    const operation = { [route.method.toLowerCase()]: operationOf(route, schemas) };
    paths[route.path] = { ...paths[route.path], ...operation };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Terse',
      version,
      description: introduction(baseUrl),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    tags: Object.values(groups),
    paths,
    components: {
      schemas: schemas.components,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'Your API key.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'Your API key.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: createSessionCookie(baseUrl).name,
          description: 'The cookie of the dashboard. It changes something only from pages of this server.',
        },
      },
    },
    'x-problems': problemTable,
  };
}

const groups = {
  links: { name: 'Links', description: 'The life of a link: create, read, list, edit, delete.' },
  keys: { name: 'Keys', description: 'The API keys of an account.' },
  accounts: { name: 'Accounts', description: 'Your account, sign-in, and all accounts for admins.' },
  clicks: { name: 'Clicks', description: 'What became of links: counts, single clicks, the live view.' },
  moderation: { name: 'Moderation', description: 'Reports, decisions and the audit log.' },
  visits: { name: 'Visits', description: 'What visitors of short URLs get.' },
  system: { name: 'Operations', description: 'For operators.' },
} as const;

function groupOf({ path }: RouteDescription): string {
  if (/\/(?:stats|stats\/.+|clicks|live|reconcile|reconcile\/hours)$/.test(path) && path.startsWith('/api/'))
    return groups.clicks.name;
  if (/^\/(?:report$|api\/v1\/(?:reports|moderation|audit))|\/(?:appeal|history)$/.test(path))
    return groups.moderation.name;
  if (path.startsWith('/api/v1/links')) return groups.links.name;
  if (path.startsWith('/api/v1/keys')) return groups.keys.name;
  if (/^\/api\/v1\/(?:accounts?|sessions?|sign-in-options|sign-up|invitations)\b/.test(path))
    return groups.accounts.name;
  return isVisit(path) ? groups.visits.name : groups.system.name;
}

const isVisit = (path: string): boolean => path.startsWith('/{code}');

function introduction(baseUrl: string): string {
  const paths = Object.entries(pathSpellings).map(
    ([path, others]) =>
      `\`${path}\` is also ${Object.keys(others)
        .map(other => `\`${other}\``)
        .join(', ')}`,
  );
  const fields = Object.entries(fieldSpellings).map(([other, field]) => `\`${other}\` for \`${field}\``);
  return [
    '**Shorten a URL**',
    [
      '```sh',
      `curl ${baseUrl}/api/v1/links \\`,
      "  -H 'Content-Type: application/json' \\",
      '  -H "Authorization: Bearer $TERSE_KEY" \\',
      `  -d '{"longUrl": "https://example.com/"}'`,
      '```',
    ].join('\n'),
    'Create, follow, edit and count short links.',
    [
      'Errors are `application/problem+json` with a stable `code`.',
      'A `503` to a request that changes something has an `outcome`: `none`, nothing was done, or `unknown`, it may have been',
      'carried out; then repeat the create of a link with the same `Idempotency-Key` or alias, and its edit or deletion by',
      'code as it is; before you repeat anything else, read the current state.',
      'A method that a path does not support gets `405`; every `GET` route also answers `HEAD`.',
      'Bodies are strict JSON in UTF-8: unknown fields, repeated keys and broken text are refused,',
      'and a refused request stores nothing.',
      'Every answer has an `X-Request-Id`, which is in the server’s log, too; one that the request has is reused.',
    ].join(' '),
    [
      `Other spellings are accepted: ${paths.join('; ')}; ${fields.join(', ')};`,
      'and every field and parameter in snake_case. The answer is in the spelling of the request.',
    ].join(' '),
  ].join('\n\n');
}

function operationOf(route: RouteDescription, schemas: SchemaPrinter): JsonObject {
  const responses: Record<string, JsonObject> = {};
  for (const [status, answer] of Object.entries(route.answers))
    responses[status] = answerOf(route, Number(status), answer, schemas);
  for (const [status, codes] of problemsByStatus(route)) {
    responses[status] = problemsAnswer(route, status, codes, schemas);
  }
  return {
    operationId: route.name,
    tags: [groupOf(route)],
    summary: route.summary,
    ...(route.description !== undefined && { description: route.description }),
    parameters: [...pathParameters(route), ...queryParameters(route, schemas), ...headerParameters(route)],
    ...(route.body !== undefined && {
      requestBody: {
        required: true,
        description: bodyDescription(route.body),
        content: { 'application/json': { schema: schemas.print(route.body.schema, 'input') } },
      },
    }),
    responses,
    security: securityOf(route),
  };
}

function bodyDescription({ bytesMax, anonymousBytesMax }: NonNullable<RouteDescription['body']>): string {
  const mebibytes = (bytes: number): string => `${bytes / 1024 ** 2} MiB`;
  const forAnyone = `JSON of at most ${mebibytes(bytesMax)}`;
  return anonymousBytesMax === undefined
    ? `${forAnyone}.`
    : `${forAnyone}, or ${mebibytes(anonymousBytesMax)} without an API key.`;
}

function answerOf(
  route: RouteDescription,
  status: number,
  answer: AnswerDescription,
  schemas: SchemaPrinter,
): JsonObject {
  const content: JsonObject = {};
  if (answer.schema !== undefined)
    content['application/json'] = { schema: schemas.print(answer.schema, 'output') };
  for (const mediaType of answer.mediaTypes ?? []) content[mediaType] = {};
  return {
    description: answer.description,
    ...(Object.keys(content).length > 0 && { content }),
    ...headersOf(route, status, answer.headers),
  };
}

function problemsAnswer(
  route: RouteDescription,
  status: string,
  codes: readonly ProblemCode[],
  schemas: SchemaPrinter,
): JsonObject {
  const schema = {
    ...schemas.print(problemAnswer, 'output'),
    properties: { code: { enum: codes } },
    // A client that changes something must know whether to retry.
    ...(status === '503' && route.method !== 'GET' && { required: ['outcome'] }),
  };
  return {
    description: codes.map(code => `\`${code}\`: ${problemTable[code].title}.`).join(' '),
    content: {
      'application/problem+json': { schema },
      // Browsers that follow a link get a page.
      ...(isVisit(route.path) && { 'text/html': {} }),
    },
    ...headersOf(route, Number(status)),
  };
}

/** The headers that an answer of a kind carries. */
function headersOf(
  route: RouteDescription,
  status: number,
  own: AnswerDescription['headers'] = {},
): JsonObject {
  const limits = route.limit === undefined ? {} : limitHeaders(status);
  const headers = { ...alwaysSent(route, status), ...own, ...limits };
  return Object.keys(headers).length === 0 ? {} : { headers };
}

function alwaysSent(route: RouteDescription, status: number): JsonObject {
  const header = (name: string, description: string, schema: JsonObject): JsonObject => ({
    [name]: { description, required: true, schema },
  });
  if (status === 401) {
    return header('WWW-Authenticate', 'How to send a key.', { type: 'string', examples: ['Bearer'] });
  }
  if (status === 429) {
    return header('Retry-After', 'After so many seconds it will do.', { type: 'integer', minimum: 1 });
  }
  if (status >= 300 && status < 400) {
    return header('Location', 'The long URL.', { type: 'string', format: 'uri' });
  }
  if (route.name === 'openSession' && status < 300) {
    return header('Set-Cookie', 'The session, for browsers.', { type: 'string' });
  }
  if (route.name === 'createLink' && status < 300) {
    return header('Location', 'The link in this API.', { type: 'string', format: 'uri' });
  }
  return {};
}

/** A client that is not limited, or not known, gets none of them. */
function limitHeaders(status: number): JsonObject {
  if (status === 401 || status >= 500) return {};
  const count: JsonObject = { type: 'integer', minimum: 0 };
  return {
    'RateLimit-Limit': { description: 'The limit.', schema: count },
    'RateLimit-Remaining': { description: 'What remains of the limit.', schema: count },
    'RateLimit-Reset': {
      description: 'Seconds until it is full again; with 429, until the request would pass.',
      schema: count,
    },
    'RateLimit-Policy': {
      description: 'The limits that apply: how many, in how many seconds.',
      schema: { type: 'string', examples: ['100;w=3600'] },
    },
  };
}

function problemsByStatus(route: RouteDescription): Map<string, ProblemCode[]> {
  const byStatus = new Map<string, ProblemCode[]>();
  for (const code of problemsOf(route)) {
    const status = String(problemTable[code].status);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
}

function securityOf(route: RouteDescription): JsonObject[] {
  const scopes = route.scope === undefined ? [] : [route.scope];
  const keys: JsonObject[] = [{ bearer: scopes }, { apiKey: scopes }, { session: scopes }];
  if (route.auth === 'required') return keys;
  return route.auth === 'optional' ? [{}, ...keys] : [{}];
}

const pathParameterWords: Readonly<Record<string, JsonObject>> = {
  code: { description: 'The code or alias of a link.', example: 'aZ3kQ9x' },
  id: { description: 'The `id` of a key.', example: 'key_mB3xT0c2vQ1e' },
  alias: { description: 'The alias to check.', example: 'autumn-sale' },
  accountId: { description: 'The `id` of an account.', example: 'acc_mB3xT0c2vQ1e' },
  entryId: { description: 'The `id` of an entry of the blocklist.', example: 'blk_mB3xT0c2vQ1eR7yZ' },
  dimension: {
    description: 'What clicks are listed by, such as `country` or `utmCampaign`.',
    example: 'country',
  },
  sessionId: { description: 'The `id` of a session.', example: 'ses_mB3xT0c2vQ1e' },
};

function pathParameters(route: RouteDescription): JsonObject[] {
  return [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    ...pathParameterWords[name!],
    schema: { type: 'string', pattern: codePattern.source },
  }));
}

function queryParameters(route: RouteDescription, schemas: SchemaPrinter): JsonObject[] {
  if (route.query === undefined) return [];
  const { properties = {}, required = [] } = schemas.print(route.query, 'input') as {
    properties?: Record<string, JsonObject>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

function headerParameters(route: RouteDescription): JsonObject[] {
  if (route.repeat !== 'with-key') return [];
  return [
    {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description:
        'A repeat with the same key within 24 hours returns the first answer and creates nothing. With one, a create can be ' +
        'repeated whatever became of it.',
      example: '6f1c0d52-order-17',
      schema: { type: 'string', pattern: idempotencyKeyPattern.source },
    },
  ];
}

const nowhere = [
  'not_found',
  'link_expired',
  'link_deleted',
  'link_disabled',
  'link_exhausted',
  'link_blocked',
  'link_unsafe',
  'rate_limited',
  'overloaded',
  'store_unavailable',
] as const;

/** How the OpenAPI document describes following a link; the redirect itself does not use this. */
export const redirectDescription: readonly RouteDescription[] = [
  {
    method: 'GET',
    path: '/{code}',
    name: 'followLink',
    summary: 'Follow a short link',
    description:
      'Browsers get a page instead of JSON when there is nothing to follow, and one that warns and lets them go on ' +
      'when the link is quarantined.',
    auth: 'none',
    answers: {
      200: { description: 'A warning page for a quarantined link.', mediaTypes: ['text/html'] },
      ...Object.fromEntries(
        redirectTypes.map(status => [status, { description: 'Redirect to the long URL in `Location`.' }]),
      ),
    },
    problems: ['link_quarantined', ...nowhere],
  },
  {
    method: 'GET',
    path: '/{code}+',
    name: 'previewLink',
    summary: 'Preview a short link',
    description:
      'A page for browsers, JSON for everyone else. It does not count as a click; where clicks are limited by ' +
      '`maxClicks`, it does not show the destination.',
    auth: 'none',
    answers: {
      200: { description: 'Where the link leads.', schema: previewAnswer, mediaTypes: ['text/html'] },
    },
    problems: nowhere,
  },
];
