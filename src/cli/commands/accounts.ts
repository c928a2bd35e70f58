/** The accounts of an installation, for its admins. */
import type { Arguments } from '../arguments.ts';
import { type ApiAccount, callApi } from '../client.ts';
import { type Command, type CommandContext, exitCodes, jsonOption, UsageError } from '../command.ts';
import { harmless, printFields, printJson, printLine, printTable } from '../output.ts';

const accountsPath = '/api/v1/accounts';

type Action = (context: CommandContext, given: Arguments, subject: string) => Promise<void>;

const onOneAccount: Readonly<Record<string, Action>> = {
  async create(context, given, name) {
    printAccount(context, given, await send(context, 'POST', accountsPath, { name, ...fieldsOf(given) }));
  },
  async show(context, given, id) {
    printAccount(context, given, await send(context, 'GET', pathOf(id)));
  },
  async edit(context, given, id) {
    const name = given.text('--name');
    const change = { ...(name !== undefined && { name }), ...fieldsOf(given) };
    if (Object.keys(change).length === 0) throw new UsageError('nothing to change: give an option');
    printAccount(context, given, await send(context, 'PATCH', pathOf(id), change));
  },
  async suspend(context, given, id) {
    printAccount(context, given, await send(context, 'POST', `${pathOf(id)}/suspend`, reasonOf(given)));
  },
  async unsuspend(context, given, id) {
    printAccount(context, given, await send(context, 'POST', `${pathOf(id)}/unsuspend`, reasonOf(given)));
  },
  async invite(context, given, id) {
    const call = { method: 'POST', path: `${pathOf(id)}/invitation` } as const;
    const invitation = await callApi<{ url: string; expiresAt: string }>(context, call, 'url');
    if (given.has('--json')) return printJson(context.stdout, invitation);
    printLine(context.stdout, harmless(invitation.url));
    printLine(
      context.stderr,
      `Send them this address: it sets the password once, until ${harmless(invitation.expiresAt)}.`,
    );
  },
};

export const accounts: Command = {
  name: 'accounts',
  summary: 'List, make, change, suspend and invite accounts',
  usage: '[list | create NAME | show ID | edit ID | suspend ID | unsuspend ID | invite ID] [options]',
  options: [
    { flag: '--name', value: 'TEXT', doc: 'Another name for the account.' },
    { flag: '--email', value: 'ADDRESS', doc: 'What one signs in with; an empty one removes it.' },
    { flag: '--plan', value: 'PLAN', doc: 'free, verified, pro or unlimited.' },
    { flag: '--role', value: 'ROLE', doc: 'member, moderator or admin.' },
    { flag: '--reason', value: 'TEXT', doc: 'Why it is suspended or not any more; kept in the audit trail.' },
    { flag: '--limit', value: 'N', doc: 'How many to list at most.' },
    { flag: '--cursor', value: 'CURSOR', doc: 'Where to go on, from the end of an earlier list.' },
    jsonOption,
  ],
  operands: { min: 0, max: 2 },
  audiences: ['client'],
  async run(context, given) {
    const [action = 'list', subject] = given.operands;
    const onOne = Object.hasOwn(onOneAccount, action) ? onOneAccount[action] : undefined;
    if (action === 'list' && subject === undefined) await listAccounts(context, given);
    else if (onOne !== undefined && subject !== undefined) await onOne(context, given, subject);
    else throw new UsageError(`usage: terse accounts ${accounts.usage}`);
    return exitCodes.ok;
  },
};

async function listAccounts(context: CommandContext, given: Arguments): Promise<void> {
  given.wholeNumber('--limit');
  const query = new URLSearchParams();
  for (const name of ['email', 'limit', 'cursor'] as const) {
    const value = given.text(`--${name}`);
    if (value !== undefined) query.set(name, value);
  }
  const path = query.size === 0 ? accountsPath : `${accountsPath}?${query}`;
  const page = await callApi<{ accounts: readonly ApiAccount[]; nextCursor: string | null }>(
    context,
    { method: 'GET', path },
    'accounts',
  );
  if (given.has('--json')) return printJson(context.stdout, page);
  const rows = page.accounts.map(({ id, role, plan, email, suspendedAt, name }) => {
    return [id, role, plan, suspendedAt === null ? 'active' : 'suspended', email ?? '-', name];
  });
  printTable(context.stdout, ['ID', 'ROLE', 'PLAN', 'STATE', 'E-MAIL', 'NAME'], rows);
  if (page.nextCursor !== null) printLine(context.stderr, `More: add --cursor=${harmless(page.nextCursor)}`);
}

function send(
  context: CommandContext,
  method: 'GET' | 'POST' | 'PATCH',
  path: string,
  body?: object,
): Promise<ApiAccount> {
  return callApi<ApiAccount>(context, { method, path, ...(body !== undefined && { body }) }, 'role');
}

/** The server judges the values; what was not given is left as it is. */
function fieldsOf(given: Arguments): Record<string, unknown> {
  const email = given.text('--email');
  const plan = given.text('--plan');
  const role = given.text('--role');
  return {
    ...(email !== undefined && { email: email === '' ? null : email }),
    ...(plan !== undefined && { plan }),
    ...(role !== undefined && { role }),
  };
}

function reasonOf(given: Arguments): Record<string, unknown> {
  const reason = given.text('--reason');
  return reason === undefined ? {} : { reason };
}

const pathOf = (id: string): string => `${accountsPath}/${encodeURIComponent(id)}`;

function printAccount(context: CommandContext, given: Arguments, account: ApiAccount): void {
  if (given.has('--json')) printJson(context.stdout, account);
  else printFields(context.stdout, accountRows(account));
}

function accountRows(account: ApiAccount): readonly (readonly [string, string | undefined])[] {
  return [
    ['ID', account.id],
    ['Name', account.name],
    ['E-mail', account.email ?? undefined],
    ['Role', account.role],
    ['Plan', account.plan],
    ['Password', account.hasPassword ? 'set' : 'not set'],
    ['Created', account.createdAt],
    ['Suspended', account.suspendedAt ?? undefined],
  ];
}
