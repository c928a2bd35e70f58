import { expect, test } from 'bun:test';
import { parseAddress } from './address.ts';

test('an address names a table, a region and, outside of AWS, an endpoint', () => {
  expect(parseAddress('dynamodb://Terse_links.prod-1?region=eu-west-1')).toEqual({
    table: 'Terse_links.prod-1',
    region: 'eu-west-1',
    endpoint: undefined,
  });
  expect(parseAddress('dynamodb://terse?endpoint=http://127.0.0.1:8000&region=local')).toEqual({
    table: 'terse',
    region: 'local',
    endpoint: 'http://127.0.0.1:8000',
  });
  expect(parseAddress('dynamodb://terse').region).toBe('us-east-1');
});

test.each([
  ['postgres://terse', 'looks like'],
  ['dynamodb://ab', 'looks like'],
  ['dynamodb://', 'looks like'],
  ['dynamodb://ter se', 'looks like'],
  ['dynamodb://terse/other', 'names a table only'],
  ['dynamodb://terse:8000', 'names a table only'],
  ['dynamodb://key@terse', 'names a table only'],
  ['dynamodb://terse?regoin=eu-west-1', 'not “regoin”'],
  ['dynamodb://terse?region=Europe', 'region'],
  ['dynamodb://terse?endpoint=127.0.0.1:8000', 'endpoint'],
  ['dynamodb://terse?endpoint=http://127.0.0.1:8000/path', 'endpoint'],
  ['dynamodb://terse?endpoint=http://key@127.0.0.1:8000', 'endpoint'],
  ['dynamodb://terse?endpoint=', 'endpoint'],
])('%s is refused with a word about what is wrong', (address, word) => {
  expect(() => parseAddress(address)).toThrow(word);
});
