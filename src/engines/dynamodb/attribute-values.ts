/**
 * Plain values on our side, typed ones on the wire, and the only way between them. A number comes back as the number it
 * was as long as it is exact in JavaScript, which every number of ours is.
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';

export type DynamoValue =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | ReadonlySet<number>
  | readonly DynamoValue[]
  | { readonly [name: string]: DynamoValue | undefined };

/** The parts of an item, or the values of an expression; what is undefined is left out. */
export type Values = Readonly<Record<string, DynamoValue | undefined>>;

export function attributesOf(values: Values): Record<string, AttributeValue> {
  // From entries, because a part may have the name of something that every object has, and `__proto__` would be lost.
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, attributeOf(value)]],
    ),
  );
}

/** The caller names the shape it wrote. */
export function valuesOf<Row>(attributes: Record<string, AttributeValue>): Row {
  const entries = Object.entries(attributes).map(([name, attribute]) => [name, plainValue(attribute)]);
  return Object.fromEntries(entries) as Row;
}

function attributeOf(value: DynamoValue): AttributeValue {
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number') return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (value === null) return { NULL: true };
  if (value instanceof Uint8Array) return { B: value };
  if (value instanceof Set) return { NS: Array.from(value as ReadonlySet<number>, String) };
  if (Array.isArray(value)) return { L: (value as readonly DynamoValue[]).map(attributeOf) };
  return { M: attributesOf(value as Values) };
}

function plainValue(attribute: AttributeValue): DynamoValue {
  if (attribute.S !== undefined) return attribute.S;
  if (attribute.N !== undefined) return Number(attribute.N);
  if (attribute.BOOL !== undefined) return attribute.BOOL;
  if (attribute.B !== undefined) return attribute.B;
  if (attribute.NS !== undefined) return new Set(attribute.NS.map(Number));
  if (attribute.L !== undefined) return attribute.L.map(plainValue);
  if (attribute.M !== undefined) return valuesOf(attribute.M);
  return null;
}
