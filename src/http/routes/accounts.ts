/** Accounts: the caller's own, and all of them for admins. */
import type { Account, Actor } from '../../accounts/account.ts';
import type { KnownDevices } from '../../accounts/known-devices.ts';
import type { Members } from '../../accounts/members.ts';
import { accountActor } from '../../accounts/whole-account.ts';
import {
  accountAnswer,
  accountChangeBody,
  accountListAnswer,
  accountListParameters,
  invitationAnswer,
  newAccountBody,
  ownAccountAnswer,
  ownChangeBody,
  suspensionBody,
} from '../account-schemas.ts';
import { accountView } from '../account-views.ts';
import { isoTime } from '../link-view.ts';
import { defineRoute, json, type Route } from '../route.ts';
import type { Site } from '../server.ts';
import { bodyBytesMax } from './links.ts';
import { type SessionRoutesOptions, turnOf } from './sessions.ts';

const oneAccount = { description: 'The account.', schema: accountAnswer };
const ownAccount = { description: 'Your account.', schema: ownAccountAnswer };

export interface AccountRoutesOptions extends Pick<SessionRoutesOptions, 'deviceCookie'> {
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
      summary: 'Who you are',
      description: 'And what you may do with the key or the session that you sent.',
      auth: 'required',
      answers: { 200: ownAccount },
      problems: [],
      handle: async ({ actor }) => json(ownView(actor, await members.find(accountActor(actor).accountId))),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/account',
      name: 'editOwnAccount',
      summary: 'Change your account',
      description: 'A new password ends all your other sessions.',
      auth: 'required',
      limit: 'change',
      body: { schema: ownChangeBody, bytesMax: bodyBytesMax },
      answers: { 200: ownAccount },
      problems: ['forbidden', 'email_taken', 'rate_limited'],
      async handle({ actor, body, request }) {
        const turn = { ...turnOf(site, request), isPreferred: true };
        const account = await members.changeOwn(actor, body, turn);
        const response = json(ownView(actor, account));
        // The new password has made all devices unknown; this one has just proven itself.
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
      description: 'The oldest first. For admins.',
      auth: 'required',
      scope: 'admin',
      limit: 'read',
      query: accountListParameters,
      answers: { 200: { description: 'A page of accounts.', schema: accountListAnswer } },
      problems: [],
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
      auth: 'required',
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
      auth: 'required',
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
      auth: 'required',
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
        'Its keys and sessions are refused at once. Its links go on working: judge those for themselves. For admins.',
      auth: 'required',
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
      auth: 'required',
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
      summary: 'Invite the person of an account',
      description:
        'The token sets the password once, within seven days; also for whoever has lost theirs. For admins.',
      auth: 'required',
      scope: 'admin',
      limit: 'change',
      answers: { 201: { description: 'What to hand over.', schema: invitationAnswer } },
      problems: ['not_found'],
      async handle({ actor, params }) {
        const { token, expiresAt } = await members.invite(actor, params.accountId!);
        // In the fragment, which no server and no log ever sees.
        const url = `${site.baseUrl}/dashboard/invitation#${token}`;
        return json({ url, token, expiresAt: isoTime(expiresAt) }, 201);
      },
    }),
  ];
}

function ownView(actor: Actor, account: Account) {
  const { scopes, keyId, sessionId } = accountActor(actor);
  return { ...accountView(account), scopes: [...scopes], keyId, sessionId };
}
