/**
 * Requests that are made to keep a server busy: for every operation of the API, every input at its maximum size, shaped
 * to hit the slow paths of parsers, normalisers and regular expressions.
 */
import type { JsonSchema, Schemas } from '../fuzz/json-schema.ts';
import type { Operation } from '../fuzz/openapi-operations.ts';
import { scaled } from '../kit/scale.ts';

export interface HostileRequest {
  readonly what: string;
  readonly path: string;
  /** The hostile field, if it is one, and whether the rejection must name it. */
  readonly field?: string;
  readonly isNamed?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Made when it is sent, because all of them together would not fit into memory. */
  readonly body?: () => string;
}

/** Below the 16 KiB of a head, with room for the rest of it. */
const headTextLength = 14_000;
const mebibyte = 1024 * 1024;

const fill = (text: string, length: number): string =>
  text.repeat(Math.ceil(length / text.length)).slice(0, length);

/** Two alternating marks of different classes, which canonical ordering must sort. */
const marks = '\u0301\u0316';
const percentMarks = '%CC%81%CC%96';

/** Texts of about the given length. */
const hostileTexts: Readonly<Record<string, (length: number) => string>> = {
  'combining marks': length => fill(marks, length / 2),
  'marks in a host': length => `https://a${fill(marks, length / 2)}.example/`,
  'percent-encoded marks in a host': length => `https://a${fill(percentMarks, length)}.example/`,
  'marks behind user info': length => `https://a@${fill(marks, length / 2)}.example/`,
  'punycode in a host': length => `https://xn--${fill('b0gz', length)}.example/`,
  'labels of punycode': length => `https://${fill('xn--ls8h.', length)}example/`,
  'a long word': length => fill('a', length),
  'words before no @': length => `https://a.example/#${fill('aA0-', length)}`,
  'many @': length => fill('a@', length),
  digits: length => `2030-01-01T00:00:00.${fill('1', length)}`,
  spaces: length => `a${fill(' ', length)}a`,
  commas: length => fill('a,', length),
  'nested escapes': length => `https://a.example/%${fill('25', length)}`,
};

const headerNames = [
  'Accept',
  'Authorization',
  'Cookie',
  'Content-Type',
  'Idempotency-Key',
  'If-None-Match',
  'Origin',
  'Referer',
  'Sec-Purpose',
  'Traceparent',
  'Tracestate',
  'User-Agent',
  'X-Api-Key',
  'X-Forwarded-For',
  'X-Request-Id',
];

const headerTexts: Readonly<Record<string, string>> = {
  'percent-encoded marks': `https://a${fill(percentMarks, headTextLength)}.example/`,
  'many parts': fill('a=b;c, ', headTextLength),
  'a long word': fill('a', headTextLength),
  'Bearer and spaces': `Bearer ${fill(' ', headTextLength)}x y`,
  'browser words': fill('Mozilla/5.0 (Mac OS X 1_', headTextLength),
};

/** Bodies that are slow to parse, whatever fields a route takes; of about the given size. */
const hostileDocuments: Readonly<Record<string, (bytes: number) => string>> = {
  'deep lists': bytes => fill('[', bytes),
  'deep objects': bytes => fill('{"a":', bytes),
  'depth within the limit': bytes => list('[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]', bytes),
  'a wide object': bytes => `{${numbered(bytes, index => `"k${index}":1`)}}`,
  'many objects': bytes => list('{"a":1,"b":2}', Math.min(bytes, 1_800_000)),
  'unknown fields': bytes => list(`{${numbered(600, index => `"k${index}":1`)}}`, bytes),
  'long names': bytes => list(`{${numbered(60_000, index => `"${fill('k', 1_000)}${index}":1`)}}`, bytes),
  'a name given twice at the end': bytes => `{"links":[${fill('{"a":1,"b":2},', bytes)}{"a":1,"a":2}]}`,
  'empty strings': bytes => list('""', Math.min(bytes, 1_190_000)),
  numbers: bytes => list('1', Math.min(bytes, 790_000)),
  'too many numbers': bytes => list('1', bytes),
  'a long number': bytes => `{"links":[${fill('1', bytes)}]}`,
  'escaped quotes': bytes => `{"links":["${fill('\\"', bytes)}"]}`,
  'escaped marks': bytes => `{"links":["${fill('\\u0301\\u0316', bytes)}"]}`,
  'an open string': bytes => `{"links":["${fill('\\"', bytes)}`,
  'a bad escape at the end': bytes => `{"links":["${fill('\\"', bytes)}\\x"]}`,
  'lines and a fault': bytes => `{"links":[${fill('\n', bytes)}!]}`,
  'spaces and a fault': bytes => `${fill(' ', bytes)}!`,
  'a fault at the end': bytes => `${list('{"longUrl":"https://a.example/"}', bytes)}!`,
};

const list = (item: string, bytes: number): string =>
  `{"links":[${fill(`${item},`, bytes - (bytes % (item.length + 1)))}${item}]}`;

