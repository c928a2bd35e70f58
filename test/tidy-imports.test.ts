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
    'src/links/stores/rows.ts',
  ])('may import %s', to => {
    expect(importFault(from, to)).toBeUndefined();
  });

  test.each([
    'src/engines/redis/connection.ts',
    'src/links/stores/memory.ts',
    'src/codes/code-space.ts',
    'src/config/config.ts',
  ])('may not import %s', to => {
    expect(importFault(from, to)).toBeString();
  });

  test('and its engine are picked by compose.ts alone', () => {
    for (const to of [from, 'src/engines/sqlite/database.ts']) {
      expect(importFault('src/compose.ts', to)).toBeUndefined();
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
