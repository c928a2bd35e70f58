/** The commands that show links and change them. */
import type { ApiLink, LinkPage } from '../api-types.ts';
import { callApi, callApiWithoutAnswer, fetchBytes, pathWith } from '../client.ts';
import { type Command, type CommandContext, jsonOption, UsageError } from '../command.ts';
import { codeFrom, givenFields, linkOptions, printLink } from '../link-options.ts';
import { harmless, printJson, printLine, printTable, statusColour } from '../output.ts';

const statusColumn = 1;

export const list: Command = {
  name: 'list',
  summary: 'List your links',
  usage: '[options]',
  options: [
    { flag: '--search', value: 'TEXT', doc: 'Links with this text in the code, the title or the long URL.' },
    { flag: '--tag', value: 'TAG', doc: 'Links with this tag.' },
    { flag: '--status', value: 'STATUS', doc: 'Links in this state, such as active or disabled.' },
    { flag: '--sort', value: 'newest|oldest', doc: 'Which links come first; default newest.' },
    { flag: '--limit', value: 'N', doc: 'How many at most.' },
    { flag: '--cursor', value: 'CURSOR', doc: 'Where to continue, from the end of an earlier page.' },
    jsonOption,
  ],
  operands: { min: 0, max: 0 },
  audiences: ['client'],
  async run(context, given) {
    given.wholeNumber('--limit');
    const order = given.oneOf('--sort', ['newest', 'oldest']);
    const path = pathWith('/api/v1/links', {
      ...given.texts('search', 'tag', 'status', 'limit', 'cursor'),
      ...(order !== undefined && { sort: order === 'newest' ? '-createdAt' : 'createdAt' }),
    });
    const page = await callApi<LinkPage>(context, { method: 'GET', path }, 'links');
    if (given.has('--json')) return printJson(context.stdout, page);
    const rows = page.links.map(link => [
      link.shortUrl,
      link.status,
      link.expiresAt ?? 'never',
      link.title === null ? link.longUrl : `${link.longUrl}  (${link.title})`,
    ]);
    if (rows.length === 0) printLine(context.stderr, 'No links.');
    else {
      printTable(context.stdout, ['SHORT URL', 'STATUS', 'EXPIRES', 'LONG URL'], rows, (cell, column) =>
        column === statusColumn ? statusColour(cell) : undefined,
      );
    }
    if (page.nextCursor !== null)
      printLine(context.stderr, `More: add --cursor=${harmless(page.nextCursor)}`);
  },
};

export const show: Command = {
  name: 'show',
  summary: 'Show one link',
  usage: 'CODE [options]',
  options: [jsonOption],
  operands: { min: 1, max: 1 },
  audiences: ['client'],
  async run(context, given) {
    const path = pathOf(given.operands[0]!);
    printLink(context, given, await callApi<ApiLink>(context, { method: 'GET', path }, 'shortUrl'));
  },
};

export const edit: Command = {
  name: 'edit',
  summary: 'Change a link',
  usage: 'CODE [options]',
  options: [...linkOptions('edit'), jsonOption],
  operands: { min: 1, max: 1 },
  audiences: ['client'],
  async run(context, given) {
    const body = givenFields(given, context.clock);
    if (Object.keys(body).length === 0) {
      throw new UsageError('say what to change; `terse help edit` lists the options');
    }
    const call = { method: 'PATCH', path: pathOf(given.operands[0]!), body } as const;
    printLink(context, given, await callApi<ApiLink>(context, call, 'shortUrl'));
  },
};

export const remove: Command = {
  name: 'rm',
  summary: 'Delete a link; its code is never used again',
  usage: 'CODE [options]',
  options: [jsonOption],
  operands: { min: 1, max: 1 },
  audiences: ['client'],
  async run(context, given) {
    const operand = given.operands[0]!;
    await callApiWithoutAnswer(context, { method: 'DELETE', path: pathOf(operand) });
    // The answer to a deletion has no body, so there is no JSON to print.
    if (!given.has('--json')) printLine(context.stdout, `Deleted ${codeFrom(operand)}.`);
  },
};

export const qr: Command = {
  name: 'qr',
  summary: 'Make the QR code of a link',
  usage: 'CODE [options]',
  options: [
    { flag: '--format', value: 'svg|png', doc: 'The kind of image; default svg.' },
    { flag: '--size', value: 'N', doc: 'The width in pixels.' },
    { flag: '--output', value: 'FILE', doc: 'Where to write the image, instead of the standard output.' },
  ],
  operands: { min: 1, max: 1 },
  audiences: ['client'],
  async run(context, given) {
    const format = given.oneOf('--format', ['svg', 'png']) ?? 'svg';
    const file = given.text('--output');
    if (format === 'png' && file === undefined && context.stdout.isTty) {
      throw new UsageError('a PNG does not belong on a terminal: add --output=FILE');
    }
    const size = given.wholeNumber('--size');
    const query = { format, ...(size !== undefined && { size: String(size) }) };
    const image = await fetchBytes(context, pathWith(`${pathOf(given.operands[0]!)}/qr`, query));
    if (file === undefined) context.stdout.write(image);
    else await writeImage(context, file, image);
  },
};

async function writeImage(context: CommandContext, file: string, image: Uint8Array): Promise<void> {
  try {
    await context.writeFile(file, image);
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    throw new UsageError(`${file} cannot be written${reason}`);
  }
}

function pathOf(operand: string): string {
  return `/api/v1/links/${codeFrom(operand)}`;
}
