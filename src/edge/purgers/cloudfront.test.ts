import { afterEach, beforeEach, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { FakeEdge } from '../fake-edge.ts';
import { createCloudFrontPurger, signedHeaders } from './open.ts';

let edge: FakeEdge;
beforeEach(() => {
  edge = new FakeEdge();
});
afterEach(() => edge.stop());

const clock = new ManualClock(Date.UTC(2026, 4, 17, 23, 59));
const purger = () =>
  createCloudFrontPurger({
    address: { kind: 'cloudfront', distribution: 'EDFDVBD6EXAMPLE', endpoint: edge.url },
    keys: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret-of-nobody' },
    clock,
  });

test('codes become the paths of one signed invalidation, and everything is one path', async () => {
  edge.answer = () => new Response('<Invalidation/>', { status: 201 });
  await purger().purge(['one', 'two']);
  await purger().purgeAll?.();
  const [some, all] = edge.seen;
  expect(`${some?.method} ${some?.path}`).toBe('POST /2020-05-31/distribution/EDFDVBD6EXAMPLE/invalidation');
  expect(some?.body).toContain(
    '<Paths><Quantity>2</Quantity><Items><Path>/one</Path><Path>/two</Path></Items></Paths>',
  );
  expect(all?.body).toContain('<Quantity>1</Quantity><Items><Path>/*</Path></Items>');
  expect(some?.headers.get('authorization')).toStartWith(
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260517/us-east-1/cloudfront/aws4_request, ` +
      'SignedHeaders=content-type;host;x-amz-date, Signature=',
  );
  expect(`${some?.body}${JSON.stringify(some?.headers)}`).not.toContain('secret-of-nobody');
});

test('no two invalidations have the same reference, or the second would count as a repeat of the first', async () => {
  edge.answer = () => new Response('', { status: 201 });
  await purger().purge(['one']);
  clock.advance(2);
  await purger().purge(['one']);
  const references = edge.seen.map(({ body }) => /<CallerReference>(.+)<\/CallerReference>/.exec(body)?.[1]);
  expect(new Set(references).size).toBe(2);
});

test('a rejection is a failure that names the error code of the API', async () => {
  edge.answer = () =>
    new Response(
      '<ErrorResponse><Error><Code>TooManyInvalidationsInProgress</Code></Error></ErrorResponse>',
      {
        status: 400,
      },
    );
  await expect(purger().purge(['one'])).rejects.toThrow(
    'CloudFront refused an invalidation: TooManyInvalidationsInProgress',
  );
  edge.answer = () => new Response('', { status: 502 });
  await expect(purger().purge(['one'])).rejects.toThrow('CloudFront refused an invalidation: status 502');
});

test.each<[token: { sessionToken?: string }, names: string, signature: string]>([
  [{}, 'content-type;host;x-amz-date', '9b81d629f892c9bf95a98a2f707a02190feea6692d1223316ae59e25d5645694'],
  [
    { sessionToken: 'one' },
    'content-type;host;x-amz-date;x-amz-security-token',
    'af17793096df3b26d2f241d467846a05218ec4fc46de82e6f84b33c79ad945b1',
  ],
])('a signature is the one of another implementation, with %j', async (token, names, signature) => {
  const secretAccessKey = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
  const request = {
    method: 'POST',
    url: 'https://cloudfront.amazonaws.com/2020-05-31/distribution/EDFDVBD6EXAMPLE/invalidation',
    headers: { 'Content-Type': 'text/xml' },
    body: '<InvalidationBatch/>',
  };
  const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey, ...token };
  const headers = await signedHeaders(request, keys, Date.UTC(2015, 7, 30, 12, 36));
  expect(headers['x-amz-date']).toBe('20150830T123600Z');
  expect(headers.authorization).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/cloudfront/aws4_request, ' +
      `SignedHeaders=${names}, Signature=${signature}`,
  );
  expect(headers['x-amz-security-token']).toBe(token.sessionToken!);
});
