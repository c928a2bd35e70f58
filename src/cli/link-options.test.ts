import { expect, test } from 'bun:test';
import { createBody, patchBody } from '../http/schemas.ts';
import { fakeApi } from './fake-api.ts';
import { type LinkCommand, linkFields } from './link-options.ts';

const api = fakeApi();

test.each([
  ['shorten', ['longUrl'], createBody],
  ['edit', [], patchBody],
] as const)('%s can set every field that the API takes', async (command: LinkCommand, operands, schema) => {
  const rows = linkFields.filter(({ commands }) => commands.includes(command));
  const settable = [...operands, ...rows.map(({ field }) => field)];
  expect(settable.sort()).toEqual(Object.keys(schema.shape).sort());

  const { stdout } = await api.terse(['help', command]);
  for (const { flag, doc } of rows) {
    expect(stdout).toContain(`  ${flag}`);
    expect(stdout).toContain(doc.replaceAll('`', ''));
  }
});
