import { expect, test } from 'bun:test';
import { signedHeaders, type UnsignedRequest } from './signature.ts';

const keys = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const scope = { region: 'us-east-1', service: 'service', at: Date.UTC(2015, 7, 30, 12, 36) };
const plain: UnsignedRequest = {
  method: 'GET',
  url: 'https://example.amazonaws.com/',
  headers: {},
  body: '',
};
const form: UnsignedRequest = {
  ...plain,
  method: 'POST',
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  body: 'Param1=value1',
};
const twoParameters = `${plain.url}?Param2=value2&Param1=value1`;

/** The vendor publishes these requests with their signatures. */
test.each<[string, UnsignedRequest, string]>([
  ['a plain GET', plain, '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  [
    'a plain POST',
    { ...plain, method: 'POST' },
    '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  ],
  [
    'a query in any order',
    { ...plain, url: twoParameters },
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  ['a body and its type', form, 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a'],
])('%s gets the published signature', (_what, request, signature) => {
  const { authorization, ...headers } = signedHeaders(request, keys, scope);
  expect(headers['x-amz-date']).toBe('20150830T123600Z');
  expect(authorization).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ' +
      `SignedHeaders=${request === form ? 'content-type;' : ''}host;x-amz-date, Signature=${signature}`,
  );
});

test('the token of temporary keys is sent and signed', () => {
  const signed = (sessionToken: string) => signedHeaders(plain, { ...keys, sessionToken }, scope);
  expect(signed('one')['x-amz-security-token']).toBe('one');
  expect(signed('one').authorization).toContain('SignedHeaders=host;x-amz-date;x-amz-security-token,');
  expect(signed('one').authorization).not.toBe(signed('two').authorization!);
});
