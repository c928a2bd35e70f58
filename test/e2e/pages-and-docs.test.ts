/** The public pages, their assets, QR codes, and the description of the API. */
import { afterAll, describe, expect, test } from 'bun:test';
import { inflateSync } from 'node:zlib';
import { problemTable } from '../../src/base/errors.ts';
import { qrSvg } from '../../src/web/qr.ts';
import { callerOf } from '../kit/client.ts';
import { operationsOf, readDocument, referencesIn, resolveReference } from '../kit/openapi.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { browser, program } from '../kit/visitors.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);
const publicUrl = terse.url.replace('127.0.0.1', 'localhost');
const hostile = `<script>alert(1)</script>"'&`;
await call('POST', '/api/v1/links', {
  body: { longUrl: 'https://example.com/a?b=<c>', customAlias: 'seen', title: hostile },
});
await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/', customAlias: 'gone' } });
await call('DELETE', '/api/v1/links/gone');

const visit = (path: string, headers: Record<string, string> = browser) =>
  call('GET', path, { key: undefined, headers });

describe('a page', () => {
  test.each([
    ['/', 200, /<form id="shorten-form"/],
    ['/docs', 200, /API reference/],
    ['/no-such-link', 404, /Link not found/],
    ['/no/such/path', 404, /Link not found/],
    ['/gone', 410, /This link was deleted/],
    ['/seen+', 200, /Where this link leads/],
    ['/seen%2B', 200, /Where this link leads/],
  ])('%s is complete HTML that is safe from injection', async (path, status, words) => {
    const page = await visit(path);
    expect(page.status).toBe(status);
    expect(page.body).toStartWith('<!DOCTYPE html>');
    expect(page.body).toMatch(words);
    expect(page.body).toEndWith('</html>\n');
    const policy = page.headers.get('content-security-policy')!.split('; ');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy.join()).not.toContain('unsafe');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  });

  test('loads only files that this server has and that a browser may cache', async () => {
    const pages = await Promise.all(['/', '/docs', '/no-such-link', '/seen+'].map(path => visit(path)));
    const loaded = pages.flatMap(({ body }) => [
      ...String(body).matchAll(/<(?:link|script|img)[^>]+(?:href|src)="([^"]+)"/g),
    ]);
    const urls = new Set(loaded.map(match => match[1]!));
    expect(urls.size).toBeGreaterThanOrEqual(3);
    for (const url of urls) {
      const asset = await visit(url);
      expect(asset.status).toBe(200);
      expect(asset.headers.get('cache-control')).toBe('public, max-age=86400');
      const etag = asset.headers.get('etag')!;
      expect(etag).toMatch(/^"[0-9a-f]+(?:-\w+)?"$/);
      const again = await visit(url, { ...browser, 'If-None-Match': etag });
      expect(again).toMatchObject({ status: 304, body: '' });
      expect(again.headers.get('etag')).toBe(etag);
      expect(await visit(url, { ...browser, 'If-None-Match': '"other"' })).toMatchObject({ status: 200 });
    }
  });

  test('of a preview shows the destination as text, and not the title, which is for its owner', async () => {
    const { body } = await visit('/seen+');
    expect(body).toContain('<strong>example.com</strong>');
    expect(body).not.toContain('alert(1)');
  });

  test('at the front shows the host of links', async () => {
    expect((await visit('/')).body).toContain(`${publicUrl}/api/v1/links`);
  });
});

test('a preview gives a program the same facts, without following or counting', async () => {
  for (const path of ['/seen+', '/seen%2B']) {
    const answer = await visit(path, program);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer).toMatchObject({
      status: 200,
      body: {
        shortCode: 'seen',
        longUrl: 'https://example.com/a?b=%3Cc%3E',
        expiresAt: null,
      },
    });
    expect(answer.body).not.toHaveProperty('title');
  }
  expect(await visit('/gone+', program)).toMatchObject({ status: 410, body: { code: 'link_deleted' } });
  expect(await visit('/no-such-link+', program)).toMatchObject({ status: 404 });
});

test('a preview of a link with a limit does not reveal where it leads', async () => {
  const body = { longUrl: 'https://example.com/secret', title: 'Once', customAlias: 'limited', maxClicks: 1 };
  await call('POST', '/api/v1/links', { body });
  for (const visitor of [browser, program]) {
    const answer = await visit('/limited+', visitor);
    expect(answer.status).toBe(200);
    const text = JSON.stringify(answer.body);
    expect(text).not.toContain('secret');
    expect(text).not.toContain('example.com/');
    expect(text).not.toContain('Once');
    expect(text).toContain('shown once the link is followed');
  }
  expect((await visit('/limited+', program)).body).toMatchObject({ longUrl: null });
  expect((await visit('/seen+', program)).body).toMatchObject({ notice: null });
});

