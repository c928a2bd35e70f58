import { expect, test } from 'bun:test';
import { parsePurgeAddress, urlOfCode } from './purge-address.ts';

test('an address says what kind of edge it is and where', () => {
  expect(parsePurgeAddress('http://varnish:6081')).toEqual({ kind: 'keys', url: 'http://varnish:6081/' });
  expect(parsePurgeAddress('https://edge.example/hooks/purge?site=1')).toEqual({
    kind: 'keys',
    url: 'https://edge.example/hooks/purge?site=1',
  });
  expect(parsePurgeAddress('http://nginx:8081/purge/{code}')).toEqual({
    kind: 'paths',
    url: 'http://nginx:8081/purge/{code}',
  });
  expect(parsePurgeAddress('fastly://SU1Z0isxPaozGVKXdv0eY')).toEqual({
    kind: 'fastly',
    service: 'SU1Z0isxPaozGVKXdv0eY',
    endpoint: 'https://api.fastly.com',
  });
  expect(parsePurgeAddress('cloudfront://EDFDVBD6EXAMPLE?endpoint=http://127.0.0.1:9000')).toEqual({
    kind: 'cloudfront',
    distribution: 'EDFDVBD6EXAMPLE',
    endpoint: 'http://127.0.0.1:9000',
  });
});

test.each([
  ['varnish:6081', 'no http or https URL'],
  ['ftp://varnish', 'no http or https URL'],
  ['http://', 'no http or https URL'],
  ['http://user:secret@varnish/', 'TERSE_EDGE_PURGE_TOKEN'],
  ['http://varnish/#all', 'fragment'],
  ['http://{code}.example/', 'after the host'],
  ['http://nginx/{code}/{code}', 'once'],
  ['fastly://', 'fastly://SERVICE'],
  ['fastly://a/b', 'fastly://SERVICE'],
  ['cloudfront://E1?region=x', 'cloudfront://DISTRIBUTION'],
  ['fastly://a?endpoint=http://h/path', 'origin'],
])('%s is refused with a word about what is wrong', (address, word) => {
  expect(() => parsePurgeAddress(address)).toThrow(word);
});

test('a code takes its place in the path', () => {
  expect(urlOfCode('http://nginx:8081/purge/{code}', 'a-_Z')).toBe('http://nginx:8081/purge/a-_Z');
});
