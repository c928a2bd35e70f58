/** Moderation from a terminal: the queue, all about one link, a decision about it or about many. */

import type { BulkDecision, Case, Queue } from '../api-types.ts';
import { callApi, pathWith } from '../client.ts';
import { type Arguments, type Command, type CommandContext, jsonOption, UsageError } from '../command.ts';
import { codeFrom } from '../link-options.ts';
import { harmless, printFields, printJson, printLine, printTable } from '../output.ts';

const moderationPath = '/api/v1/moderation';
const decisions = ['allow', 'quarantine', 'block'] as const;
type Decision = (typeof decisions)[number];

export const moderate: Command = {
  name: 'moderate',
  summary: 'List the review queue, and decide about links',
  usage: '[queue | show CODE | allow CODE | quarantine CODE | block CODE] [options]',
  options: [
    {
      flag: '--reason',
      value: 'TEXT',
      doc: 'Why; visible to the owner of the link. Required for a decision.',
    },
    {
      flag: '--version',
      value: 'N',
      doc: 'The version that was reviewed, as printed by `show`. Required to allow a link.',
    },
    { flag: '--account', value: 'ID', doc: 'Instead of a code: decide about all links of this account.' },
    { flag: '--domain', value: 'NAME', doc: 'Instead of a code: decide about all links to this domain.' },
    { flag: '--limit', value: 'N', doc: 'How many entries at most.' },
    { flag: '--cursor', value: 'CURSOR', doc: 'Where to continue, from the end of an earlier page.' },
    jsonOption,
  ],
  operands: { min: 0, max: 2 },
  audiences: ['client'],
  async run(context, given) {
    const [action = 'queue', subject] = given.operands;
    const decision = decisions.find(each => each === action);
    const isBulk = given.has('--account') || given.has('--domain');
    if (action === 'queue' && subject === undefined) await showQueue(context, given);
    else if (action === 'show' && subject !== undefined) await showCase(context, given, codeFrom(subject));
    else if (decision !== undefined && subject !== undefined && !isBulk)
      await decideOne(context, given, decision, codeFrom(subject));
    else if (decision !== undefined && subject === undefined && isBulk)
      await decideMany(context, given, decision);
    else throw new UsageError(`usage: terse moderate ${moderate.usage}`);
  },
};

async function showQueue(context: CommandContext, given: Arguments): Promise<void> {
  given.wholeNumber('--limit');
  const path = pathWith(`${moderationPath}/queue`, given.texts('limit', 'cursor'));
  const queue = await callApi<Queue>(context, { method: 'GET', path }, 'entries');
  if (given.has('--json')) return printJson(context.stdout, queue);
  const rows = queue.entries.map(({ link, review }) => [
    link.shortCode,
    link.status,
    String(review.score),
    review.overdue ? `${review.waitingSince} !` : (review.waitingSince ?? ''),
    String(review.reporters),
    review.appeal === null ? '' : 'yes',
    link.longUrl,
  ]);
  const headings = ['CODE', 'STATUS', 'SCORE', 'WAITING SINCE', 'REPORTERS', 'APPEAL', 'LONG URL'];
  if (rows.length === 0) printLine(context.stderr, 'The queue is empty.');
  else printTable(context.stdout, headings, rows);
  if (queue.nextCursor !== null)
    printLine(context.stderr, `${queue.waiting} wait. More: add --cursor=${harmless(queue.nextCursor)}`);
}

async function readCase(context: CommandContext, code: string): Promise<Case> {
  const path = `${moderationPath}/links/${encodeURIComponent(code)}`;
  return callApi<Case>(context, { method: 'GET', path }, 'link');
}

async function showCase(context: CommandContext, given: Arguments, code: string): Promise<void> {
  const found = await readCase(context, code);
  if (given.has('--json')) return printJson(context.stdout, found);
  printCase(context, found);
}

function printCase({ stdout }: CommandContext, { link, review, reports }: Case): void {
  printFields(stdout, [
    ['Code', link.shortCode],
    ['Leads to', link.longUrl],
    ['Status', link.status],
    ['Version', String(link.version)],
    ['Owner', link.ownerId ?? 'nobody'],
    ['Risk', link.risk === null ? undefined : `${link.risk.score} (${link.risk.reasons.join(', ')})`],
    ['Waiting since', review?.waitingSince ?? undefined],
    ['Appeal', review?.appeal?.text],
  ]);
  for (const { at, category, text } of reports)
    printLine(stdout, harmless(`Reported ${at}: ${category}${text === null ? '' : `, ${text}`}`));
}

async function decideOne(
  context: CommandContext,
  given: Arguments,
  decision: Decision,
  code: string,
): Promise<void> {
  const reason = reasonOf(given);
  const looked = given.wholeNumber('--version');
  // A link that is wrongly held can be released later; one that is released unseen may do harm immediately.
  if (decision === 'allow' && looked === undefined)
    throw new UsageError('to allow a link, name the --version that `terse moderate show` prints');
  const version = looked ?? (await readCase(context, code)).link.version;
  const path = `${moderationPath}/links/${encodeURIComponent(code)}/decision`;
  const call = { method: 'POST', path, body: { decision, reason, version } } as const;
  const decided = await callApi<Case>(context, call, 'link');
  if (given.has('--json')) return printJson(context.stdout, decided);
  printLine(context.stdout, harmless(`${decided.link.shortCode} is ${decided.link.status}.`));
}

/** Continues until the server says that all are done; after an interruption, it can be started again. */
async function decideMany(context: CommandContext, given: Arguments, decision: Decision): Promise<void> {
  const [accountId, domain, reason] = [given.text('--account'), given.text('--domain'), reasonOf(given)];
  if (accountId !== undefined && domain !== undefined)
    throw new UsageError('name an --account or a --domain, not both');
  const totals = { decided: 0, unchanged: 0 };
  let cursor = given.text('--cursor');
  do {
    const body = {
      decision,
      reason,
      ...(accountId !== undefined && { accountId }),
      ...(domain !== undefined && { domain }),
      ...(cursor !== undefined && { cursor }),
    };
    const call = { method: 'POST', path: `${moderationPath}/decisions`, body } as const;
    const part = await callApi<BulkDecision>(context, call, 'decided');
    totals.decided += part.decided;
    totals.unchanged += part.unchanged;
    cursor = part.nextCursor ?? undefined;
    if (cursor !== undefined)
      printLine(context.stderr, `${totals.decided} decided; going on at ${harmless(cursor)}`);
  } while (cursor !== undefined);
  if (given.has('--json')) return printJson(context.stdout, totals);
  printLine(context.stdout, `${totals.decided} links decided, ${totals.unchanged} were so already.`);
}

function reasonOf(given: Arguments): string {
  const reason = given.text('--reason');
  if (reason === undefined || reason === '') throw new UsageError('a decision needs a --reason');
  return reason;
}
