/**
 * The names that clients of other shorteners use for our API, in both directions. They make the same call: paths lead
 * to the same handler, fields are renamed before any validation, and the answer is renamed into the spelling of the
 * request. Routes know camelCase only.
 */
import type { z } from 'zod';
import { Problem } from '../base/errors.ts';

type Style = 'camelCase' | 'snake_case';

/** Alternative paths, each with the style in which it answers a request that has no style itself. */
export const pathSpellings: Readonly<Record<string, Readonly<Record<string, Style>>>> = {
  '/api/v1/links': {
    '/api/v1/urls': 'snake_case',
    '/api/v1/shorten': 'snake_case',
    '/v1/links': 'camelCase',
    '/shorten': 'snake_case',
  },
};

/** Alternative names of fields. In addition, every name is accepted in snake_case, these included. */
export const fieldSpellings: Readonly<Record<string, string>> = {
  url: 'longUrl',
  originalUrl: 'longUrl',
  destination: 'longUrl',
  alias: 'customAlias',
  slug: 'customAlias',
  customSlug: 'customAlias',
  customCode: 'customAlias',
};

/** The name of an alias in messages to a client that uses another name for it. */
const aliasNouns: Readonly<Record<string, string>> = { slug: 'slug', customSlug: 'slug', customCode: 'code' };

/** Paths where a create is answered with exactly these fields. */
const briefCreates = ['/api/v1/shorten', '/shorten'];
const briefFields = {
  short_code: 'shortCode',
  short_url: 'shortUrl',
  original_url: 'longUrl',
  created_at: 'createdAt',
  expires_at: 'expiresAt',
} as const;
/** Paths where the lists of a link's statistics are plain names, most clicked first. */
const plainStats = '/api/v1/urls';
const plainLists = ['topReferrers', 'topCountries'];
/** A parameter whose value is the name of a field. */
const fieldValued = 'sort';

const pathStyles = Object.values(pathSpellings).flatMap(others =>
  Object.entries(others).map(([path, style]) => ({ path, below: `${path}/`, style })),
);

/** All paths of a route, the canonical one first; paths below one are spelled in the same ways. */
export function spellingsOf(path: string): string[] {
  for (const [canonical, others] of Object.entries(pathSpellings)) {
    if (!isAtOrBelow(path, canonical)) continue;
    return [path, ...Object.keys(others).map(other => other + path.slice(canonical.length))];
  }
  return [path];
}

const styleOfPath = (path: string): Style =>
  pathStyles.find(other => path === other.path || path.startsWith(other.below))?.style ?? 'camelCase';

/** The spelling of one request, detected while its query and body are read. */
export class RequestSpelling {
  readonly #path: string;
  readonly #pathStyle: Style;
  readonly #parent: RequestSpelling | undefined;
  #hasSnake = false;
  #hasCamel = false;
  /** The names that were sent, by the canonical path of the field, where they differ. */
  #sent: Map<string, string> | undefined;
  /** Whether a problem already uses the client's names. */
  #isLiteral = false;
  /** The existing fields of the whole, and of objects within it by their path. */
  #knownFields: FieldSchemas | undefined;
  #knownWithin: Map<string, FieldSchemas> | undefined;

  constructor(path: string, parent?: RequestSpelling) {
    this.#path = path;
    this.#parent = parent;
    this.#pathStyle = parent === undefined ? styleOfPath(path) : parent.#pathStyle;
  }

