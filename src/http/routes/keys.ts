/** The API keys of the caller's own account. */
import type { Actor, ApiKey } from '../../accounts/account.ts';
import type { Credentials } from '../../accounts/api-key.ts';
import { Problem } from '../../base/errors.ts';
import { isoTime } from '../link-view.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { type keyAnswer, keyBody, keyListAnswer, newKeyAnswer } from '../schemas.ts';
import { bodyBytesMax } from './links.ts';

export function keyRoutes(credentials: Credentials): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/keys',
      name: 'listKeys',
      summary: 'List your API keys',
      auth: 'required',
      answers: {
        200: { description: 'All keys, revoked ones too, without their secrets.', schema: keyListAnswer },
      },
      problems: [],
      handle: async ({ actor }) =>
        json({ keys: (await credentials.listKeys(accountIdOf(actor))).map(keyView) }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/keys',
      name: 'createKey',
      summary: 'Create an API key',
      auth: 'required',
      body: { schema: keyBody, bytesMax: bodyBytesMax },
      answers: { 201: { description: 'The key, shown this once.', schema: newKeyAnswer } },
      problems: ['forbidden'],
      async handle({ actor, body }) {
        const { key, secret } = await credentials.createKey(accountIdOf(actor), body.name);
        return json({ ...keyView(key), key: secret }, 201);
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/keys/{id}',
      name: 'revokeKey',
      summary: 'Revoke an API key',
      description: 'The key stops working at once. A key may revoke itself.',
      auth: 'required',
      answers: { 204: { description: 'The key is revoked.' } },
      problems: ['not_found'],
      async handle({ actor, params }) {
        await credentials.revokeKey(accountIdOf(actor), params.id!);
        return new Response(null, { status: 204 });
      },
    }),
  ];
}

function accountIdOf(actor: Actor): string {
  if (actor.kind === 'account') return actor.accountId;
  throw new Problem('unauthorized');
}

function keyView(key: ApiKey): Record<keyof typeof keyAnswer.shape, string | null> {
  const shown = (timeMs: number | null): string | null => (timeMs === null ? null : isoTime(timeMs));
  return {
    id: key.id,
    name: key.name,
    createdAt: isoTime(key.createdAt),
    lastUsedAt: shown(key.lastUsedAt),
    revokedAt: shown(key.revokedAt),
  };
}
