/** Lists, makes and revokes API keys. A new key is printed once, alone, so that a script can capture it. */
import type { Arguments } from '../arguments.ts';
import { type ApiKey, callApi, callApiWithoutAnswer } from '../client.ts';
import { type Command, type CommandContext, exitCodes, jsonOption, UsageError } from '../command.ts';
import { harmless, printJson, printLine, printTable } from '../output.ts';

const keysPath = '/api/v1/keys';

export const keys: Command = {
  name: 'keys',
  summary: 'List, make and revoke API keys',
  usage: '[list | create NAME | revoke ID] [options]',
  options: [jsonOption],
  operands: { min: 0, max: 2 },
  audiences: ['client'],
  async run(context, given) {
    const [action = 'list', subject] = given.operands;
    if (action === 'list' && subject === undefined) await listKeys(context, given);
    else if (action === 'create' && subject !== undefined) await createKey(context, given, subject);
    else if (action === 'revoke' && subject !== undefined) await revokeKey(context, given, subject);
    else throw new UsageError(`usage: terse keys ${keys.usage}`);
    return exitCodes.ok;
  },
};

async function listKeys(context: CommandContext, given: Arguments): Promise<void> {
  const call = { method: 'GET', path: keysPath } as const;
  const answer = await callApi<{ keys: readonly ApiKey[] }>(context, call, 'keys');
  if (given.has('--json')) return printJson(context.stdout, answer);
  const rows = answer.keys.map(({ id, name, createdAt, lastUsedAt, revokedAt }) => {
    return [id, createdAt, lastUsedAt ?? 'never', revokedAt === null ? 'active' : 'revoked', name];
  });
  printTable(context.stdout, ['ID', 'CREATED', 'LAST USED', 'STATE', 'NAME'], rows);
}

async function createKey(context: CommandContext, given: Arguments, name: string): Promise<void> {
  const call = { method: 'POST', path: keysPath, body: { name } } as const;
  const created = await callApi<ApiKey & { key: string }>(context, call, 'key');
  if (given.has('--json')) return printJson(context.stdout, created);
  printLine(context.stdout, harmless(created.key));
  printLine(context.stderr, `Key ${harmless(created.id)} is shown this once: keep it safe.`);
}

async function revokeKey(context: CommandContext, given: Arguments, id: string): Promise<void> {
  await callApiWithoutAnswer(context, { method: 'DELETE', path: `${keysPath}/${encodeURIComponent(id)}` });
  if (!given.has('--json')) printLine(context.stdout, `Revoked ${id}.`);
}
