import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded } from '../../../app/embedded.ts';
import { accountStoreConformance } from '../../store.conformance.ts';
import { createSqliteAccountStore } from './store.ts';

accountStoreConformance('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-accounts-'));
  const { reader, writer } = await openEmbedded(folder);
  return {
    store: createSqliteAccountStore(reader, writer),
    async dispose() {
      await writer.close();
      reader.close();
      rmSync(folder, { recursive: true });
    },
  };
});
