/** Creates short links: one from the command line, or many from the standard input. */

import type { ApiLink, BulkResult } from '../api-types.ts';
import { callApi, problemInWords } from '../client.ts';
import {
  type Arguments,
  type Command,
  type CommandContext,
  exitCodes,
  jsonOption,
  UsageError,
} from '../command.ts';
import { givenFields, linkOptions } from '../link-options.ts';
import { harmless, printJson, printLine } from '../output.ts';

/** Keeps a call of the longest allowed URLs well below the server's limit on the body. */
const bulkItemsMax = 2000;

/** A longer line cannot be a URL that we shorten. */
const lineLengthMax = 65_536;

export interface InputLine {
  readonly number: number;
  readonly text: string;
}

export const shorten: Command = {
  name: 'shorten',
  summary: 'Make a short link',
  usage: 'URL|- [options]',
  options: [...linkOptions('shorten'), jsonOption],
  operands: { min: 1, max: 1 },
  audiences: ['client'],
  async run(context, given) {
    const fields = givenFields(given, context.clock);
    const [url] = given.operands;
    if (url === '-') return shortenLines(context, given, fields);
    const link = await create(context, { ...fields, longUrl: url });
    if (given.has('--json')) printJson(context.stdout, link);
    else printLine(context.stdout, harmless(link.shortUrl));
    return exitCodes.ok;
  },
};

function create(context: CommandContext, body: Record<string, unknown>): Promise<ApiLink> {
  return callApi<ApiLink>(context, { method: 'POST', path: '/api/v1/links', body }, 'shortUrl');
}

/** Prints the short URLs in the order of the lines; a line that is refused is named on stderr. */
async function shortenLines(
  context: CommandContext,
  given: Arguments,
  fields: Record<string, unknown>,
): Promise<number> {
  const json = given.has('--json');
  const answers: (ApiLink | BulkResult)[] = [];
  let refused = 0;
  let single = false;
  try {
    let batches = 0;
    for await (const batch of lineBatches(context.readStdin(), bulkItemsMax)) {
      batches += 1;
      single = batches === 1 && batch.length === 1;
      if (given.has('--alias') && !single) throw new UsageError('--alias can name one link only');
      const results = await shortenBatch(context, batch, fields, single);
      if (json) answers.push(...results);
      for (const [index, result] of results.entries()) {
        if (result.link === undefined) refused += 1;
        if (!json) printResult(context, batch[index]!, result);
      }
    }
    if (batches === 0) throw new UsageError('the standard input has no URL');
  } finally {
    // Also when a later call fails: the links made until then exist and must be reported.
    if (json && answers.length > 0) {
      printJson(context.stdout, single ? (answers[0] as BulkResult).link : { results: answers });
    }
  }
  return refused === 0 ? exitCodes.ok : exitCodes.refused;
}

async function shortenBatch(
  context: CommandContext,
  batch: readonly InputLine[],
  fields: Record<string, unknown>,
  single: boolean,
): Promise<readonly BulkResult[]> {
  const links = batch.map(line => ({ ...fields, longUrl: line.text }));
  if (single) return [{ status: 201, link: await create(context, links[0]!) }];
  const call = { method: 'POST', path: '/api/v1/links/bulk', body: { links } } as const;
  return (await callApi<{ results: readonly BulkResult[] }>(context, call, 'results')).results.slice(
    0,
    batch.length,
  );
}

function printResult(context: CommandContext, line: InputLine, { link, problem }: BulkResult): void {
  if (link !== undefined) printLine(context.stdout, harmless(link.shortUrl));
  else printLine(context.stderr, `terse: line ${line.number}: ${problemInWords(problem ?? {})}`);
}

/**
 * Lines of the standard input in batches, so that a list of any length is shortened in bounded memory. A batch has at
 * most `batchMax` lines and keeps the number of each, for messages.
 */
export async function* lineBatches(
  input: AsyncIterable<Uint8Array>,
  batchMax: number,
): AsyncGenerator<InputLine[]> {
  let batch: InputLine[] = [];
  for await (const line of linesOf(input)) {
    batch.push(line);
    if (batch.length < batchMax) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Blank lines are counted but left out. */
async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<InputLine> {
  let number = 0;
  let rest = '';
  for await (const text of decoded(input)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      number += 1;
      if (line.trim() !== '') yield { number, text: checked(line.trim(), number) };
    }
    checked(rest, number + 1);
  }
  if (rest.trim() !== '') yield { number: number + 1, text: rest.trim() };
}

async function* decoded(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch {
      throw new UsageError('the standard input is not UTF-8 text');
    }
  };
  for await (const chunk of input) yield decode(chunk);
  yield decode();
}

function checked(line: string, number: number): string {
  if (line.length > lineLengthMax) throw new UsageError(`line ${number} of the standard input is too long`);
  return line;
}
