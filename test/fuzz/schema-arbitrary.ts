/**
 * Values generated from a JSON Schema: some that fit, preferring its boundaries, and some that nearly fit. A nearly
 * fitting value tests more than a random one, because it passes the checks before the one that it fails.
 */
import fc from 'fast-check';
import { listedHost } from './blocklist-effects.ts';
import { hostileName, hostileValue } from './hostile-values.ts';
import type { JsonSchema, JsonSchemaObject, Schemas } from './json-schema.ts';

const freeTextMax = 40;
const itemsMax = 4;

/** Values that the schema allows. */
export function fittingValue(schema: JsonSchema, schemas: Schemas): fc.Arbitrary<unknown> {
  const resolved = schemas.resolve(schema);
  if (resolved.const !== undefined) return fc.constant(resolved.const);
  if (resolved.enum !== undefined) return fc.constantFrom(...(resolved.enum as unknown[]));
  if (resolved.anyOf !== undefined) {
    return fc.oneof(...(resolved.anyOf as JsonSchema[]).map(each => fittingValue(each, schemas)));
  }
  const types = [resolved.type].flat();
  return fc.oneof(...types.map(type => fittingValueOfType(type, resolved, schemas)));
}

function fittingValueOfType(
  type: unknown,
  schema: JsonSchemaObject,
  schemas: Schemas,
): fc.Arbitrary<unknown> {
  if (type === 'string') return fittingText(schema);
  if (type === 'integer' || type === 'number') return fittingNumber(schema);
  if (type === 'boolean') return fc.boolean();
  if (type === 'null') return fc.constant(null);
  if (type === 'array') {
    const item = fittingValue(schema.items as JsonSchema, schemas);
    const minLength = (schema.minItems as number | undefined) ?? 0;
    const maxLength = (schema.maxItems as number | undefined) ?? itemsMax;
    const few = fc.array(item, { minLength, maxLength: Math.max(minLength, Math.min(maxLength, itemsMax)) });
    // The full length is a boundary worth testing, unless it is in the thousands.
    return maxLength > 100
      ? few
      : fc.oneof({ weight: 9, arbitrary: few }, fc.array(item, { minLength: maxLength, maxLength }));
  }
  if (type === 'object') return fittingObject(schema, schemas);
  return hostileValue;
}

function fittingObject(schema: JsonSchemaObject, schemas: Schemas): fc.Arbitrary<object> {
  const properties = propertiesOf(schema);
  const requiredKeys = (schema.required as string[] | undefined) ?? [];
  const least = (schema.minProperties as number | undefined) ?? 0;
  return fc
    .record(
      Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, fittingValue(property, schemas)]),
      ),
      { requiredKeys },
    )
    .filter(value => Object.keys(value).length >= least);
}

const isTime = ({ format }: JsonSchemaObject): boolean => format === 'date-time' || format === 'iso-8601';

function fittingText(schema: JsonSchemaObject): fc.Arbitrary<string> {
  if (isTime(schema)) {
    return fc.oneof({ weight: 12, arbitrary: laterTime }, fc.constantFrom(...timesTooFar));
  }
  if (schema.format === 'uri') return address;
  if (schema.pattern !== undefined) return matchingText(new RegExp(schema.pattern as string));
  const minLength = (schema.minLength as number | undefined) ?? 0;
  const maxLength = (schema.maxLength as number | undefined) ?? freeTextMax;
  const { examples = [] } = schema as { examples?: readonly string[] };
  const ofLength = (least: number, most: number): fc.Arbitrary<string> =>
    fc.string({ unit: printable, minLength: least, maxLength: most });
  return fc.oneof(
    { weight: 8, arbitrary: ofLength(minLength, Math.max(minLength, Math.min(maxLength, freeTextMax))) },
    { weight: 1, arbitrary: ofLength(minLength, minLength) },
    { weight: 1, arbitrary: ofLength(maxLength, maxLength) },
    // For texts with a meaning, few random ones are valid.
    ...(examples.length > 0 ? [{ weight: 2, arbitrary: fc.constantFrom(...examples) }] : []),
  );
}

