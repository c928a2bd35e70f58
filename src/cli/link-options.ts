/**
 * The options of `shorten` and `edit`, one table for both, and how a person names a link. The server validates the
 * values; here they only get the shape that the API expects.
 */
import type { Clock } from '../base/clock.ts';
import { flagNames, forEachFlag } from '../links/fields.ts';
import type { ApiLink } from './api-types.ts';
import { type Arguments, type CommandContext, type Option, UsageError } from './command.ts';
import { printFields, printJson } from './output.ts';

export type LinkCommand = 'shorten' | 'edit';

interface LinkField extends Option {
  /** The member of the request. */
  readonly field: string;
  readonly commands: readonly LinkCommand[];
  /** The value that the API takes; without it, the text as it was given. */
  readonly read?: (given: Arguments, flag: Option['flag'], clock: Clock) => unknown;
}

const both: readonly LinkCommand[] = ['shorten', 'edit'];

/** Every member of a create and of a change, and its option. The URL of a create is the command's operand. */
export const linkFields: readonly LinkField[] = [
  { field: 'longUrl', flag: '--url', value: 'URL', doc: 'The new destination.', commands: ['edit'] },
  {
    field: 'customAlias',
    flag: '--alias',
    value: 'NAME',
    doc: 'The code to use, instead of a generated one.',
    commands: ['shorten'],
  },
  {
    field: 'status',
    flag: '--status',
    value: 'active|disabled',
    doc: 'Switch the link on or off.',
    commands: ['edit'],
    read: (given, flag) => given.oneOf(flag, ['active', 'disabled']),
  },
  {
    field: 'title',
    flag: '--title',
    value: 'TEXT',
    doc: 'A title; an empty one removes it.',
    commands: both,
    read: (given, flag) => given.text(flag) || null,
  },
  {
    field: 'tags',
    flag: '--tags',
    value: 'A,B',
    doc: 'Tags, separated by commas; an empty list removes them.',
    commands: both,
    read: (given, flag) => listItems(given.text(flag) ?? ''),
  },
  {
    field: 'addTags',
    flag: '--add-tags',
    value: 'A,B',
    doc: 'Tags to add to those that it has.',
    commands: ['edit'],
    read: (given, flag) => listItems(given.text(flag) ?? ''),
  },
  {
    field: 'removeTags',
    flag: '--remove-tags',
    value: 'A,B',
    doc: 'Tags to remove from those that it has.',
    commands: ['edit'],
    read: (given, flag) => listItems(given.text(flag) ?? ''),
  },
  {
    field: 'expiresAt',
    flag: '--expires',
    value: 'WHEN',
    doc: 'An ISO 8601 time, or 30m, 12h, 7d, 4w from now; `never` for no end.',
    commands: both,
    read: (given, flag, clock) => expiryTime(given.text(flag) ?? '', clock),
  },
  {
    field: 'redirectType',
    flag: '--redirect',
    value: 'STATUS',
    doc: '301, 302, 307 or 308.',
    commands: both,
    read: (given, flag) => Number(given.oneOf(flag, ['301', '302', '307', '308'])),
  },
  {
    field: 'maxClicks',
    flag: '--max-clicks',
    value: 'N',
    doc: 'Human clicks after which the link stops working; `none` for no limit.',
    commands: both,
    read: (given, flag) => (given.text(flag) === 'none' ? null : given.wholeNumber(flag)),
  },
  ...Object.values(
    forEachFlag(
      (field, doc): LinkField => ({
        field,
        flag: `--${field.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`,
        value: 'on|off',
        doc,
        commands: both,
        read: isOn,
      }),
    ),
  ),
  {
    field: 'statsTokensFrom',
    flag: '--revoke-stats-tokens',
    doc: 'End all tokens for its statistics.',
    commands: ['edit'],
    read: () => null,
  },
  {
    field: 'findExisting',
    flag: '--find-existing',
    doc: 'Return your live link to the same URL where there is one.',
    commands: ['shorten'],
    read: () => true,
  },
];

export const linkOptions = (command: LinkCommand): readonly Option[] =>
  linkFields.filter(({ commands }) => commands.includes(command));

/** The members of the request that were asked for, and no others. */
export function givenFields(given: Arguments, clock: Clock): Record<string, unknown> {
  return Object.fromEntries(
    linkFields
      .filter(({ flag }) => given.has(flag))
      .map(({ field, flag, read }) => [
        field,
        read === undefined ? given.text(flag) : read(given, flag, clock),
      ]),
  );
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
    ['Redirect', String(link.redirectType)],
    ['Clicks', link.maxClicks === null ? undefined : `${link.usedClicks} of ${link.maxClicks}`],
    ['Health', healthText(link.health)],
    ['Options', flagNames.filter(name => link[name]).join(', ') || undefined],
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

function isOn(given: Arguments, flag: Option['flag']): boolean {
  return given.oneOf(flag, ['on', 'off']) === 'on';
}

const unitsMs: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

export function expiryTime(text: string, clock: Clock): string | null {
  if (text === 'never') return null;
  const [, count, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined) return text;
  return new Date(clock.now() + Number(count) * unitsMs[unit]!).toISOString();
}
