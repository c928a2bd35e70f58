/** One row of the table of settings, and the short ways to write it. */
import { onOff, type Reader } from './setting-values.ts';

export interface Setting<Value> {
  readonly env: string;
  /** The shape in the JSON file: a number, a list and a switch may be written as such, or all as text. */
  readonly kind: 'text' | 'number' | 'list' | 'switch';
  readonly read: Reader<Value>;
  /** Undefined when the setting stays unset; a function when it follows from settings above it. */
  readonly default: string | undefined | ((earlier: EarlierValues) => string);
  /** The default in words, where it cannot be read from `default`. */
  readonly defaultWords?: string;
  /** The allowed values in words, fit to follow "use". */
  readonly values: string;
  readonly doc: string;
  readonly secret?: true;
  /** Who reads it: the server, or the commands that speak to one. */
  readonly audience: Audience;
}

export type Audience = 'server' | 'client';
export type EarlierValues = Readonly<Record<string, unknown>>;

export type Row<Value> = Omit<Setting<Value>, 'kind' | 'audience'>;

export const text = <Value>(row: Row<Value>): Setting<Value> => ({
  kind: 'text',
  audience: 'server',
  ...row,
});
export const number = <Value>(row: Row<Value>): Setting<Value> => ({
  kind: 'number',
  audience: 'server',
  ...row,
});
export const list = <Value>(row: Row<Value>): Setting<Value> => ({
  kind: 'list',
  audience: 'server',
  ...row,
});
export const onOrOff = (row: Omit<Row<boolean>, 'read' | 'values'>): Setting<boolean> => ({
  kind: 'switch',
  audience: 'server',
  read: onOff,
  values: '`on` or `off`',
  ...row,
});
export const client = <Value>(row: Row<Value>): Setting<Value> => ({
  kind: 'text',
  audience: 'client',
  ...row,
});
