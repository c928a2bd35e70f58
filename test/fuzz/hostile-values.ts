/**
 * Hostile inputs: strings, values and bodies that are known to break parsers, validators, databases and terminals.
 */
import fc from 'fast-check';

const notorious = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udc00\ud800y',
  '\u202egpj.exe',
  '\u2066\u200f\u200e',
  '\ufeff',
  '\uffff',
  '\u0007\u001b[31m\u007f\u0085',
  '\r\nSet-Cookie: a=b',
  '\u2028\u2029',
  '__proto__',
  'constructor',
  'toString',
  'NaN',
  'Infinity',
  '1e400',
  '-0',
  '0x10',
  '1e1',
  '007',
  ' 5',
  'null',
  'undefined',
  'true',
  '[object Object]',
  "' OR 1=1 --",
  '%_\\',
  '%00',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  '{{7*7}}',
  '👩‍👩‍👧‍👦',
  'e\u0301'.repeat(40),
  'ǅİıſK',
  'javascript:alert(1)',
  'https:evil.example',
  'https://user:secret@a.example/',
  'http://localhost/loop',
  'https://a.example:0/',
  'http://0x7f.1/',
  'https://a.example/\t',
  'https://täst.example/ä?ö#ü',
  '2030-01-01',
  '2030-02-30T00:00:00Z',
  '9999-12-31T23:59:59-01:00',
  '2000-01-01T00:00:00Z',
  'robots.txt',
  'Admin',
];

const anyUtf16 = fc.string({ unit: fc.nat(0xffff).map(unit => String.fromCharCode(unit)), maxLength: 20 });

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...notorious) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
  { weight: 2, arbitrary: anyUtf16 },
  { weight: 1, arbitrary: fc.constantFrom('A'.repeat(100_000), '😀'.repeat(2_000), '\u202e'.repeat(301)) },
);

/** Infinity is written as `1e400`, a JSON number that no reader can represent; see `jsonText`. */
const hostileNumbers = [0, -0, -1, 1.5, 1e-300, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, Infinity, -Infinity];

const nested: fc.Arbitrary<unknown> = fc
  .record({ depth: fc.constantFrom(5, 29, 30, 31, 32, 33, 2_000), inObjects: fc.boolean() })
  .map(({ depth, inObjects }) => {
    let value: unknown = inObjects ? {} : [];
    for (let level = 0; level < depth; level += 1) value = inObjects ? { a: value } : [value];
    return value;
  });

export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 5, arbitrary: hostileText },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [null], ...hostileNumbers) },
  { weight: 1, arbitrary: nested },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

export const hostileName: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('ownerId', 'shortCode', 'createdAt', 'version', 'status', 'LONGURL'),
  },
  { weight: 1, arbitrary: hostileText },
);

/** JSON as `JSON.stringify` writes it, but with numbers beyond its reach and names such as `__proto__`. */
export function jsonText(value: unknown): string {
  if (typeof value === 'number') {
    if (Object.is(value, -0)) return '-0';
    return Number.isFinite(value) ? String(value) : value > 0 ? '1e400' : '-1e400';
  }
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${jsonText(inner)}`);
  return `{${members.join(',')}}`;
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Each takes a body that is valid JSON, an object, and returns one that is not. */
const breakages: readonly ((text: string) => Uint8Array)[] = [
  () => bytesOf(''),
  () => bytesOf(' \n'),
  text => bytesOf(text.slice(0, -1)),
  text => bytesOf(`${text}}`),
  text => bytesOf(`${text} ${text}`),
  text => bytesOf(`${text.slice(0, -1)},}`),
  text => bytesOf(`// a comment\n${text}`),
  text => bytesOf(text.replaceAll('"', "'").padEnd(3, "'")),
  text => bytesOf(`${text.slice(0, -1)}${text.length > 2 ? ',' : ''}"twice":1,"twice":1}`),
  text => bytesOf(`${text.slice(0, -1)}${text.length > 2 ? ',' : ''}"tw\\u0069ce":1,"twice":1}`),
  text => bytesOf(`${text.slice(0, -1)}${text.length > 2 ? ',' : ''}"number":NaN}`),
  text => bytesOf(`${text.slice(0, -1)}${text.length > 2 ? ',' : ''}"number":01}`),
  text => bytesOf(`${text.slice(0, -1)}${text.length > 2 ? ',' : ''}"line":"\n"}`),
  text => bytesOf(`${text.slice(0, -1)}${text.length > 2 ? ',' : ''}"escape":"\\x41"}`),
  text => Uint8Array.of(...bytesOf(text.slice(0, -1)), 0xff, 0x7d),
  text => Uint8Array.of(...bytesOf('{"half of a character":"'), 0xe2, 0x82, ...bytesOf(`"}${text}`)),
  text => new Uint8Array(Buffer.from(text, 'utf16le')),
  () => bytesOf('['.repeat(100_000)),
  () => bytesOf(`{"a":${'['.repeat(40)}${']'.repeat(40)}}`),
];

export const brokenBody = (text: fc.Arbitrary<string>): fc.Arbitrary<Uint8Array> =>
  fc.tuple(text, fc.constantFrom(...breakages)).map(([valid, breakIt]) => breakIt(valid));
