import { expect, test } from 'bun:test';
import type { Transfer } from '../../base/transfer.ts';
import { formerItems } from '../../stores/former-items.ts';
import { formerTables } from '../../stores/former-tables.ts';
import { admit } from './admission.ts';
import { expectedRecords, importRecords } from './fake-records.ts';
import { memoryInstallation } from './installation.ts';

test('a DynamoDB table whose decided reviews were not imported is rejected', async () => {
  const source = { ...memoryInstallation('memory one'), imports: formerItems };
  const { installation, records } = source.transfers;
  const admitted = () => admit(source, memoryInstallation('memory two'), 0);
  const secrets = Object.entries(expectedRecords.installation).map(([key, value]) => ({ key, value }));
  await (installation as Transfer).write(secrets);
  await records.write(importRecords(null));
  await expect(admitted()).rejects.toThrow('run terse setup on it, then migrate');
  await records.write(importRecords(null, formerItems));
  expect(await admitted()).toMatchObject({ phase: 'copying' });
});

test.each([...formerTables])('a source whose %s were not imported is rejected', async table => {
  const source = memoryInstallation('memory one');
  const { installation, records } = source.transfers;
  const admitted = () => admit(source, memoryInstallation('memory two'), 0);
  const secrets = Object.entries(expectedRecords.installation).map(([key, value]) => ({ key, value }));
  await (installation as Transfer).write(secrets);
  await records.write(importRecords(null));
  expect(await admitted()).toMatchObject({ phase: 'copying' });
  await records.remove?.(importRecords(null, [table]).map(({ key }) => key));
  await expect(admitted()).rejects.toThrow('start this version on it once, then migrate');
  await records.write(importRecords('half of it', [table]));
  // The audit log may grow as long as processes of the earlier version run.
  if (table === 'audit') expect(await admitted()).toMatchObject({ phase: 'copying' });
  else await expect(admitted()).rejects.toThrow('start this version on it once, then migrate');
});