/** Some values are repeated, to test values that already exist or have a meaning. */
function matchingText(pattern: RegExp): fc.Arbitrary<string> {
  const known = ['again', 'again-1', 'again_2', 'Again3', 'Admin', 'again@a.example', 'Again-1@a.example'];
  const repeated = known.filter(text => pattern.test(text));
  const fresh = { weight: 4, arbitrary: fc.stringMatching(pattern) };
  return repeated.length === 0 ? fc.oneof(fresh) : fc.oneof(fresh, fc.constantFrom(...repeated));
}

/** One character each, counted as JSON Schema counts them, of any plane. NUL is refused everywhere. */
const printable = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 }) },
  {
    weight: 1,
    arbitrary: fc
      .string({ unit: 'binary', minLength: 1, maxLength: 1 })
      .map(unit => (unit === '\0' ? 'x' : unit)),
  },
  { weight: 1, arbitrary: fc.constantFrom('😀', '\u202e', 'ß', '%', '_', '\\', '#', '&', '\n') },
);

function fittingNumber(schema: JsonSchemaObject): fc.Arbitrary<number> {
  const min = (schema.minimum as number | undefined) ?? -1_000;
  const max = (schema.maximum as number | undefined) ?? 1_000;
  return fc.oneof(
    fc.constantFrom(min, max),
    fc.integer({ min, max: Math.min(max, min + 5) }),
    fc.integer({ min, max }),
  );
}

/** Valid times that no expiry can have. */
const timesTooFar = ['2000-01-01T00:00:00Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59-01:00'];

/** Always in the future, and the same in every run. */
const laterTime = fc
  .record({
    at: fc.date({
      min: new Date('2100-01-01T00:00:00Z'),
      max: new Date('9999-12-31T00:00:00Z'),
      noInvalidDate: true,
    }),
    zone: fc.constantFrom('Z', '+00:00', '-00:00', '+05:45', '-11:30', '+23:59'),
    fraction: fc.constantFrom('', '.0', '.999', '.123456789'),
  })
  .map(({ at, zone, fraction }) => at.toISOString().replace(/\.\d+Z$/, `${fraction}${zone}`));

const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,8}[a-z0-9])?$/).filter(text => !text.startsWith('xn--'));
const urlBytesMax = 2048;

const freshAddress = fc
  .record({
    scheme: fc.constantFrom('http', 'https'),
    labels: fc.array(label, { minLength: 1, maxLength: 3 }),
    tail: fc.oneof(
      fc.constantFrom('', '/', '/?', '/#', '/?a=1', '/p?a=1&', '/p#f', '/p?a#f?b'),
      fc.stringMatching(/^\/[a-z0-9/._~%?&=#@:!$'()*+,;[\]|^{}-]{0,40}$/),
    ),
  })
  .map(({ scheme, labels, tail }) => `${scheme}://${labels.join('.')}.example${tail}`);

/** Ordinary URLs, because other kinds are tested elsewhere. */
const address = fc.oneof(
  { weight: 12, arbitrary: freshAddress },
  { weight: 6, arbitrary: fc.nat(2).map(each => `https://again.example/${each}`) },
  { weight: 1, arbitrary: fc.constant(`https://${listedHost}/`) },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: -1, max: 1 })
      .map(more => 'https://x.example/'.padEnd(urlBytesMax + more, 'x')),
  },
);

