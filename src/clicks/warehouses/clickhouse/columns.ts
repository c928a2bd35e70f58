/** Names and types of what is in ClickHouse, and what a visitor's hash is there. */
import { clickSignals, visitKinds } from '../../click.ts';
import { type Dimension, dimensionNames, dimensions } from '../../dimensions.ts';
import { tokensMax } from '../../sketch/sparse.ts';
import { registerCount } from '../../sketch/token.ts';

/** What is filled by views, in the order in which it is copied by a recount. */
export const viewedTables = ['clicks', 'minutes', 'quarters', 'days', 'dimensions', 'lists'] as const;
export type ViewedTable = (typeof viewedTables)[number];
/** The column that holds the time of a row in each table. */
export const timeColumns = {
  clicks: 'at',
  minutes: 'start',
  quarters: 'start',
  days: 'day',
  dimensions: 'day',
  lists: 'start',
} as const satisfies Record<ViewedTable, string>;
/** Tables in which a scope has rows. */
export const scopedTables = viewedTables.filter(table => table !== 'clicks');
export const generationTables = ['incoming', ...viewedTables, 'ledger'] as const;
/** Single clicks of before an upgrade are in `earlier`, see upgrade.ts. */
export type GenerationTable = (typeof generationTables)[number] | 'earlier';

export const tableName = (table: GenerationTable, generation: number): string => `${table}_${generation}`;
export const viewName = (table: ViewedTable, generation: number): string => `to_${table}_${generation}`;

const enumOf = (names: readonly string[]): string =>
  `Enum8(${names.map((name, index) => `'${name}' = ${index}`).join(', ')})`;
export const kindType = enumOf(visitKinds);
export const signalType = enumOf(clickSignals);
export const dimensionType = enumOf(dimensionNames);
const ledgerKinds = ['partition', 'producer', 'hour'] as const;
export type LedgerKind = (typeof ledgerKinds)[number];
export const ledgerKindType = enumOf(ledgerKinds);

export const word = 'LowCardinality(String)';
export const packedWord = `${word} CODEC(ZSTD(1))`;
export const time = "DateTime64(3, 'UTC')";

/** Dimensions that clicks have as words; the link is a string, and the kind of a visit an enum. */
export const wordDimensions = dimensions.filter(({ of }) => of !== 'link' && of !== 'kind');

/** In the order in which a block is sent (incoming.ts). */
export const incomingTypes: Readonly<Record<string, string>> = {
  at: time,
  code: word,
  scopes: `Array(${word})`,
  owner: word,
  tags: `Array(${word})`,
  kind: kindType,
  signal: signalType,
  visitor: 'UInt64',
  token: 'UInt32',
  agent: word,
  producer: word,
  sequence: 'UInt64',
  ...Object.fromEntries(wordDimensions.map(({ column }) => [column, word])),
};

/** What is kept of a click by itself. */
export const clickTypes: Readonly<Record<string, string>> = {
  owner: packedWord,
  code: 'String CODEC(ZSTD(1))',
  at: `${time} CODEC(Delta, ZSTD(1))`,
  kind: `${kindType} CODEC(ZSTD(1))`,
  signal: `${signalType} CODEC(ZSTD(1))`,
  visitor: 'UInt64 CODEC(NONE)',
  tags: `Array(${word}) CODEC(ZSTD(1))`,
  agent: packedWord,
  producer: packedWord,
  sequence: 'UInt64 CODEC(Delta, ZSTD(1))',
  ...Object.fromEntries(wordDimensions.map(({ column }) => [column, packedWord])),
};
export const clickColumns = Object.keys(clickTypes);

/** One more than a sketch keeps one by one: where there are this many, registers give the rest. */
export const visitorsKept = tokensMax + 1;

/** The token of a visitor's hash, the same as `tokenOf`: 25 bits, and where the first one is in the 39 behind them. */
export const tokenIn = (hash: string): string => {
  const position = `bitShiftRight(${hash}, 39)`;
  const tail = `bitAnd(${hash}, ${2 ** 39 - 1})`;
  const depth = `if(bitAnd(${position}, 2047) != 0, 0, if(${tail} = 0, 40, 39 - floor(log2(${tail}))))`;
  return `toUInt32(bitShiftLeft(${position}, 6) + ${depth})`;
};

/**
 * Rank and register of a token in one number; the same as `rankOf` and `registerOf`. The rank stands above: low ranks are
 * by far the most, so they share the first stretch of a bitmap, where it is bits and not a list, and merges by the word.
 */
export const rankIn = (token: string): string => {
  const prefix = `bitAnd(bitShiftRight(${token}, 6), 2047)`;
  const rank = `if(${prefix} = 0, 11 + bitAnd(${token}, 63), 11 - floor(log2(${prefix})))`;
  return `toUInt32(${rank} * ${registerCount} + bitShiftRight(${token}, 17))`;
};

export const dimensionNumber = ({ name }: Pick<Dimension, 'name'>): number => dimensionNames.indexOf(name);

/**
 * How a select that is grouped by GROUPING SETS of dimensions' columns says which dimension a row is of, and its value:
 * of the columns that a set is not grouped by, a row has the empty text.
 */
export function groupedBy(grouped: readonly Dimension[], otherwise: string) {
  const words = grouped.filter(({ of }) => of !== 'kind').map(({ column }) => `toString(${column})`);
  const isOf = grouped.map(each => `grouping(${each.column}) = 0, ${dimensionNumber(each)}`);
  const joined = words.length > 1 ? `concat(${words.join(', ')})` : (words[0] ?? "''");
  const hasKind = grouped.some(({ of }) => of === 'kind');
  return {
    dimension: isOf.length === 0 ? otherwise : `multiIf(${isOf.join(', ')}, ${otherwise})`,
    value: hasKind ? `if(grouping(kind) = 0, toString(kind), ${joined})` : joined,
  };
}
