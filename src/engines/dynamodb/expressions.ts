/**
 * Writes as data, and their translation into what the engine takes. In an expression `#word` is the attribute `word`
 * and `:word` the value of that name, so that no name of ours can ever be one of the engine's hundreds of reserved
 * words.
 */
// A type and not an interface, because only a type counts as a record of values.
export type Key = {
  readonly pk: string;
  readonly sk: string;
};

export type Item = Key & Values;

export interface Condition {
  readonly expression: string;
  readonly values?: Values;
}

export interface PutItem {
  readonly put: Item;
  readonly condition?: Condition;
}

export interface UpdateItem {
  readonly update: Key;
  readonly expression: string;
  /** Shares its values with the expression. */
  readonly condition?: string;
  readonly values?: Values;
}

export interface RemoveItem {
  readonly remove: Key;
  readonly condition?: Condition;
}

export interface CheckItem {
  readonly check: Key;
  readonly condition: Condition;
}

/** One write, or the check of one item, of a transaction. */
export type TransactItem = PutItem | UpdateItem | RemoveItem | CheckItem;

/** For an item that does not exist yet. */
export const isNew: Condition = { expression: 'attribute_not_exists(#pk)' };

export const keyOf = ({ pk, sk }: Key): Key => ({ pk, sk });

export function putInput(TableName: string, { put, condition }: PutItem) {
  return { TableName, Item: attributesOf(put), ...conditionInput(condition) };
}

export function updateInput(TableName: string, { update, expression, condition, values }: UpdateItem) {
  return {
    TableName,
    Key: attributesOf(keyOf(update)),
    UpdateExpression: expression,
    ...(condition === undefined ? {} : { ConditionExpression: condition }),
    ...placeholders([expression, condition ?? ''], values),
  };
}

export function removeInput(TableName: string, { remove, condition }: RemoveItem) {
  return { TableName, Key: attributesOf(keyOf(remove)), ...conditionInput(condition) };
}

function checkInput(TableName: string, { check, condition }: CheckItem) {
  return {
    TableName,
    Key: attributesOf(keyOf(check)),
    ConditionExpression: condition.expression,
    ...placeholders([condition.expression], condition.values),
  };
}

export function transactInput(table: string, item: TransactItem) {
  if ('put' in item) return { Put: putInput(table, item) };
  if ('update' in item) return { Update: updateInput(table, item) };
  if ('remove' in item) return { Delete: removeInput(table, item) };
  return { ConditionCheck: checkInput(table, item) };
}

/** What `#` and `:` stand for in these texts. */
export function placeholders(texts: readonly string[], values: Values | undefined) {
  const names: Record<string, string> = {};
  for (const [placeholder, name] of texts.join(' ').matchAll(/#(\w+)/g)) names[placeholder] = name!;
  const given = Object.entries(values ?? {}).map(([name, value]) => [`:${name}`, value] as const);
  return {
    ...(Object.keys(names).length === 0 ? {} : { ExpressionAttributeNames: names }),
    ...(given.length === 0 ? {} : { ExpressionAttributeValues: attributesOf(Object.fromEntries(given)) }),
  };
}

function conditionInput(condition: Condition | undefined) {
  if (condition === undefined) return {};
  return {
    ConditionExpression: condition.expression,
    ...placeholders([condition.expression], condition.values),
  };
}

/**
 * Plain values on our side, typed ones on the wire, and the only way between them. A number comes back as the number it
 * was as long as it is exact in JavaScript, which every number of ours is.
 */
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
type Values = Readonly<Record<string, DynamoValue | undefined>>;

/** A value as it is sent: the name of its type, and itself; numbers as text, bytes in base64. */
export interface Attribute {
  readonly S?: string;
  readonly N?: string;
  readonly BOOL?: boolean;
  readonly NULL?: true;
  readonly B?: string;
  readonly NS?: readonly string[];
  readonly L?: readonly Attribute[];
  readonly M?: Attributes;
}

export type Attributes = Readonly<Record<string, Attribute>>;

export function attributesOf(values: Values): Attributes {
  // From entries, because a part may have the name of something that every object has, and `__proto__` would be lost.
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, attributeOf(value)]],
    ),
  );
}

/** The caller names the shape it wrote. */
export function valuesOf<Row>(attributes: Attributes): Row {
  const entries = Object.entries(attributes).map(([name, attribute]) => [name, plainValue(attribute)]);
  return Object.fromEntries(entries) as Row;
}

function attributeOf(value: DynamoValue): Attribute {
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number') return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (value === null) return { NULL: true };
  if (value instanceof Uint8Array) return { B: value.toBase64() };
  if (value instanceof Set) return { NS: Array.from(value as ReadonlySet<number>, String) };
  if (Array.isArray(value)) return { L: (value as readonly DynamoValue[]).map(attributeOf) };
  return { M: attributesOf(value as Values) };
}

function plainValue(attribute: Attribute): DynamoValue {
  if (attribute.S !== undefined) return attribute.S;
  if (attribute.N !== undefined) return Number(attribute.N);
  if (attribute.BOOL !== undefined) return attribute.BOOL;
  if (attribute.B !== undefined) return Uint8Array.fromBase64(attribute.B);
  if (attribute.NS !== undefined) return new Set(attribute.NS.map(Number));
  if (attribute.L !== undefined) return attribute.L.map(plainValue);
  if (attribute.M !== undefined) return valuesOf(attribute.M);
  return null;
}
