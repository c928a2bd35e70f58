/** Lists, makes, rotates and revokes API keys. A new secret is printed once, alone, so that a script can capture it. */

import type { ApiKey, KeyPage, NewKey } from '../api-types.ts';
import { callApi, callApiWithoutAnswer, pathWith } from '../client.ts';
import { type Arguments, type Command, type CommandContext, jsonOption, UsageError } from '../command.ts';
import { expiryTime, listItems } from '../link-options.ts';
import { harmless, printJson, printLine, printTable } from '../output.ts';

const keysPath = '/api/v1/keys';

export const keys: Command = {
  name: 'keys',
  summary: 'List, make, rotate and revoke API keys',
  usage: '[list | create NAME | rotate ID | revoke ID] [options]',
  options: [
    {
      flag: '--scopes',
      value: 'A,B',
      doc: 'What a new key may do: links:read, links:write, stats:read, moderate, admin. Default: all that its account may do.',
    },
    {
      flag: '--expires',
      value: 'WHEN',
      doc: 'When a new key stops working: an ISO 8601 time, or 30m, 12h, 7d, 4w from now.',
    },
    { flag: '--account', value: 'ID', doc: 'For admins: whose keys to list, or whose key to make.' },
    {
      flag: '--overlap',
      value: 'SECONDS',
      doc: 'How long the old secret of a rotated key keeps working; default 0.',
    },
    jsonOption,
  ],
  operands: { min: 0, max: 2 },
  audiences: ['client'],
  async run(context, given) {
    const [action = 'list', subject] = given.operands;
    if (action === 'list' && subject === undefined) await listKeys(context, given);
    else if (action === 'create' && subject !== undefined) await createKey(context, given, subject);
    else if (action === 'rotate' && subject !== undefined) await rotateKey(context, given, subject);
    else if (action === 'revoke' && subject !== undefined) await revokeKey(context, given, subject);
    else throw new UsageError(`usage: terse keys ${keys.usage}`);
  },
};

async function listKeys(context: CommandContext, given: Arguments): Promise<void> {
  const keys = await allKeys(context, given.text('--account'));
  if (given.has('--json')) return printJson(context.stdout, { keys });
  const rows = keys.map(key => [
    key.id,
    key.createdAt,
    key.lastUsedAt ?? 'never',
    stateOf(key, context.clock.now()),
    key.scopes.join(','),
    key.name,
  ]);
  printTable(context.stdout, ['ID', 'CREATED', 'LAST USED', 'STATE', 'SCOPES', 'NAME'], rows);
}

/** Page after page: an account has at most a few. */
async function allKeys(context: CommandContext, accountId: string | undefined): Promise<ApiKey[]> {
  const all: ApiKey[] = [];
  let cursor: string | undefined;
  do {
    const path = pathWith(keysPath, {
      ...(accountId !== undefined && { accountId }),
      ...(cursor !== undefined && { cursor }),
    });
    const page: KeyPage = await callApi(context, { method: 'GET', path }, 'keys');
    all.push(...page.keys);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return all;
}

function stateOf({ revokedAt, expiresAt }: ApiKey, now: number): string {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt === null) return 'active';
  return Date.parse(expiresAt) <= now ? 'expired' : `until ${expiresAt}`;
}

async function createKey(context: CommandContext, given: Arguments, name: string): Promise<void> {
  const scopes = given.text('--scopes');
  const expires = given.text('--expires');
  const accountId = given.text('--account');
  const body = {
    name,
    ...(scopes !== undefined && { scopes: listItems(scopes) }),
    ...(expires !== undefined && { expiresAt: expiryTime(expires, context.clock) }),
    ...(accountId !== undefined && { accountId }),
  };
  await printSecret(context, given, keysPath, body);
}

async function rotateKey(context: CommandContext, given: Arguments, id: string): Promise<void> {
  const overlapSeconds = given.wholeNumber('--overlap');
  const body = { ...(overlapSeconds !== undefined && { overlapSeconds }) };
  await printSecret(context, given, `${keysPath}/${encodeURIComponent(id)}/rotate`, body);
}

async function printSecret(
  context: CommandContext,
  given: Arguments,
  path: string,
  body: object,
): Promise<void> {
  const made = await callApi<NewKey>(context, { method: 'POST', path, body }, 'key');
  if (given.has('--json')) return printJson(context.stdout, made);
  printLine(context.stdout, harmless(made.key));
  printLine(context.stderr, `Key ${harmless(made.id)} is shown this once: keep it safe.`);
}

async function revokeKey(context: CommandContext, given: Arguments, id: string): Promise<void> {
  await callApiWithoutAnswer(context, { method: 'DELETE', path: `${keysPath}/${encodeURIComponent(id)}` });
  if (!given.has('--json')) printLine(context.stdout, `Revoked ${id}.`);
}
