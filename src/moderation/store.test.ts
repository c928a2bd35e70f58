import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshDynamoTable } from '../../test/kit/dynamo-table.ts';
import { describeWithEngine } from '../../test/kit/engines/describe-with-engine.ts';
import { openPostgresHandles } from '../../test/kit/postgres-handles.ts';
import { systemClock as clock } from '../base/clock.ts';
import { systemRandom as random } from '../base/random.ts';
import type { Dynamo } from '../engines/dynamodb/dynamodb.ts';
import type { Postgres } from '../engines/postgres/postgres.ts';
import type { LinkStore } from '../links/store.ts';
import { createDynamoStore } from '../links/stores/dynamodb/store.ts';
import { linkMigrations } from '../links/stores/postgres/schema.ts';
import { createPostgresStore } from '../links/stores/postgres/store.ts';
import { createSqliteStore } from '../links/stores/sqlite/store.ts';
import { createDynamoRecords } from '../records/drivers/dynamodb.ts';
import { createPostgresRecords, recordMigrations } from '../records/drivers/postgres.ts';
import { createSqliteRecords } from '../records/drivers/sqlite.ts';
import { openEmbedded } from '../stores/embedded.ts';
import { fakeModeration, moderationOn } from './fake-moderation.ts';
import { moderationConformance } from './store.conformance.ts';

moderationConformance('memory', async () => {
  const here = fakeModeration();
  return { ...here, reopen: async () => here, dispose: async () => {} };
});

moderationConformance('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-moderation-'));
  const opened: LinkStore[] = [];
  const open = async () => {
    const { reader, writer } = await openEmbedded(folder);
    const moderation = moderationOn(createSqliteRecords(reader, writer, clock));
    const links = createSqliteStore(reader, writer, undefined, moderation.reviews.traceWrites);
    opened.push(links);
    return { ...moderation, links };
  };
  return {
    ...(await open()),
    reopen: open,
    async dispose() {
      for (const links of opened) await links.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

describeWithEngine('postgres', 'moderation in Postgres', () => {
  const on = (postgres: Postgres) => {
    const moderation = moderationOn(createPostgresRecords(postgres, clock));
    const { traceWrites } = moderation.reviews;
    return { ...moderation, links: createPostgresStore(postgres, { clock, traceWrites }) };
  };
  moderationConformance('postgres', async () => {
    const { first, open, close } = await openPostgresHandles([recordMigrations, linkMigrations]);
    return { ...on(first), reopen: async () => on(open()), dispose: close };
  });
});

describeWithEngine('dynamodb', 'moderation in DynamoDB', () => {
  const expiryGraceMs = 365 * 24 * 60 * 60 * 1_000;
  const on = (dynamo: Dynamo) => {
    const moderation = moderationOn(createDynamoRecords(dynamo, clock));
    const { traceWrites } = moderation.reviews;
    const links = createDynamoStore(dynamo, { clock, random, traceWrites, expiryGraceMs });
    return { ...moderation, links };
  };
  moderationConformance('dynamodb', async () => {
    const table = await freshDynamoTable();
    return { ...on(table.dynamo), reopen: async () => on(table.again().dynamo), dispose: table.dispose };
  });
});
