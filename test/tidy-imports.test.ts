import { describe, expect, test } from 'bun:test';
import { importFault } from './tidy-imports.ts';

describe('a driver', () => {
  const from = 'src/links/stores/sqlite/store.ts';

  test.each([
    'src/links/store.ts',
    'src/links/link.ts',
    'src/base/errors.ts',
    'src/engines/sqlite/database.ts',
    'src/links/stores/sqlite/rows.ts',
    'src/links/stores/row-cursor.ts',
  ])('may import %s', to => {
    expect(importFault(from, to)).toBeUndefined();
  });

  test.each([
    'src/engines/redis/connection.ts',
    'src/links/stores/memory.ts',
    'src/accounts/stores/sqlite/store.ts',
    'src/codes/base62.ts',
    'src/app/config.ts',
  ])('may not import %s', to => {
    expect(importFault(from, to)).toBeString();
  });

  test('and its engine are picked by app alone', () => {
    for (const to of [from, 'src/engines/sqlite/database.ts']) {
      expect(importFault('src/app/compose.ts', to)).toBeUndefined();
      for (const importer of [
        'src/links/create.ts',
        'src/http/api.ts',
        'src/resolve/resolver.ts',
        'src/main.ts',
      ]) {
        expect(importFault(importer, to)).toBeString();
      }
    }
  });
});
