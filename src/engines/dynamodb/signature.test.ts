import { expect, test } from 'bun:test';
import { AwsV4Signer } from 'aws4fetch';
import fc from 'fast-check';
import { type Credentials, Signer } from './transport.ts';

/** What a library that others use too says of the same request. */
async function referenceOf(
  region: string,
  credentials: Credentials,
  headers: Record<string, string>,
  body: string,
) {
  const { sessionToken, ...keys } = credentials;
  const { authorization: _, 'x-amz-date': datetime, 'x-amz-security-token': _token, ...rest } = headers;
  const signer = new AwsV4Signer({
    method: 'POST',
    url: 'https://dynamodb.example/',
    headers: rest,
    body,
    ...keys,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    service: 'dynamodb',
    region,
    datetime: datetime!,
    allHeaders: true,
  });
  return (await signer.sign()).headers.get('authorization');
}

const word = fc.stringMatching(/^[A-Za-z0-9+/=]{1,40}$/);

test('signatures are those of another implementation, for any key, text and day', async () => {
  const signer = new Signer('eu-west-1');
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        accessKeyId: word,
        secretAccessKey: word,
        sessionToken: fc.option(word, { nil: undefined }),
      }),
      fc.string({ unit: 'grapheme' }),
      fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }),
      async (credentials, text, date) => {
        const body = JSON.stringify({ text });
        const now = date.getTime();
        const target = 'DynamoDB_20120810.GetItem';
        const headers = signer.headersOf({ credentials, host: 'dynamodb.example', target, body, now });
        expect(headers['x-amz-security-token']).toBe(credentials.sessionToken!);
        expect(headers.authorization).toBe((await referenceOf('eu-west-1', credentials, headers, body))!);
      },
    ),
  );
});

test('the key of a day signs no request of another, nor of another secret', () => {
  const signer = new Signer('eu-west-1');
  const signatureOf = (secretAccessKey: string, now: number): string =>
    signer.headersOf({
      credentials: { accessKeyId: 'id', secretAccessKey },
      host: 'dynamodb.example',
      target: 'DynamoDB_20120810.GetItem',
      body: '{}',
      now,
    }).authorization!;
  const [day, dayMs] = [Date.UTC(2026, 0, 1), 86_400_000];
  const first = signatureOf('a', day);
  expect(new Set([first, signatureOf('a', day + dayMs), signatureOf('b', day)]).size).toBe(3);
  expect(signatureOf('a', day)).toBe(first);
});
