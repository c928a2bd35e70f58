/**
 * The options that `shorten` and `edit` share, and how a person names a link. The server judges the values;
 * here they only get the shape that the API takes.
 */
import type { Clock } from '../base/clock.ts';
import type { Arguments } from './arguments.ts';
import type { ApiLink } from './client.ts';
import { type CommandContext, type Option, UsageError } from './command.ts';
import { printFields, printJson } from './output.ts';

export const linkOptions: readonly Option[] = [
  { flag: '--title', value: 'TEXT', doc: 'A title; an empty one removes it.' },
  { flag: '--tags', value: 'A,B', doc: 'Tags, separated by commas; an empty list removes them.' },
  {
    flag: '--expires',
    value: 'WHEN',
    doc: 'An ISO 8601 time, or 30m, 12h, 7d, 4w from now; `never` for no end.',
  },
  { flag: '--redirect', value: 'STATUS', doc: '301, 302, 307 or 308.' },
  {
    flag: '--max-clicks',
    value: 'N',
    doc: 'Human clicks after which the link is gone; `none` for no limit.',
  },
  {
    flag: '--forward-query',
    value: 'on|off',
    doc: "Whether the visitor's query is added to the destination.",
  },
];

/** The members of the request that were asked for, and no others. */
export function linkFields(given: Arguments, clock: Clock): Record<string, unknown> {
  const title = given.text('--title');
  const tags = given.text('--tags');
  const expires = given.text('--expires');
  const redirect = given.oneOf('--redirect', ['301', '302', '307', '308']);
  const forwardQuery = given.oneOf('--forward-query', ['on', 'off']);
  const unlimited = given.text('--max-clicks') === 'none';
  return {
    ...(title !== undefined && { title: title === '' ? null : title }),
    ...(tags !== undefined && { tags: listItems(tags) }),
    ...(expires !== undefined && { expiresAt: expiryTime(expires, clock) }),
    ...(redirect !== undefined && { redirectType: Number(redirect) }),
    ...(given.has('--max-clicks') && { maxClicks: unlimited ? null : given.wholeNumber('--max-clicks') }),
    ...(forwardQuery !== undefined && { forwardQuery: forwardQuery === 'on' }),
  };
}

/** The code in what a person typed: the code itself, or the whole short URL. */
export function codeFrom(operand: string): string {
  const code =
    /^https?:\/\//i.test(operand) && URL.canParse(operand) ? new URL(operand).pathname.slice(1) : operand;
  if (!/^[0-9A-Za-z_-]{1,64}$/.test(code)) throw new UsageError(`${operand} is not a code or a short URL`);
  return code;
}

export function printLink(context: CommandContext, given: Arguments, link: ApiLink): void {
  if (given.has('--json')) printJson(context.stdout, link);
  else printFields(context.stdout, linkRows(link));
}

function linkRows(link: ApiLink): readonly (readonly [string, string | undefined])[] {
  return [
    ['Short URL', link.shortUrl],
    ['Long URL', link.longUrl],
    ['Status', link.status],
    ['Title', link.title ?? undefined],
    ['Tags', link.tags.length === 0 ? undefined : link.tags.join(', ')],
    ['Redirect', `${link.redirectType}${link.forwardQuery ? ', with the query' : ''}`],
    ['Clicks', link.maxClicks === null ? undefined : `${link.usedClicks} of ${link.maxClicks}`],
    ['Health', healthText(link.health)],
    ['Expires', link.expiresAt ?? 'never'],
    ['Created', link.createdAt],
    ['Changed', link.updatedAt === link.createdAt ? undefined : link.updatedAt],
  ];
}

function healthText(health: ApiLink['health']): string | undefined {
  if (health === null || health === undefined) return undefined;
  const { checkedAt, failingSince, httpStatus, reason } = health;
  const said = reason?.replaceAll('_', ' ') ?? String(httpStatus);
  return failingSince === null
    ? `answers with ${said}, asked ${checkedAt}`
    : `failing since ${failingSince}: ${said}, asked ${checkedAt}`;
}

export function listItems(text: string): string[] {
  return text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '');
}

const unitsMs: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

export function expiryTime(text: string, clock: Clock): string | null {
  if (text === 'never') return null;
  const [, count, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined) return text;
  return new Date(clock.now() + Number(count) * unitsMs[unit]!).toISOString();
}
