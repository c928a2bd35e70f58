/** Signing in and out, signing up, accepting an invitation, and the open sessions. */

import { accountActor } from '../../accounts/account.ts';
import { type Sessions, sessionLifeMaxMs } from '../../accounts/sessions.ts';
import type { SignedIn, SignIn, SignInClient } from '../../accounts/sign-in.ts';
import { addressGroups } from '../../base/addresses.ts';
import { Problem } from '../../base/errors.ts';
import type { Turn } from '../../base/fair-queue.ts';
import {
  acceptBody,
  accountAnswer,
  accountView,
  openInvitationAnswer,
  readInvitationBody,
  sessionListAnswer,
  sessionView,
  signedInAnswer,
  signInBody,
  signInOptionsAnswer,
  signUpBody,
} from '../account-schemas.ts';
import type { ApiRequest } from '../api-request.ts';
import { type DeviceCookie, refuseForeign, type SessionCookie } from '../identity.ts';
import { isoTime } from '../link-view.ts';
import { defineRoute, json, jsonText, type Route } from '../route.ts';
import type { Site } from '../server.ts';
import { bodyBytesMax } from './links.ts';

export interface SessionRoutesOptions {
  readonly signIn: SignIn;
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
  readonly deviceCookie: DeviceCookie;
  readonly site: Pick<Site, 'addressOf' | 'hasLeft'>;
}

/** Longer than any that we issue or accept. */
const credentialLengthMax = 1_000;

export function sessionRoutes(options: SessionRoutesOptions): Route[] {
  const { signIn, sessions, cookie, deviceCookie, site } = options;
  const clientOf = (request: ApiRequest): SignInClient => ({
    ...turnOf(site, request),
    userAgent: request.headers.get('user-agent') ?? '',
    deviceToken: deviceCookie.tokenOf(request.headers),
  });
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/session',
      name: 'openSession',
      summary: 'Sign in',
      description:
        'Sets a cookie for the dashboard. Every later request that changes something must come from a page of this server. A second cookie, kept for a year, marks the browser as a known device: failed attempts from elsewhere do not count against it.',
      auth: 'none',
      limit: 'signIn',
      body: { schema: signInBody, bytesMax: bodyBytesMax },
      answers: { 201: { description: 'You are signed in.', schema: signedInAnswer } },
      problems: [
        'sign_in_failed',
        'unauthorized',
        'forbidden',
        'account_suspended',
        'foreign_origin',
        'overloaded',
      ],
      async handle({ body, request }) {
        refuseForeign(cookie, request);
        const { account, session, token, deviceToken } = await signedIn(body, clientOf(request));
        const shown = { account: accountView(account), session: sessionView(session, session.id) };
        const setCookie = { 'Set-Cookie': cookie.keep(token, sessionLifeMaxMs) };
        const response = jsonText(JSON.stringify(shown), 201, setCookie);
        deviceCookie.keepWith(response, deviceToken);
        return response;
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/session',
      name: 'closeSession',
      summary: 'Sign out',
      answers: { 204: { description: 'The session has ended and the cookie is gone.' } },
      problems: ['not_found'],
      async handle({ actor }) {
        const { sessionId } = accountActor(actor);
        if (sessionId === null) throw new Problem('not_found', { detail: 'This request has no session.' });
        await sessions.end(actor, sessionId);
        return new Response(null, { status: 204, headers: { 'Set-Cookie': cookie.forget } });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/sessions',
      name: 'listSessions',
      summary: 'List your sessions',
      description: 'Newest first.',
      limit: 'read',
      answers: { 200: { description: 'Every session that is open.', schema: sessionListAnswer } },
      problems: ['forbidden'],
      async handle({ actor }) {
        const { sessionId } = accountActor(actor);
        const open = await sessions.list(actor);
        return json({ sessions: open.map(session => sessionView(session, sessionId)) });
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/sessions/{sessionId}',
      name: 'endSession',
      summary: 'End one of your sessions',
      description: 'It is refused from the next request on.',
      answers: { 204: { description: 'The session has ended.' } },
      problems: ['forbidden', 'not_found'],
      async handle({ actor, params }) {
        await sessions.end(actor, params.sessionId!);
        return new Response(null, { status: 204 });
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/sign-up',
      name: 'signUp',
      summary: 'Sign up',
      description:
        'Only where the server allows it. The answer is the same when the e-mail address already has an account, which then does not change.',
      auth: 'none',
      limit: 'signUp',
      body: { schema: signUpBody, bytesMax: bodyBytesMax },
      answers: { 204: { description: 'Sign in now.' } },
      problems: ['forbidden', 'foreign_origin', 'overloaded'],
      async handle({ body, request }) {
        refuseForeign(cookie, request);
        await signIn.signUp(body, clientOf(request));
        return new Response(null, { status: 204 });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/sign-in-options',
      name: 'readSignInOptions',
      summary: 'How to sign in',
      description: 'What a sign-in page of this server offers.',
      auth: 'none',
      limit: 'read',
      answers: { 200: { description: 'The ways that are open.', schema: signInOptionsAnswer } },
      handle: async () => json(await signIn.options()),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/invitations/read',
      name: 'readInvitation',
      summary: 'Read an invitation',
      description: 'What its token is for, and who issued it. Nothing changes.',
      auth: 'none',
      limit: 'signIn',
      body: { schema: readInvitationBody, bytesMax: bodyBytesMax },
      answers: { 200: { description: 'The invitation.', schema: openInvitationAnswer } },
      problems: ['invitation_invalid', 'account_suspended', 'foreign_origin'],
      async handle({ body: { token }, request }) {
        refuseForeign(cookie, request);
        const { purpose, account, from, expiresAt } = await signIn.readInvitation(
          isCredential(token) ? token : '',
        );
        const { name, email } = account;
        return json({ purpose, from, name, email, expiresAt: isoTime(expiresAt) });
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/invitations/accept',
      name: 'acceptInvitation',
      summary: 'Accept an invitation',
      description:
        'Or use a password reset. Sets the password of the account, whose sessions end; then sign in.',
      auth: 'none',
      limit: 'signIn',
      body: { schema: acceptBody, bytesMax: bodyBytesMax },
      answers: { 200: { description: 'The account that is yours.', schema: accountAnswer } },
      problems: ['invitation_invalid', 'account_suspended', 'foreign_origin', 'overloaded'],
      async handle({ body: { token, password }, request }) {
        refuseForeign(cookie, request);
        const account = await signIn.accept(isCredential(token) ? token : '', password, clientOf(request));
        return json(accountView(account));
      },
    }),
  ];

  async function signedIn(
    body: { email: unknown; password: unknown } | { key: unknown },
    client: SignInClient,
  ): Promise<SignedIn> {
    if ('key' in body) {
      if (isCredential(body.key)) return signIn.withKey(body.key, client);
      throw new Problem('unauthorized', { detail: 'This API key is not valid.' });
    }
    const { email, password } = body;
    if (isCredential(email) && isCredential(password)) return signIn.withPassword(email, password, client);
    throw new Problem('sign_in_failed', { detail: 'The e-mail address or the password is wrong.' });
  }
}

/** The place of a request in the queue for password hashing: each customer network (IPv6 /48) has one lane. */
export const turnOf = (
  { addressOf, hasLeft }: SessionRoutesOptions['site'],
  request: ApiRequest,
): Omit<Turn, 'isPreferred'> => ({
  lane: addressGroups(addressOf(request)).site,
  isAbandoned: () => hasLeft(request),
});

const isCredential = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= credentialLengthMax;
