/**
 * How the text of a setting becomes its value. Each reader returns the value in the one form the rest of the
 * program sees, or throws `Refused`; the caller adds the setting's name and its allowed values.
 * Invariant: a reader never puts its whole input into the message, because the input may be a secret.
 */
import { isIP } from 'node:net';
import { closestName } from '../base/did-you-mean.ts';
import { parseRegion } from '../codes/id-share.ts';
import { parseAddress as parseClickHouseAddress } from '../engines/clickhouse/address.ts';
import { parseKafkaAddress } from '../engines/kafka/address.ts';
import { parseS3Address } from '../engines/s3/address.ts';

/** The value is not allowed. The message, possibly empty, is a hint beyond the setting's allowed values. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

export type Reader<Value> = (text: string) => Value;

export function wholeNumber(min: number, max: number): Reader<number> {
  return text => {
    const value = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new Refused();
    return value;
  };
}

export function oneOf<const Word extends string>(...words: readonly Word[]): Reader<Word> {
  return text => {
    const word = words.find(candidate => candidate === text);
    if (word !== undefined) return word;
    const close = closestName(text, words);
    throw new Refused(close === undefined ? '' : `did you mean ${close}?`);
  };
}

export function orWord<Value, const Word extends string>(
  word: Word,
  read: Reader<Value>,
): Reader<Value | Word> {
  return text => (text === word ? word : read(text));
}

/** For settings that can be left out: `none` is the way to say so where an empty value is refused. */
export function orNone<Value>(read: Reader<Value>): Reader<Value | undefined> {
  return text => (text === 'none' ? undefined : read(text));
}

/** A comma list without duplicates; `none` is the empty list. */
export function listOf<Item extends string>(read: Reader<Item>): Reader<readonly Item[]> {
  return text => {
    if (text === 'none') return [];
    const items = text.split(',').map(item => item.trim());
    if (items.includes('')) throw new Refused('an item of the list is empty');
    return [...new Set(items.map(read))];
  };
}

function onOff(text: string): boolean {
  return oneOf('on', 'off')(text) === 'on';
}

/** An http or https origin, without the trailing slash. */
export function origin(text: string): string {
  if (!/^https?:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) throw new Refused();
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') throw new Refused('leave out the user and password');
  if (url.href !== `${url.origin}/`) throw new Refused('leave out everything after the host and port');
  return url.origin;
}

/** What a socket can listen on. */
export function listenHost(text: string): string {
  const label = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
  const isName = text.length <= 253 && new RegExp(`^${label}(?:\\.${label})*$`).test(text);
  // A name of digits and dots only that is no address is a mistyped address.
  if (isIP(text) === 0 && (!isName || /^[\d.]+$/.test(text))) throw new Refused();
  return text;
}

