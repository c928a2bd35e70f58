/** Opens the stores that the settings name; whoever uses them knows only their ports. */
import type { AccountStore } from '../accounts/store.ts';
import { createMemoryAccountStore } from '../accounts/stores/memory.ts';
import { createSqliteAccountStore } from '../accounts/stores/sqlite/store.ts';
import type { LinkStore } from '../links/store.ts';
import { createMemoryStore } from '../links/stores/memory.ts';
import { createSqliteStore } from '../links/stores/sqlite/store.ts';
import type { Config } from './config.ts';
import { openEmbedded } from './embedded.ts';

export interface Stores {
  readonly links: LinkStore;
  readonly accounts: AccountStore;
}

export async function openStores(config: Config): Promise<Stores> {
  if (config.links === 'memory') return { links: createMemoryStore(), accounts: createMemoryAccountStore() };
  const { reader, writer } = await openEmbedded(config.data);
  return { links: createSqliteStore(reader, writer), accounts: createSqliteAccountStore(reader, writer) };
}
