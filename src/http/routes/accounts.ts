/** Accounts: the caller's own, and all of them for admins. */
import { type Account, type Actor, accountActor } from '../../accounts/account.ts';
import type { Keys } from '../../accounts/keys.ts';
import type { Members } from '../../accounts/members.ts';
import type { KnownDevices } from '../../accounts/sign-in.ts';
import type { InvitationPurpose } from '../../accounts/store.ts';
import {
  accountAnswer,
  accountChangeBody,
  accountListAnswer,
  accountListParameters,
  accountView,
  invitationAnswer,
  keyBody,
  keyListAnswer,
  keyListParameters,
  keyView,
  newAccountBody,
  newKeyAnswer,
  ownAccountAnswer,
  ownChangeBody,
  rotateKeyBody,
  suspensionBody,
} from '../account-schemas.ts';
import type { Reply } from '../json-reply.ts';
import { isoTime } from '../link-view.ts';
import { defineRoute, json, jsonText, type Route, secretHeaders } from '../route.ts';
import type { Site } from '../server.ts';
import { bodyBytesMax } from './links.ts';
import { type SessionRoutesOptions, turnOf } from './sessions.ts';

const oneAccount = { description: 'The account.', schema: accountAnswer };
const ownAccount = { description: 'Your account.', schema: ownAccountAnswer };

interface AccountRoutesOptions extends Pick<SessionRoutesOptions, 'deviceCookie'> {
  readonly site: SessionRoutesOptions['site'] & Pick<Site, 'baseUrl'>;
  readonly members: Members;
  readonly devices: KnownDevices;
}

export function accountRoutes({ members, devices, deviceCookie, site }: AccountRoutesOptions): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/account',
      name: 'readOwnAccount',
      summary: 'Read your account',
      description: 'And what the key or session of this request may do.',
      answers: { 200: ownAccount },
      handle: async ({ actor }) => json(ownView(actor, await members.find(accountActor(actor).accountId))),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/account',
      name: 'editOwnAccount',
      summary: 'Change your account',
      description: 'A new password ends all your other sessions.',
      limit: 'change',
      body: { schema: ownChangeBody, bytesMax: bodyBytesMax },
      answers: { 200: ownAccount },
      problems: ['forbidden', 'email_taken', 'rate_limited'],
      async handle({ actor, body, request }) {
        const turn = { ...turnOf(site, request), isPreferred: true };
        const account = await members.changeOwn(actor, body, turn);
        const response = jsonText(JSON.stringify(ownView(actor, account)));
        // The new password has made all devices unknown; this one has just authenticated.
        if (body.password !== undefined && accountActor(actor).sessionId !== null)
          deviceCookie.keepWith(response, devices.issue(account));
        return response;
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/accounts',
      name: 'listAccounts',
      summary: 'List accounts',
      description: 'Oldest first. For admins.',
      scope: 'admin',
      limit: 'read',
      query: accountListParameters,
      answers: { 200: { description: 'A page of accounts.', schema: accountListAnswer } },
      async handle({ query: { limit, cursor, email } }) {
        const { accounts, nextCursor = null } = await members.list({ limit, cursor, email });
        return json({ accounts: accounts.map(accountView), nextCursor });
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/accounts',
      name: 'createAccount',
      summary: 'Create an account',
      description: 'Make it a key, or invite its person to set a password. For admins.',
      scope: 'admin',
      limit: 'change',
      body: { schema: newAccountBody, bytesMax: bodyBytesMax },
      answers: { 201: oneAccount },
      problems: ['email_taken'],
      handle: async ({ actor, body }) => json(accountView(await members.create(actor, body)), 201),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/accounts/{accountId}',
      name: 'readAccount',
      summary: 'Read one account',
      description: 'For admins.',
      scope: 'admin',
      answers: { 200: oneAccount },
      problems: ['not_found'],
      handle: async ({ params }) => json(accountView(await members.find(params.accountId!))),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/accounts/{accountId}',
      name: 'editAccount',
      summary: 'Change parts of an account',
      description: 'What its keys and sessions may do changes at once. For admins.',
      scope: 'admin',
      limit: 'change',
      body: { schema: accountChangeBody, bytesMax: bodyBytesMax },
      answers: { 200: oneAccount },
      problems: ['not_found', 'email_taken', 'last_admin'],
      handle: async ({ actor, params, body }) =>
        json(accountView(await members.change(actor, params.accountId!, body))),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/accounts/{accountId}/suspend',
      name: 'suspendAccount',
      summary: 'Suspend an account',
      description:
        'Its keys and sessions are refused at once. Its links keep working; decide about them separately. For admins.',
      scope: 'admin',
      limit: 'change',
      body: { schema: suspensionBody, bytesMax: bodyBytesMax },
      answers: { 200: oneAccount },
      problems: ['not_found', 'last_admin'],
      handle: async ({ actor, params, body: { reason = null } }) =>
        json(accountView(await members.suspend(actor, params.accountId!, reason))),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/accounts/{accountId}/unsuspend',
      name: 'unsuspendAccount',
      summary: 'End the suspension of an account',
      description: 'Its keys work again; its sessions have ended. For admins.',
      scope: 'admin',
      limit: 'change',
      body: { schema: suspensionBody, bytesMax: bodyBytesMax },
      answers: { 200: oneAccount },
      problems: ['not_found'],
      handle: async ({ actor, params, body: { reason = null } }) =>
        json(accountView(await members.unsuspend(actor, params.accountId!, reason))),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/accounts/{accountId}/invitation',
      name: 'inviteAccount',
      summary: 'Invite to an account',
      description:
        'The token sets the password once, within seven days, and replaces the account’s earlier token. For admins.',
      scope: 'admin',
      limit: 'change',
      answers: { 201: { description: 'What to hand over.', schema: invitationAnswer } },
      problems: ['not_found'],
      handle: ({ actor, params }) => issue(actor, params.accountId!, 'invitation'),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/accounts/{accountId}/password-reset',
      name: 'resetPassword',
      summary: 'Let someone choose a new password',
      description:
        'The token sets another password once, within a day, and ends the account’s sessions; until then nothing changes. It replaces the account’s earlier token. For admins.',
      scope: 'admin',
      limit: 'change',
      answers: { 201: { description: 'What to hand over.', schema: invitationAnswer } },
      problems: ['not_found'],
      handle: ({ actor, params }) => issue(actor, params.accountId!, 'passwordReset'),
    }),
  ];

  async function issue(actor: Actor, accountId: string, purpose: InvitationPurpose): Promise<Reply> {
    const { token, expiresAt } = await members.invite(actor, accountId, purpose);
    // In the fragment, which never reaches a server or a log.
    const url = `${site.baseUrl}/dashboard/invitation#${token}`;
    return json({ url, token, expiresAt: isoTime(expiresAt) }, 201, secretHeaders);
  }
}