/** A host as the URL parser spells it: lower case, punycode, no trailing dot, no port. */
export function webHost(text: string): string {
  const refusal = new Refused(`${oneLine(text)} is not a host name`);
  if (text === '' || /[\s/\\?#@]/.test(text) || !URL.canParse(`http://${text}`)) throw refusal;
  const url = new URL(`http://${text}`);
  if (url.port !== '' || /:\d*$/.test(text)) throw refusal;
  return url.hostname.replace(/\.$/, '');
}

/** A range of addresses as `address/bits`; a single address is the range that holds only itself. */
export function cidr(text: string): string {
  const [address = '', bits, ...more] = text.split('/');
  const family = address.includes('%') ? 0 : isIP(address);
  const bitsMax = family === 6 ? 128 : 32;
  const wellFormed = family !== 0 && more.length === 0 && (bits === undefined || /^\d{1,3}$/.test(bits));
  if (!wellFormed || Number(bits ?? 0) > bitsMax) {
    throw new Refused(`${oneLine(text)} is not an address range`);
  }
  return `${address.toLowerCase()}/${Number(bits ?? bitsMax)}`;
}

/**
 * An engine: one of `words`, or a URL with one of `schemes`. The pattern is ours because the URL parser knows
 * no comma list of hosts, which clusters need.
 */
export function engine(words: readonly string[], schemes: readonly string[]): Reader<string> {
  const host = '(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+)(?::\\d{1,5})?';
  const url = new RegExp(
    `^(?:${schemes.join('|')})://(?:[^\\s@/?#]+@)?${host}(?:,${host})*(?:/[^\\s?#]*)?(?:\\?[^\\s#]*)?$`,
  );
  return text => {
    if (words.includes(text) || url.test(text)) return text;
    const close = /[:/@]/.test(text) ? undefined : closestName(text, words);
    throw new Refused(close === undefined ? '' : `did you mean ${close}?`);
  };
}

/** An address that cannot be parsed is refused here, and not at its first use. */
export function parsedBy(
  parse: (text: string) => unknown,
  read: Reader<string> = text => text,
): Reader<string> {
  return text => {
    const value = read(text);
    try {
      parse(value);
    } catch (error) {
      throw new Refused((error as Error).message);
    }
    return value;
  };
}

/** A stream of clicks. */
export const streamAddress = orWord(
  'embedded',
  parsedBy(parseKafkaAddress, engine(['embedded'], ['kafka', 'kafkas'])),
);

/** Where clicks are counted. */
export const statsAddress = orWord(
  'sqlite',
  parsedBy(parseClickHouseAddress, engine(['sqlite'], ['clickhouse'])),
);

/** An archive of clicks in S3-compatible storage. */
export const archiveAddress = parsedBy(parseS3Address);

/** One region of several, kept as it is written. */
export function region(text: string): string {
  if (parseRegion(text) === undefined) throw new Refused();
  return text;
}

/** A key that can be sent in a header as it is. */
export function key(lengthMin: number): Reader<string> {
  return text => {
    if (text.length < lengthMin || !/^[\x21-\x7e]+$/.test(text)) throw new Refused();
    return text;
  };
}

/** The value of a response header: nothing in it can end the header. */
export function headerValue(text: string): string {
  if (text.length > 256 || !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)) throw new Refused();
  return text;
}

export function path(text: string): string {
  if (text === '' || text.includes('\0')) throw new Refused();
  return text;
}

/** Control characters made visible, so that a message stays on one line whatever it quotes. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, character => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Hides the user and password of a URL, also of a mistyped one, and parameters that look like a secret. */
export function hideCredentials(text: string): string {
  return text
    .replace(/^([a-z][a-z0-9+.-]*:\/*)?.*@/is, '$1***@')
    .replace(/([?&][^=&]*(?:pass|secret|token|key)[^=&]*=)[^&]*/gi, '$1***');
}

/** One row of the table of settings, and the short ways to write it. */
export interface Setting<Value> {
  readonly env: string;
  /** The shape in the JSON file: a number, a list and a switch may be written as such, or all as text. */
  readonly kind: 'text' | 'number' | 'list' | 'switch';
  readonly read: Reader<Value>;
  /** Undefined when the setting stays unset; a function when it depends on settings above it. */
  readonly default: string | undefined | ((earlier: EarlierValues) => string);
  /** The default in words, where it cannot be read from `default`. */
  readonly defaultWords?: string;
  /** The allowed values in words, fit to follow "use". */
  readonly values: string;
  readonly doc: string;
  readonly secret?: true;
  /** Which programs read it: the server, or the commands that call one. */
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
/** A whole number from the first to the second of `range`; the third is a remark on its values. */
export const integer = ({
  range: [min, max, remark],
  ...row
}: Omit<Row<number>, 'read' | 'values'> & {
  readonly range: readonly [min: number, max: number, remark?: string];
}): Setting<number> =>
  number({
    read: wholeNumber(min, max),
    values: `${min} to ${max}${remark === undefined ? '' : `; ${remark}`}`,
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