  /** For one of many items: it has its own names, and the style of the request. */
  item(): RequestSpelling {
    return new RequestSpelling(this.#path, this);
  }

  get #style(): Style {
    if (this.#parent !== undefined) return this.#parent.#style;
    if (this.#hasCamel) return 'camelCase';
    return this.#hasSnake ? 'snake_case' : this.#pathStyle;
  }

  /** Whether nothing has another name here than in our schema, so that all such items can share one spelling. */
  get isOurs(): boolean {
    return this.#sent === undefined && !this.#isLiteral;
  }

  /** Whether the fields of an answer must be renamed. */
  get isForeign(): boolean {
    return this.#style === 'snake_case' || briefCreates.includes(this.#path);
  }

  /** Renames fields to their canonical names. A field given under two names is an error. */
  canonical(given: unknown, schema: z.ZodType, within = ''): unknown {
    const fields = fieldsOf(schema);
    if (fields === undefined || typeof given !== 'object' || given === null || Array.isArray(given))
      return given;
    if (isCanonical(given, fields)) {
      this.#noteFields(within, fields);
      for (const name in given) this.#noteStyle(name);
      return given;
    }
    const canonical = new Map<string, unknown>();
    this.#noteFields(within, fields);
    for (const [name, value] of Object.entries(given)) {
      const field = fieldNamed(name, fields);
      const path = within + field;
      if (canonical.has(field)) this.#refuseTwice(path, name);
      if (field !== name) {
        this.#sent ??= new Map();
        this.#sent.set(path, within === '' ? name : `${this.name(within.slice(0, -1))}.${name}`);
      }
      if (fields.has(field)) this.#noteStyle(name);
      canonical.set(field, this.#valueOf(field, value, fields.get(field), path));
    }
    return Object.fromEntries(canonical);
  }

  /** The client's name of a field. */
  name(path: string): string {
    const sent = this.#sent?.get(path);
    if (sent !== undefined) return sent;
    return this.#style === 'snake_case' && this.#isKnown(path)
      ? path.split('.').map(snakeCase).join('.')
      : path;
  }

  /** A part of an answer in the spelling of the request. */
  spell(value: unknown): unknown {
    return this.#style === 'snake_case' ? withSnakeKeys(value) : value;
  }

  /** A whole answer of a route. */
  answer(routeName: string, value: Readonly<Record<string, unknown>>): unknown {
    if (routeName === 'createLink' && briefCreates.includes(this.#path))
      return Object.fromEntries(Object.entries(briefFields).map(([name, field]) => [name, value[field]]));
    const isPlain = routeName === 'readLinkStats' && isAtOrBelow(this.#path, plainStats);
    return this.spell(isPlain ? withPlainLists(value) : value);
  }

  /** Rewrites a problem with the client's names of fields. */
  problem(problem: Problem): Problem {
    if (this.#isLiteral || (this.#sent === undefined && this.#style === 'camelCase')) return problem;
    const { field, errors, ...others } = problem.fields;
    const named = {
      ...(this.spell(others) as Record<string, unknown>),
      ...(field !== undefined && { field: this.name(String(field)) }),
      ...(Array.isArray(errors) && { errors: errors.map(error => this.#fieldError(error)) }),
    };
    const { code, headers, cause } = problem;
    return new Problem(code, { detail: this.#inWords(problem.detail), fields: named, headers, cause });
  }

  #valueOf(field: string, value: unknown, schema: z.ZodType | undefined, path: string): unknown {
    if (field === fieldValued && typeof value === 'string' && value.includes('_')) {
      this.#noteStyle(value);
      return camelCase(value);
    }
    return schema === undefined ? value : this.canonical(value, schema, `${path}.`);
  }

  #isKnown(path: string): boolean {
    const nameAt = path.lastIndexOf('.') + 1;
    const fields = nameAt === 0 ? this.#knownFields : this.#knownWithin?.get(path.slice(0, nameAt));
    return fields?.has(path.slice(nameAt)) ?? false;
  }

  #noteFields(within: string, fields: FieldSchemas): void {
    if (within === '') this.#knownFields = fields;
    else {
      this.#knownWithin ??= new Map();
      this.#knownWithin.set(within, fields);
    }
  }

  #noteStyle(name: string): void {
    if (this.#parent !== undefined) this.#parent.#noteStyle(name);
    else if (name.includes('_')) this.#hasSnake = true;
    else if (!this.#hasCamel) this.#hasCamel = /[A-Z]/.test(name);
  }

  #refuseTwice(path: string, name: string): never {
    const first = this.#sent?.get(path) ?? path;
    this.#isLiteral = true;
    throw new Problem('invalid_request', {
      detail: `“${first}” and “${name}” are the same field; send one of them.`,
      fields: { field: name },
    });
  }

  #fieldError(error: unknown): unknown {
    const { field, message, ...others } = error as { field: string; message: string };
    return { field: this.name(field), message: this.#inWords(message), ...others };
  }

  #inWords(text: string): string {
    const named = text.replace(/“([\w.]+)”/g, (quoted, path: string) =>
      this.#isKnown(path) ? `“${this.name(path)}”` : quoted,
    );
    const noun = aliasNouns[camelCase(this.#sent?.get('customAlias') ?? '')];
    if (noun === undefined) return named;
    // A quoted part is a value, or a name that was replaced already.
    return named
      .split(/(“[^”]*”)/)
      .map((part, place) =>
        place % 2 === 1 ? part : part.replace(/\ban alias\b/g, `a ${noun}`).replace(/\balias\b/g, noun),
      )
      .join('');
  }
}

/** Whether nothing needs to be renamed, which saves a copy of most items of a large call. */
function isCanonical(given: object, fields: FieldSchemas): boolean {
  for (const name in given) {
    const value = (given as Readonly<Record<string, unknown>>)[name];
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!fields.has(name) || isNested || name === fieldValued) return false;
  }
  return true;
}

function fieldNamed(name: string, fields: ReadonlyMap<string, unknown>): string {
  if (fields.has(name)) return name;
  const camel = camelCase(name);
  if (fields.has(camel)) return camel;
  const other = Object.hasOwn(fieldSpellings, camel) ? fieldSpellings[camel]! : name;
  return fields.has(other) ? other : name;
}

type FieldSchemas = ReadonlyMap<string, z.ZodType>;

const knownFields = new WeakMap<z.ZodType, FieldSchemas | undefined>();

/** The fields of an object with their schemas; of a choice of objects, those of all of them. */
export function fieldsOf(schema: z.ZodType): FieldSchemas | undefined {
  const known = knownFields.get(schema);
  if (known !== undefined || knownFields.has(schema)) return known;
  const fields = readFields(schema);
  knownFields.set(schema, fields);
  return fields;
}

function readFields(schema: z.ZodType): FieldSchemas | undefined {
  const { shape, options, innerType } = schema.def as unknown as {
    readonly shape?: Readonly<Record<string, z.ZodType>>;
    readonly options?: readonly z.ZodType[];
    readonly innerType?: z.ZodType;
  };
  if (shape !== undefined) return new Map(Object.entries(shape));
  if (innerType !== undefined) return fieldsOf(innerType);
  const all = options?.flatMap(option => [...(fieldsOf(option) ?? [])]);
  return all === undefined || all.length === 0 ? undefined : new Map(all);
}

const isAtOrBelow = (path: string, top: string): boolean => path === top || path.startsWith(`${top}/`);

/** `clicks24h` is `clicks_24h`. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`).replace(/([a-z])(\d)/g, '$1_$2');

/** Only a name in snake_case is changed. */
export const camelCase = (name: string): string =>
  /^-?[a-z]\w*$/.test(name) && !/[A-Z]/.test(name)
    ? name.replace(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase())
    : name;

/** An answer has the same few names thousands of times. */
const snakeNames = new Map<string, string>();
const snakeNamesMax = 1_000;

function snakeName(name: string): string {
  const known = snakeNames.get(name);
  if (known !== undefined) return known;
  const snake = snakeCase(name);
  if (snakeNames.size < snakeNamesMax) snakeNames.set(name, snake);
  return snake;
}

function withSnakeKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSnakeKeys);
  if (typeof value !== 'object' || value === null) return value;
  const renamed: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) renamed[snakeName(name)] = withSnakeKeys(inner);
  return renamed;
}

/** Entries without a name (direct visits, unknown countries, the rest) are left out. */
function withPlainLists(stats: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const lists = plainLists.map(name => {
    const rows = (stats[name] ?? []) as readonly { readonly value: string }[];
    return [name, rows.map(row => row.value).filter(isNamed)];
  });
  return { ...stats, ...Object.fromEntries(lists) };
}

const isNamed = (value: string): boolean => value !== '' && !value.startsWith('(');
