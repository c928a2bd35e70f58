/** Every cell of the permission matrix, requested from a server over HTTP. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { createPermissionWorld } from '../kit/permission-world.ts';
import { actorNames, type RouteRules, rules, type Subject } from './permission-matrix.ts';

setDefaultTimeout(120_000);

const world = await createPermissionWorld();
afterAll(() => world.stop());

/** Makes requests forwarded ones: otherwise every caller would be on the machine of the server. */
const elsewhere = { 'X-Forwarded-For': '192.0.2.1' };

interface Operation {
  readonly method: string;
  readonly path: string;
}
const { paths } = (await (await fetch(`${world.url}/api/v1/openapi.json`)).json()) as {
  paths: Record<string, Record<string, { operationId: string }>>;
};
const operations = new Map<string, Operation>(
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId }]) => [
      operationId,
      { method: method.toUpperCase(), path },
    ]),
  ),
);

async function ask(
  { method, path }: Operation,
  { body, query = '', params = {} }: RouteRules,
  subject: Subject,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const name = await world.nameOf(subject);
  const target = path.replaceAll(/\{(\w+)\}/g, (_, param: string) => params[param] ?? name ?? 'of-nobody');
  return fetch(`${world.url}${target}${query}`, {
    method,
    redirect: 'manual',
    headers: { ...elsewhere, ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

describe('the permission matrix', () => {
  test('has rows for every route of the server, and for no other', () => {
    expect(Object.keys(rules).sort()).toEqual([...operations.keys()].sort());
  });

  test('names every subject of a route once', () => {
    for (const { rows } of Object.values(rules)) {
      const named = rows.flatMap(({ subjects }) => subjects);
      expect(new Set(named).size).toBe(named.length);
    }
  });

  const cells = Object.entries(rules).flatMap(([route, { rows }]) =>
    rows.flatMap(({ subjects, answers }) => subjects.map(subject => [route, subject, answers] as const)),
  );
  test.each(cells)(
    '%s about %s is answered to every caller as the matrix says',
    async (route, subject, answers) => {
      const operation = operations.get(route);
      if (operation === undefined) return expect.unreachable(`${route} is not a route of the server`);
      const answered: Record<string, number> = {};
      for (const actor of actorNames) {
        const response = await ask(operation, rules[route]!, subject, await world.headersOf(actor));
        // A live view would never end.
        await response.body?.cancel();
        answered[actor] = response.status;
      }
      expect(answered).toEqual({ ...answers });
    },
  );

  const hidden = Object.entries(rules).flatMap(([route, { rows }]) => {
    const unseen = rows.filter(({ answers }) => answers.stranger === 404).flatMap(({ subjects }) => subjects);
    return unseen.includes('missing') && unseen.length > 1 ? [[route, unseen] as const] : [];
  });
  test.each(hidden)('%s does not reveal to a stranger what exists: %j', async (route, unseen) => {
    for (const actor of ['stranger', 'nobody'] as const) {
      const answers = new Set<string>();
      for (const subject of unseen) {
        const response = await ask(
          operations.get(route)!,
          rules[route]!,
          subject,
          await world.headersOf(actor),
        );
        const headers = [...response.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id');
        answers.add(JSON.stringify([response.status, headers, await response.text()]));
      }
      expect([...answers]).toHaveLength(1);
    }
  });
});