/** Whether a URL is of the kind above and must therefore be accepted. */
export const isOrdinaryAddress = (url: string): boolean =>
  /^https?:\/\/[a-z0-9.-]+\.example(?:[/?#][!-[\]-~]*)?$/.test(url) &&
  new URL(url).href.length <= urlBytesMax;

/** Values that fit, values that fail in one or two places, and unrelated values. */
export function nearlyFittingValue(
  schema: JsonSchema,
  schemas: Schemas,
  otherNames: readonly string[] = [],
): fc.Arbitrary<unknown> {
  const resolved = schemas.resolve(schema);
  if (resolved.anyOf !== undefined) {
    return fc.oneof(
      ...(resolved.anyOf as JsonSchema[]).map(each => nearlyFittingValue(each, schemas, otherNames)),
    );
  }
  if ([resolved.type].flat().includes('object')) {
    return fc.oneof(
      { weight: 12, arbitrary: editedObject(resolved, schemas, otherNames) },
      { weight: 1, arbitrary: hostileValue },
    );
  }
  if ([resolved.type].flat().includes('array')) {
    const items = resolved.items as JsonSchema;
    const mixed = fc.oneof(fittingValue(items, schemas), nearlyFittingValue(items, schemas, otherNames));
    return fc.oneof(
      { weight: 6, arbitrary: fc.array(mixed, { maxLength: itemsMax }) },
      { weight: 1, arbitrary: fittingValue(schema, schemas).map(value => [value, value]) },
      { weight: 1, arbitrary: hostileValue },
    );
  }
  return fc.oneof(
    fittingValue(schema, schemas),
    { weight: 2, arbitrary: justBeyond(resolved) },
    { weight: 2, arbitrary: hostileValue },
  );
}

/** Values that fit the schema of a property but break a rule that random values rarely meet. */
const badValues: Readonly<Record<string, readonly string[]>> = {
  customAlias: ['fuck', 'Admin', 'two words'],
};

type Edit = (entries: [string, unknown][]) => [string, unknown][];

function editedObject(
  schema: JsonSchemaObject,
  schemas: Schemas,
  otherNames: readonly string[],
): fc.Arbitrary<object> {
  const properties = Object.entries(propertiesOf(schema));
  const replaced = properties.map(([name, property]) =>
    nearlyFittingValue(property, schemas, otherNames).map<Edit>(value => entries => [
      ...entries.filter(([other]) => other !== name),
      [name, value],
    ]),
  );
  const removed = fc
    .constantFrom(...properties.map(([name]) => name))
    .map<Edit>(name => entries => entries.filter(([other]) => other !== name));
  const added = fc.tuple(hostileName, hostileValue).map<Edit>(([name, value]) => entries => [
    ...entries.filter(([other]) => other !== name),
    [name, value],
  ]);
  const renamed =
    otherNames.length === 0
      ? []
      : [
          fc.tuple(fc.nat(20), fc.constantFrom(...otherNames)).map<Edit>(
            ([at, other]) =>
              entries =>
                entries.map((entry, index) => (index === at % entries.length ? [other, entry[1]] : entry)),
          ),
        ];
  const pointed = properties.flatMap(([name]) =>
    (badValues[name] ?? []).map(value =>
      fc.constant<Edit>(entries => [...entries.filter(([other]) => other !== name), [name, value]]),
    ),
  );
  const edit = fc.oneof(
    { weight: 4, arbitrary: fc.oneof(...replaced) },
    ...pointed,
    { weight: 1, arbitrary: removed },
    { weight: 1, arbitrary: added },
    ...renamed,
  );
  return fc
    .tuple(fittingObject(schema, schemas), fc.array(edit, { minLength: 1, maxLength: 2 }))
    .map(([object, edits]) =>
      Object.fromEntries(edits.reduce((entries, change) => change(entries), Object.entries(object))),
    );
}

const oddTimes = [
  '2100-02-29T00:00:00Z',
  '2100-01-01T00:00:00',
  '2100-01-01T00:00:60Z',
  '2100-01-01T24:00:00Z',
  '2100-01-01t00:00:00z',
  '2100-01-01 00:00:00Z',
  '+012100-01-01T00:00:00Z',
  '4102444800000',
];

/** One past each boundary that the schema names. */
function justBeyond(schema: JsonSchemaObject): fc.Arbitrary<unknown> {
  const beyond: unknown[] = [];
  if (typeof schema.minimum === 'number') beyond.push(schema.minimum - 1, schema.minimum + 0.5);
  if (typeof schema.maximum === 'number') beyond.push(schema.maximum + 1);
  if (typeof schema.maxLength === 'number') {
    beyond.push('x'.repeat(schema.maxLength + 1), '😀'.repeat(schema.maxLength + 1));
  }
  if (schema.type === 'integer') beyond.push('0x10', '1e1', ' 5', '5.0', '+5', '５', '5n');
  if (isTime(schema)) beyond.push(...oddTimes);
  if (typeof schema.minLength === 'number') beyond.push('x'.repeat(Math.max(0, schema.minLength - 1)));
  for (const choice of (schema.enum as unknown[] | undefined) ?? []) beyond.push(`${choice} `, [choice]);
  return beyond.length === 0 ? hostileValue : fc.constantFrom(...beyond);
}

function propertiesOf(schema: JsonSchemaObject): Record<string, JsonSchema> {
  return (schema.properties as Record<string, JsonSchema> | undefined) ?? {};
}