test('robots.txt keeps crawlers off the links and the favicon is there', async () => {
  const robots = await visit('/robots.txt');
  expect(robots.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(robots.body).toContain('Disallow: /\n');
  const icon = await visit('/favicon.ico');
  expect(icon.status).toBe(200);
  expect(icon.headers.get('content-type')).toStartWith('image/svg+xml');
});

describe('a QR code', () => {
  const image = async (query: string) => {
    const response = await fetch(`${terse.url}/api/v1/links/seen/qr?${query}`, {
      headers: { 'X-Api-Key': 'test-admin-key-0123456789' },
    });
    return { response, bytes: Buffer.from(await response.arrayBuffer()) };
  };

  test('is an SVG by default, of the requested size', async () => {
    for (const [query, size] of [
      ['', 256],
      ['format=svg&size=512', 512],
    ] as const) {
      const { response, bytes } = await image(query);
      expect(response.headers.get('content-type')).toBe('image/svg+xml');
      expect(response.headers.get('content-disposition')).toBe('inline; filename="seen.svg"');
      expect(bytes.toString()).toStartWith(
        `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}"`,
      );
    }
  });

  test('contains the short URL with the parameter that counts a scan', async () => {
    const { bytes } = await image('');
    const { shortUrl } = (await visit('/seen+', program)).body as { shortUrl: string };
    expect(bytes.toString()).toBe(qrSvg(`${shortUrl}?qr`, { sizePx: 256 }));
  });

  test('can be a PNG whose pixels are all there', async () => {
    const { response, bytes } = await image('format=png&size=300');
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(bytes.subarray(0, 8)).toEqual(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([300, 300]);
    const dataAt = bytes.indexOf('IDAT');
    const pixels = inflateSync(bytes.subarray(dataAt + 4, dataAt + 4 + bytes.readUInt32BE(dataAt - 4)));
    expect(pixels.length % 300).toBe(0);
  });
});

describe('the OpenAPI document', async () => {
  const document = await readDocument(terse.url);
  const operations = operationsOf(document);

  test('is version 3.1, names this server, and any page may read it', async () => {
    const { headers } = await call('GET', '/api/v1/openapi.json', { key: undefined });
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(document.openapi).toMatch(/^3\.1\.\d$/);
    expect(document.info.version).toMatch(/^\d+\.\d+\.\d+/);
    expect(document.servers).toEqual([{ url: publicUrl }]);
  });

  test('refers only to what it contains', () => {
    const references = new Set(referencesIn(document));
    expect(references.size).toBeGreaterThan(2);
    for (const reference of references) expect(resolveReference(document, reference)).toBeObject();
    const schemes = operations.flatMap(({ security }) => security.flatMap(each => Object.keys(each)));
    for (const scheme of new Set(schemes)) expect(document.components.securitySchemes[scheme]).toBeObject();
  });

  test('gives each operation a name of its own, a summary, and answers with words', () => {
    const names = operations.map(({ operationId }) => operationId);
    expect(names.length).toBeGreaterThan(10);
    expect(new Set(names).size).toBe(names.length);
    for (const { summary, responses } of operations) {
      expect(summary).not.toBe('');
      expect(Object.keys(responses).some(status => /^[23]\d\d$/.test(status))).toBe(true);
      for (const { description } of Object.values(responses)) expect(description).not.toBe('');
    }
  });

  test('declares every parameter of a path, and each parameter once', () => {
    for (const { path, parameters } of operations) {
      const inPath = parameters.filter(parameter => parameter.in === 'path');
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!);
      expect(inPath.map(parameter => parameter.name)).toEqual(named);
      expect(inPath.every(parameter => parameter.required)).toBe(true);
      const all = parameters.map(parameter => `${parameter.in} ${parameter.name}`);
      expect(new Set(all).size).toBe(all.length);
      for (const { schema } of parameters) expect(schema).toBeObject();
    }
  });

  test('describes no operation that its path does not have', async () => {
    for (const { method, path } of operations) {
      const { status } = await call(method, path.replace(/\{\w+\}/g, 'seen'), { key: 'wrong' });
      expect(status).not.toBe(405);
    }
  });

  test('documents every problem, under its own status', () => {
    expect(document['x-problems']).toEqual(problemTable);
    const statuses = new Map(Object.entries(problemTable).map(([code, row]) => [code, String(row.status)]));
    const documented = new Set<string>();
    for (const { responses } of operations) {
      for (const [status, { description }] of Object.entries(responses)) {
        for (const [, code] of description.matchAll(/`(\w+)`: /g)) {
          expect({ code, status }).toEqual({ code, status: statuses.get(code!) ?? 'none' });
          documented.add(code!);
        }
      }
    }
    // These belong to no operation: a method that a path does not have, or a request that is not valid HTTP.
    const rest = Object.keys(problemTable).filter(code => !documented.has(code));
    expect(rest).toEqual(['request_timeout', 'head_too_large', 'http_version', 'method_not_allowed']);
  });

  const links = '/api/v1/links';
  const longUrl = 'https://example.com/';
  const json = (body: unknown) => ({ body });
  const bare = { key: undefined };
  const reused = { headers: { 'Idempotency-Key': 'documented' } };

  test.each([
    ['createLink', 'POST', links, json('{'), 'invalid_json'],
    ['createLink', 'POST', links, json({}), 'invalid_request'],
    ['createLink', 'POST', links, json({ longUrl: 'ftp://a' }), 'invalid_url'],
    ['createLink', 'POST', links, json({ longUrl, customAlias: '!' }), 'invalid_alias'],
    ['createLink', 'POST', links, json({ longUrl, customAlias: 'api' }), 'alias_reserved'],
    ['createLink', 'POST', links, json({ longUrl, customAlias: 'seen' }), 'alias_taken'],
    ['createLink', 'POST', links, json({ longUrl, expiresAt: '2020-01-01T00:00:00Z' }), 'invalid_expiry'],
    ['createLink', 'POST', links, { key: 'wrong', body: { longUrl } }, 'unauthorized'],
    ['createLink', 'POST', links, { ...reused, body: { longUrl, title: 'other' } }, 'idempotency_key_reused'],
    ['createLink', 'POST', links, json('"'.padEnd(2 ** 20 + 1)), 'body_too_large'],
    ['createLinks', 'POST', `${links}/bulk`, json({ links: 1 }), 'invalid_request'],
    [
      'createLinks',
      'POST',
      `${links}/bulk`,
      { body: '{', headers: { 'Content-Type': 'a/b' } },
      'unsupported_media_type',
    ],
    ['listLinks', 'GET', links, bare, 'unauthorized'],
    ['listLinks', 'GET', `${links}?limit=0`, {}, 'invalid_request'],
    ['readLink', 'GET', `${links}/none`, {}, 'not_found'],
    ['readLink', 'GET', `${links}/gone`, {}, 'link_deleted'],
    ['editLink', 'PATCH', `${links}/gone`, json({ title: null }), 'link_deleted'],
    ['editLink', 'PATCH', `${links}/seen`, json({ expiresAt: '2020-01-01T00:00:00Z' }), 'invalid_expiry'],
    ['replaceLink', 'PUT', `${links}/none`, json({ longUrl }), 'not_found'],
    ['replaceLink', 'PUT', `${links}/seen`, json({ longUrl: 'x' }), 'invalid_url'],
    ['deleteLink', 'DELETE', `${links}/none`, {}, 'not_found'],
    ['deleteLink', 'DELETE', `${links}/gone`, {}, 'link_deleted'],
    ['readQrCode', 'GET', `${links}/seen/qr?size=1`, {}, 'invalid_request'],
    ['readQrCode', 'GET', `${links}/gone/qr`, {}, 'link_deleted'],
    ['listKeys', 'GET', '/api/v1/keys', bare, 'unauthorized'],
    ['createKey', 'POST', '/api/v1/keys', json({ name: '' }), 'invalid_request'],
    ['revokeKey', 'DELETE', '/api/v1/keys/none', {}, 'not_found'],
    ['followLink', 'GET', '/none', bare, 'not_found'],
    ['followLink', 'GET', '/gone', bare, 'link_deleted'],
  ] as const)('a request about %s: %s %s %o is %s', async (name, method, path, options, code) => {
    await call('POST', links, { ...reused, body: { longUrl } });
    const { status, body } = await call(method, path, options);
    expect(body.code).toBe(code);
    const operation = operations.find(({ operationId }) => operationId === name);
    expect(operation?.responses[status]?.description).toContain(`\`${code}\``);
  });

  test('is the one that the docs page draws, and every problem has a row there', async () => {
    const { body } = await visit('/docs');
    expect(body).toContain('href="/api/v1/openapi.json"');
    for (const code of Object.keys(problemTable)) expect(body).toContain(` id="problem-${code}"`);
  });
});