function ownView(actor: Actor, account: Account) {
  const { scopes, keyId, sessionId } = accountActor(actor);
  return { ...accountView(account), scopes: [...scopes], keyId, sessionId };
}

/**
 * API keys: of the caller's own account, and of others for admins. accounts/keys.ts decides what a caller may manage.
 */
export function keyRoutes(keys: Keys): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/keys',
      name: 'listKeys',
      summary: 'List your API keys',
      description: 'Oldest first. A key with fewer scopes than its account sees only itself.',
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
      limit: 'change',
      body: { schema: keyBody, bytesMax: bodyBytesMax },
      answers: { 201: { description: 'The key, shown this once.', schema: newKeyAnswer } },
      problems: ['forbidden', 'not_found', 'invalid_expiry', 'keys_full'],
      async handle({ actor, body }) {
        const { key, secret } = await keys.create(actor, body);
        return json({ ...keyView(key), key: secret }, 201, secretHeaders);
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/keys/{id}/rotate',
      name: 'rotateKey',
      summary: 'Rotate an API key',
      description:
        'The old secret stops working at once, or after `overlapSeconds`; one before it stops in any case, and so do ' +
        'the sessions that the key opened, but for the one that asks. A key may rotate itself.',
      limit: 'change',
      body: { schema: rotateKeyBody, bytesMax: bodyBytesMax },
      answers: {
        200: { description: 'The key with its new secret, shown this once.', schema: newKeyAnswer },
      },
      problems: ['forbidden', 'not_found'],
      async handle({ actor, params, body: { overlapSeconds = 0 } }) {
        const { key, secret } = await keys.rotate(actor, params.id!, overlapSeconds * 1_000);
        return json({ ...keyView(key), key: secret }, 200, secretHeaders);
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/keys/{id}',
      name: 'revokeKey',
      summary: 'Revoke an API key',
      description:
        'The key stops working at once, and so do the sessions it opened. A key may revoke itself.',
      answers: { 204: { description: 'The key is revoked.' } },
      problems: ['not_found'],
      async handle({ actor, params }) {
        await keys.revoke(actor, params.id!);
        return new Response(null, { status: 204 });
      },
    }),
  ];
}
