import { expect, test } from 'bun:test';
import { parseS3Address } from './address.ts';

test('an address names a bucket, a prefix, a region and, outside of AWS, an endpoint', () => {
  expect(parseS3Address('s3://terse-archive/eu/one/?region=eu-west-1')).toEqual({
    bucket: 'terse-archive',
    prefix: 'eu/one',
    region: 'eu-west-1',
    endpoint: 'https://s3.eu-west-1.amazonaws.com',
  });
  expect(parseS3Address('s3://terse?endpoint=http://127.0.0.1:9000')).toEqual({
    bucket: 'terse',
    prefix: '',
    region: 'us-east-1',
    endpoint: 'http://127.0.0.1:9000',
  });
});

test.each([
  ['https://terse', 'looks like'],
  ['s3://', 'looks like'],
  ['s3://ab', 'looks like'],
  ['s3://Ter_se', 'looks like'],
  ['s3://terse:9000', 'names a bucket only'],
  ['s3://key@terse', 'names a bucket only'],
  ['s3://terse/a//b', 'prefix'],
  ['s3://terse/a%20b', 'prefix'],
  ['s3://terse?regoin=eu-west-1', 'not “regoin”'],
  ['s3://terse?region=Europe', 'region'],
  ['s3://terse?endpoint=127.0.0.1:9000', 'endpoint'],
  ['s3://terse?endpoint=http://127.0.0.1:9000/path', 'endpoint'],
])('%s is refused with a word about what is wrong', (address, word) => {
  expect(() => parseS3Address(address)).toThrow(word);
});