function numbered(bytes: number, member: (index: number) => string): string {
  const members: string[] = [];
  for (let length = 0; length < bytes; length += members.at(-1)!.length + 1)
    members.push(member(members.length));
  return members.join(',');
}

const bulkItemsMax = 10_000;

/** Lists for the bulk route of which every item is rejected, after as much work as possible. */
function hostileItems(bytes: number): Record<string, () => string> {
  const itemBytes = Math.floor(bytes / bulkItemsMax);
  const itemsOf = (item: (index: number, length: number) => unknown, length = itemBytes) => {
    const count = Math.min(bulkItemsMax, Math.floor(bytes / length));
    return () => JSON.stringify({ links: Array.from({ length: count }, (_, i) => item(i, length - 60)) });
  };
  const refused = { customAlias: '*' };
  return {
    ...Object.fromEntries(
      Object.entries(hostileTexts).flatMap(([what, text]) => [
        [`items: ${what}`, itemsOf((i, length) => ({ ...refused, longUrl: text(length), title: `${i}` }))],
        [`items of 8 KB: ${what}`, itemsOf((_, length) => ({ ...refused, longUrl: text(length) }), 8_200)],
      ]),
    ),
    'items: hosts at the limit': itemsOf(i => ({
      ...refused,
      longUrl: `https://${i}${fill(marks, 240)}.example/`,
    })),
    'items: many wrong fields': itemsOf((_, length) =>
      Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`${i}${fill('x', length / 70)}`, 1])),
    ),
  };
}

/** Everything to send to one operation. `places` are good values for the parameters of its path. */
export function hostileRequests(
  operation: Operation,
  schemas: Schemas,
  places: (name: string) => string,
): HostileRequest[] {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => places(name));
  const isBulk = operation.id === 'createLinks';
  const bytes = Math.floor(
    Math.min(operation.bodyBytesMax, isBulk ? scaled(2, 16) * mebibyte : scaled(0.5, 1) * mebibyte) * 0.98,
  );
  const requests: HostileRequest[] = [{ what: 'nothing', path }];
  for (const header of headerNames) {
    for (const [what, text] of Object.entries(headerTexts)) {
      requests.push({ what: `${header}: ${what}`, path, headers: { [header]: text } });
    }
  }
  for (const [what, text] of Object.entries(hostileTexts)) {
    const escaped = encodeURIComponent(text(headTextLength)).slice(0, headTextLength);
    const whole = escaped.replace(/%(?:[0-9A-F])?$/, '');
    if (path !== operation.path)
      requests.push({ what: `path: ${what}`, path: operation.path.replace(/\{\w+\}/, whole) });
    for (const { name } of operation.parameters.filter(parameter => parameter.in === 'query')) {
      requests.push({ what: `query ${name}: ${what}`, path: `${path}?${name}=${whole}` });
    }
  }
  requests.push({
    what: 'query of many names',
    path: `${path}?${numbered(headTextLength, i => `${i}=`).replaceAll(',', '&')}`,
  });
  requests.push({ what: 'query of one name', path: `${path}?${fill('a&', headTextLength)}` });
  if (operation.body === undefined) return requests;

  for (const [what, make] of Object.entries(hostileDocuments)) {
    requests.push({ what: `body: ${what}`, path, body: () => make(bytes) });
  }
  if (isBulk) {
    for (const [what, body] of Object.entries(hostileItems(bytes))) requests.push({ what, path, body });
    return requests;
  }
  // Answers do not reveal what is wrong with a credential.
  const isNamed = !['openSession', 'readInvitation', 'acceptInvitation'].includes(operation.id);
  for (const field of textFieldsOf(operation.body, schemas)) {
    for (const [what, text] of Object.entries(hostileTexts)) {
      for (const length of [8_000, bytes / 2]) {
        const body = () => JSON.stringify({ ...sampleOf(operation), [field]: text(length) });
        requests.push({
          what: `${field}: ${what}, ${Math.round(length / 1_000)} KB`,
          path,
          field,
          isNamed,
          body,
        });
      }
    }
  }
  return requests;
}

/** Valid values for required fields, so that the others are validated. */
function sampleOf({ id }: Operation): Record<string, unknown> {
  if (id === 'createLink') return { longUrl: 'https://a.example/', customAlias: '*' };
  if (id === 'openSession') return { email: 'a@a.example', password: 'wrong words of a stranger' };
  if (id === 'editOwnAccount') return { email: '*' };
  return {};
}

function textFieldsOf(schema: JsonSchema, schemas: Schemas): string[] {
  const resolved = schemas.resolve(schema);
  const variants = (resolved.anyOf as JsonSchema[] | undefined) ?? [];
  const properties = (resolved.properties ?? {}) as Record<string, JsonSchema>;
  const own = Object.entries(properties).filter(([, property]) => {
    const { type, anyOf = [] } = schemas.resolve(property) as { type?: unknown; anyOf?: JsonSchema[] };
    const types = [type, ...anyOf.map(each => schemas.resolve(each).type)].flat();
    return types.includes('string') || types.includes('array');
  });
  return [...own.map(([name]) => name), ...variants.flatMap(each => textFieldsOf(each, schemas))];
}
