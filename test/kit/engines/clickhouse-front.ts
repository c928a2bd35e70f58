/**
 * ClickHouse's HTTP interface in front of its engine as a library, as far as Terse uses it: a query in the address or
 * in the body, a body of rows in any format, settings as parameters, errors as text with the engine's number in a
 * header. It is a separate process (`PORT FOLDER ADDON`), so that it can be paused and killed as a server is.
 *
 * It rejects requests that it does not understand, because ignoring a part of them would hide differences to a server.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

interface Addon {
  CreateConnection(path: string): unknown;
  CloseConnection(connection: unknown): void;
  QueryAsyncConnection(connection: unknown, query: string, format: string): Promise<{ bytes: Uint8Array }>;
}

interface Connection {
  readonly handle: unknown;
  database: string;
}

const [port, folder, addonPath] = process.argv.slice(2);
const engine = require(addonPath!) as Addon;
const connectionCount = 4;
const bodyBytesMax = 1024 * 1024 * 1024;
/** Parameters that are not settings of the engine. */
const ownParameters = new Set([
  'query',
  'database',
  'default_format',
  'wait_end_of_query',
  'user',
  'password',
]);
/** Settings that the engine as a library would reject, because it has no asynchronous inserts. */
const withoutMeaning = new Set(['async_insert', 'wait_for_async_insert']);
const notFoundCodes = new Set([60, 81]);
const syntaxError = 62;

/** Rows are passed in a file: after a query, two consecutive line feeds would end them. */
const bodies = mkdtempSync(join(folder!, '../bodies-'));
let bodyCount = 0;

const free: Connection[] = [];
const waiting: ((connection: Connection) => void)[] = [];
for (let opened = 0; opened < connectionCount; opened += 1) {
  const handle = engine.CreateConnection(folder!);
  // Queries of tests are small: threads and compiled expressions cost more than they save.
  await engine.QueryAsyncConnection(
    handle,
    'SET max_threads = 1, max_insert_threads = 1, compile_expressions = 0, compile_aggregate_expressions = 0, compile_sort_description = 0',
    'TabSeparated',
  );
  free.push({ handle, database: 'default' });
}

async function withConnection<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
  const connection = free.pop() ?? (await new Promise<Connection>(resolve => waiting.push(resolve)));
  try {
    return await work(connection);
  } finally {
    const next = waiting.shift();
    if (next === undefined) free.push(connection);
    else next(connection);
  }
}

async function answer(request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  if (pathname === '/ping') return new Response('Ok.\n');
  const body = Buffer.from(await request.arrayBuffer());
  const inAddress = searchParams.get('query');
  const query = (inAddress ?? body.toString()).trim().replace(/;$/, '');
  try {
    const bytes = await withConnection(async connection => {
      await use(connection, searchParams.get('database') ?? 'default');
      const settings = settingsIn(searchParams);
      const insert = inAddress === null ? null : /^(INSERT INTO .*?)\s+(FORMAT\s+\w+)$/is.exec(query);
      if (insert === null) {
        const format = searchParams.get('default_format') ?? 'TabSeparated';
        return (await engine.QueryAsyncConnection(connection.handle, withSettings(query, settings), format))
          .bytes;
      }
      if (body.length > 0) await insertRows(connection, insert[1]!, insert[2]!, settings, body);
      return new Uint8Array();
    });
    return new Response(bytes);
  } catch (error) {
    return refusal(error instanceof Error ? error.message : String(error));
  }
}

async function use(connection: Connection, database: string): Promise<void> {
  if (connection.database === database) return;
  if (!/^\w+$/.test(database))
    throw new Error(`Code: ${syntaxError}. ${database} is not the name of a database`);
  await engine.QueryAsyncConnection(connection.handle, `USE ${database}`, 'TabSeparated');
  connection.database = database;
}

function settingsIn(parameters: URLSearchParams): string {
  return [...parameters]
    .filter(([name]) => !ownParameters.has(name) && !withoutMeaning.has(name))
    .map(([name, value]) => `${name} = ${/^\d+$/.test(value) ? value : quoted(value)}`)
    .join(', ');
}

async function insertRows(
  connection: Connection,
  target: string,
  format: string,
  settings: string,
  body: Buffer,
): Promise<void> {
  const path = join(bodies, String(bodyCount++));
  const clause = settings === '' ? '' : `SETTINGS ${settings}`;
  try {
    await Bun.write(path, body);
    const query = `${target} FROM INFILE ${quoted(path)} ${clause} ${format}`;
    await engine.QueryAsyncConnection(connection.handle, query, 'TabSeparated');
  } finally {
    rmSync(path, { force: true });
  }
}

function withSettings(query: string, settings: string): string {
  if (settings === '') return query;
  if (/^\s*(?:SELECT|WITH)\b/i.test(query)) return `${query}\nSETTINGS ${settings}`;
  // Settings of JSON answers, which do not matter for other statements.
  if (settings.split(', ').every(setting => setting.startsWith('output_format_'))) return query;
  throw new Error(`Code: ${syntaxError}. This front takes no settings with: ${query.slice(0, 100)}`);
}

function refusal(message: string): Response {
  const code = Number(/Code: (\d+)/.exec(message)?.[1] ?? 1);
  const status = notFoundCodes.has(code) ? 404 : code === syntaxError ? 400 : 500;
  return new Response(`${message}\n`, { status, headers: { 'X-ClickHouse-Exception-Code': String(code) } });
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(port),
  maxRequestBodySize: bodyBytesMax,
  idleTimeout: 0,
  fetch: answer,
});

process.on('SIGTERM', async () => {
  await server.stop();
  for (const { handle } of free) engine.CloseConnection(handle);
  process.exit(0);
});
