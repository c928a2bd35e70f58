/** The columns of a link, by name: a prepared statement must go on to fit when a newer version has added one. */
import type { LinkRow } from '../rows.ts';

const typeOfColumn: Readonly<Record<keyof Omit<LinkRow, 'id'>, string>> = {
  code: 'text',
  long_url: 'text',
  url_hash: 'int8',
  owner: 'text',
  custom: 'int2',
  status: 'int2',
  redirect_type: 'int2',
  forward_query: 'int2',
  public_stats: 'int2',
  title: 'text',
  tags: 'text',
  created_at: 'int8',
  updated_at: 'int8',
  expires_at: 'int8',
  max_clicks: 'int8',
  used_clicks: 'int8',
  risk: 'text',
  version: 'int4',
};

/** What is written of a link; `id` is given by the database. */
export const writtenColumns = Object.keys(typeOfColumn);
export const linkColumns = ['id', ...writtenColumns].map(name => `links.${name}`).join(', ');

/** For `json_to_recordset`: rows travel as one JSON text, which costs far less than an array for each column. */
export const rowDefinition = Object.entries({ ...typeOfColumn, guards_code: 'int2' })
  .map(([name, type]) => `${name} ${type}`)
  .join(', ');
