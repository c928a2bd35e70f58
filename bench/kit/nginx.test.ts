import { expect, test } from 'bun:test';
import { mapRows } from './nginx.ts';

test('codes that differ in their case only are one for nginx, and the first counts', () => {
  expect(
    mapRows([
      ['aBc', 'https://example.com/1'],
      ['AbC', 'https://example.com/2'],
      ['abd', 'https://example.com/3'],
    ]),
  ).toEqual(['"/aBc" "https://example.com/1";\n', '"/abd" "https://example.com/3";\n']);
});
