import { expect, test } from 'bun:test';
import { settingNames } from '../../src/config/settings.ts';
import { mostUsedTable, settingTables } from './settings-document.ts';

test('every setting has one well-formed row, in one of the groups', () => {
  const rows = settingTables()
    .split('\n')
    .filter(line => line.startsWith('| `'));
  expect(rows).toHaveLength(settingNames.length);
  expect(rows).toContain(
    '| `PORT`, `--port` | `8080` | 0 to 65535; 0 takes any free port | The port to listen on. |',
  );
  for (const row of rows) expect(row.split('|')).toHaveLength(6);
});

test('the most used settings are ten', () => {
  expect(mostUsedTable().split('\n')).toHaveLength(12);
});
