/** The accounts of an installation, for its admins. */

import type { AccountPage, ApiAccount, Invitation } from '../api-types.ts';
import { callApi, pathWith } from '../client.ts';
import { type Arguments, type Command, type CommandContext, jsonOption, UsageError } from '../command.ts';
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
    const change = { ...given.texts('name'), ...fieldsOf(given) };
    if (Object.keys(change).length === 0) throw new UsageError('nothing to change: give an option');
    printAccount(context, given, await send(context, 'PATCH', pathOf(id), change));
  },
  async suspend(context, given, id) {
    printAccount(context, given, await send(context, 'POST', `${pathOf(id)}/suspend`, given.texts('reason')));
  },
  async unsuspend(context, given, id) {
    printAccount(
      context,
      given,
      await send(context, 'POST', `${pathOf(id)}/unsuspend`, given.texts('reason')),
    );
  },
  invite: (context, given, id) => issue(context, given, `${pathOf(id)}/invitation`),
  'reset-password': (context, given, id) => issue(context, given, `${pathOf(id)}/password-reset`),
};

async function issue(context: CommandContext, given: Arguments, path: string): Promise<void> {
  const invitation = await callApi<Invitation>(context, { method: 'POST', path }, 'url');
  if (given.has('--json')) return printJson(context.stdout, invitation);
  printLine(context.stdout, harmless(invitation.url));
  printLine(
    context.stderr,
    `Send them this address: it sets the password once, until ${harmless(invitation.expiresAt)}.`,
  );
}

export const accounts: Command = {
  name: 'accounts',
  summary: 'List, make, change, suspend and invite accounts',
  usage:
    '[list | create NAME | show ID | edit ID | suspend ID | unsuspend ID | invite ID | reset-password ID] [options]',
  options: [
    { flag: '--name', value: 'TEXT', doc: 'Another name for the account.' },
    { flag: '--email', value: 'ADDRESS', doc: 'The address to sign in with; an empty one removes it.' },
    { flag: '--plan', value: 'PLAN', doc: 'free, verified, pro or unlimited.' },
    { flag: '--role', value: 'ROLE', doc: 'member, moderator or admin.' },
    { flag: '--reason', value: 'TEXT', doc: 'Why; stored in the audit log.' },
    { flag: '--limit', value: 'N', doc: 'How many to list at most.' },
    { flag: '--cursor', value: 'CURSOR', doc: 'Where to continue, from the end of an earlier page.' },
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
  },
};

async function listAccounts(context: CommandContext, given: Arguments): Promise<void> {
  given.wholeNumber('--limit');
  const path = pathWith(accountsPath, given.texts('email', 'limit', 'cursor'));
  const page = await callApi<AccountPage>(context, { method: 'GET', path }, 'accounts');
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

/** The server validates the values; options that were not given change nothing. */
function fieldsOf(given: Arguments): Record<string, unknown> {
  return {
    ...given.texts('email', 'plan', 'role'),
    ...(given.text('--email') === '' && { email: null }),
  };
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
