import { describe, expect, test } from 'bun:test';
import { PathTable } from './path-table.ts';

function tableOf(...paths: readonly string[]): (path: string) => unknown {
  const table = new PathTable<string>();
  for (const path of paths) table.add(path, path);
  return path => {
    const match = table.find(path);
    return match && [match.handler, match.params];
  };
}

const find = tableOf(
  '/',
  '/docs',
  '/api/v1/links',
  '/api/v1/links/bulk',
  '/api/v1/links/{code}',
  '/api/v1/links/{code}/tags/{tag}',
  '/app/*',
);

describe('a path', () => {
  test.each<[path: string, handler: string, params: Record<string, string>]>([
    ['/', '/', {}],
    ['/docs', '/docs', {}],
    ['/api/v1/links', '/api/v1/links', {}],
    ['/api/v1/links/bulk', '/api/v1/links/bulk', {}],
    ['/api/v1/links/abc', '/api/v1/links/{code}', { code: 'abc' }],
    ['/api/v1/links/a%2Fb%20c', '/api/v1/links/{code}', { code: 'a/b c' }],
    ['/api/v1/links/%zz', '/api/v1/links/{code}', { code: '%zz' }],
    ['/api/v1/links/%C3%28', '/api/v1/links/{code}', { code: '%C3%28' }],
    ['/api/v1/links/..', '/api/v1/links/{code}', { code: '..' }],
    ['/api/v1/links/a/tags/b', '/api/v1/links/{code}/tags/{tag}', { code: 'a', tag: 'b' }],
    ['/app/', '/app/*', {}],
    ['/app/a/b/../c', '/app/*', {}],
  ])('%s belongs to a handler', (path, handler, params) => {
    expect(find(path)).toEqual([handler, params]);
  });

  test.each([
    '/abc',
    '/Docs',
    '/docs/',
    '/doc%73',
    '//',
    '//docs',
    '/api/v1/links/',
    '/api//v1/links',
    '/api/v1/links/a/b',
    '/api/v1/links//tags/b',
    '/api/v1/links/../links',
    '/app',
    '/apps/a',
    '/__proto__',
    '/a/constructor',
  ])('%s belongs to no handler', path => {
    expect(find(path)).toBeUndefined();
  });
});

test('of two matching patterns, the first wins', () => {
  expect(tableOf('/a/{first}', '/a/{second}')('/a/b')).toEqual(['/a/{first}', { first: 'b' }]);
});

test('the names of a table are its paths of one segment', () => {
  const table = new PathTable<number>();
  for (const path of ['/', '/docs', '/docs/file.js', '/api/v1/links', '/links/{code}', '/assets/*'])
    table.add(path, 1);
  expect(table.names).toEqual(['docs']);
});
