import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded } from '../../../app/embedded.ts';
import { linkStoreConformance } from '../../store.conformance.ts';
import { createSqliteStore } from './store.ts';

linkStoreConformance('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-store-'));
  const open = async () => {
    const { reader, writer } = await openEmbedded(folder);
    return createSqliteStore(reader, writer);
  };
  const store = await open();
  return {
    store,
    reopen: open,
    async dispose() {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
});
