/** API keys: of the caller's own account, and of others for admins. What a caller may manage is in accounts/keys.ts. */
import type { Keys } from '../../accounts/keys.ts';
import {
  keyBody,
  keyListAnswer,
  keyListParameters,
  newKeyAnswer,
  rotateKeyBody,
} from '../account-schemas.ts';
import { keyView } from '../account-views.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { bodyBytesMax } from './links.ts';

export function keyRoutes(keys: Keys): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/keys',
      name: 'listKeys',
      summary: 'List your API keys',
      description: 'The oldest first. A key with fewer scopes than its account sees only itself.',
      auth: 'required',
      limit: 'read',
      query: keyListParameters,
      answers: {
        200: {
          description: 'A page of keys, revoked ones too, without their secrets.',
          schema: keyListAnswer,
        },
      },
      problems: ['forbidden', 'not_found'],
      async handle({ actor, query: { accountId, limit, cursor } }) {
        const page = await keys.list(actor, { limit, cursor }, accountId);
        return json({ keys: page.keys.map(keyView), nextCursor: page.nextCursor ?? null });
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/keys',
      name: 'createKey',
      summary: 'Create an API key',
      description: 'It gets all scopes of the account unless fewer are named.',
      auth: 'required',
      limit: 'change',
      body: { schema: keyBody, bytesMax: bodyBytesMax },
      answers: { 201: { description: 'The key, shown this once.', schema: newKeyAnswer } },
      problems: ['forbidden', 'not_found', 'invalid_expiry', 'keys_full'],
      async handle({ actor, body }) {
        const { key, secret } = await keys.create(actor, body);
        return json({ ...keyView(key), key: secret }, 201);
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/keys/{id}/rotate',
      name: 'rotateKey',
      summary: 'Give an API key another secret',
      description:
        'The old secret stops working at once, or after `overlapSeconds`; one before it stops in any case, and so do ' +
        'the sessions that the key opened, but for the one that asks. A key may rotate itself.',
      auth: 'required',
      limit: 'change',
      body: { schema: rotateKeyBody, bytesMax: bodyBytesMax },
      answers: {
        200: { description: 'The key with its new secret, shown this once.', schema: newKeyAnswer },
      },
      problems: ['forbidden', 'not_found'],
      async handle({ actor, params, body: { overlapSeconds = 0 } }) {
        const { key, secret } = await keys.rotate(actor, params.id!, overlapSeconds * 1_000);
        return json({ ...keyView(key), key: secret });
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/keys/{id}',
      name: 'revokeKey',
      summary: 'Revoke an API key',
      description:
        'The key stops working at once, and so do the sessions it opened. A key may revoke itself.',
      auth: 'required',
      answers: { 204: { description: 'The key is revoked.' } },
      problems: ['not_found'],
      async handle({ actor, params }) {
        await keys.revoke(actor, params.id!);
        return new Response(null, { status: 204 });
      },
    }),
  ];
}
