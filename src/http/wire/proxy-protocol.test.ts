import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ProxyHeader, readProxyHeader } from './proxy-protocol.ts';

const signature = '0d0a0d0a000d0a515549540a';
/** Version 2: a command, a family, and the bytes after the sixteen of the header. */
const binary = (command: string, family: string, rest: string, length = rest.length / 2): Buffer =>
  Buffer.from(`${signature}${command}${family}${length.toString(16).padStart(4, '0')}${rest}`, 'hex');
const four = `${'c6336407'}${'7f000001'}${'d431'}${'1f90'}`;
const six = `${'20010db8000000000000000000000007'}${'fd000000000000000000000000000001'}${'d431'}${'1f90'}`;
const text = (line: string): Buffer => Buffer.from(line, 'latin1');

const proxyProtocol: [what: string, bytes: Buffer, address: string | undefined][] = [
  ['IPv4 in a line', text('PROXY TCP4 198.51.100.7 127.0.0.1 54321 8080\r\n'), '198.51.100.7'],
  ['IPv6 in a line', text('PROXY TCP6 2001:db8::7 fd00::1 54321 8080\r\n'), '2001:db8::7'],
  ['somebody unknown in a line', text('PROXY UNKNOWN\r\n'), undefined],
  ['somebody unknown with more words', text('PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n'), undefined],
  ['IPv4 in bytes', binary('21', '11', four), '198.51.100.7'],
  ['IPv6 in bytes', binary('21', '21', six), '2001:db8::7'],
  ['IPv4 in bytes with extras', binary('21', '11', `${four}030004deadbeef`), '198.51.100.7'],
  ['the proxy itself', binary('20', '00', ''), undefined],
  ['the proxy itself, with an address nevertheless', binary('20', '11', four), undefined],
  ['a local socket', binary('21', '31', 'aa'.repeat(216)), undefined],
  ['datagrams', binary('21', '12', four), undefined],
];

describe('a PROXY header', () => {
  test.each(proxyProtocol)(
    'of %s is understood, and what follows it is left alone',
    (_what, bytes, address) => {
      const followed = Buffer.concat([bytes, text('GET / HTTP/1.1\r\n\r\n')]);
      expect(readProxyHeader(followed)).toEqual({ address, usedBytes: bytes.length });
    },
  );

  test.each(proxyProtocol)('of %s is waited for until it is whole', (_what, bytes) => {
    for (let length = 0; length < bytes.length; length += 1)
      expect(readProxyHeader(bytes.subarray(0, length))).toBeUndefined();
  });

  test.each<[string, Buffer]>([
    ['a request', text('GET / HTTP/1.1\r\n')],
    ['a request whose method begins the same', text('PROPFIND')],
    ['a line of another family', text('PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n')],
    ['a line without addresses', text('PROXY TCP4\r\n')],
    ['a line with one address', text('PROXY TCP4 1.2.3.4 1 2\r\n')],
    ['a line with more than two', text('PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n')],
    ['a line with a name', text('PROXY TCP4 localhost 1.2.3.4 1 2\r\n')],
    ['a line with an address of the other family', text('PROXY TCP4 ::1 ::1 1 2\r\n')],
    ['a line with a port that is none', text('PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n')],
    ['a line with two spaces', text('PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n')],
    ['a line without an end', text(`PROXY UNKNOWN ${'x'.repeat(100)}`)],
    ['an empty line', text('\r\n\r\nGET')],
    ['another version', binary('31', '11', four)],
    ['another command', binary('22', '11', four)],
    ['addresses cut short', binary('21', '11', four.slice(2))],
    ['more than any proxy sends', binary('21', '11', four, 2_049)],
  ])('does not begin with %s', (_what, bytes) => {
    expect(() => readProxyHeader(bytes)).toThrow();
  });

  test('is the same however the network cut it, and bytes of any kind are understood, awaited or rejected', () => {
    const start = fc.constantFrom(...proxyProtocol.map(([, bytes]) => bytes), Buffer.alloc(0));
    const any = fc.tuple(start, fc.nat(300), fc.uint8Array({ maxLength: 300 }));
    fc.assert(
      fc.property(any, ([first, cut, rest]) => {
        const bytes = Buffer.concat([first.subarray(0, cut), rest]);
        const whole = outcomeOf(bytes);
        // A prefix that was accepted or rejected early gets the same verdict once more bytes arrive.
        for (let length = 0; length < bytes.length; length += 1) {
          const early = outcomeOf(bytes.subarray(0, length));
          if (early !== 'awaited') expect(whole).toEqual(early);
        }
        if (typeof whole === 'object') expect(whole.usedBytes).toBeLessThanOrEqual(bytes.length);
      }),
    );
  });
});

function outcomeOf(bytes: Buffer): ProxyHeader | 'awaited' | 'refused' {
  try {
    return readProxyHeader(bytes) ?? 'awaited';
  } catch {
    return 'refused';
  }
}
