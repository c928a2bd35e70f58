/** Request and response schemas of accounts, keys and sessions. */
import { z } from 'zod';
import { type Account, type ApiKey, roles, scopes } from '../accounts/account.ts';
import { passwordLengthMax, passwordLengthMin } from '../accounts/passwords.ts';
import type { Session } from '../accounts/session-store.ts';
import { invitationPurposes } from '../accounts/store.ts';
import { accountPlanNames, planNames } from '../limits/plans.ts';
import { codePattern } from '../links/link.ts';
import { isoTime } from './link-view.ts';
import { expiresAt, text, time, upTo, wholeNumber } from './schemas.ts';

/** Accepts the addresses that mail servers accept in practice, not all that the RFC allows, to catch typos. */
const emailPattern = /^[\w.%+-]{1,64}@([0-9A-Za-z-]{1,63}\.){1,4}[\w-]{2,24}$/;

/** Maximum lengths of a mailbox name and a domain, by RFC 5321. */
const emailLengthMax = 254;

const name = text(1, 100).meta({ description: 'The display name.', examples: ['Marketing'] });
const email = upTo(emailLengthMax)
  .regex(emailPattern, 'must be an e-mail address')
  .meta({ description: 'The address to sign in with; not case-sensitive.', examples: ['ada@example.com'] });
const password = text(passwordLengthMin, passwordLengthMax).meta({
  description: 'Only the length is checked: several words are better than one word with symbols.',
});
const plan = z.enum(accountPlanNames).meta({ description: 'How much the account may do.' });
const role = z
  .enum(roles)
  .meta({ description: 'What the account may do: a moderator also decides about links.' });
const scopeList = z
  .array(z.enum(scopes))
  .min(1)
  .max(scopes.length)
  .meta({
    description: 'What the key may do; never more than its account.',
    examples: [['links:write']],
  });
const accountId = upTo(64).regex(codePattern).meta({ description: 'The `id` of an account.' });
const reason = text(1, 500).optional().meta({ description: 'Why; stored in the audit log.' });

/** Accepts any type: the handler rejects a credential of the wrong type like any other wrong one. */
const credential = (description: string) => z.unknown().meta({ type: 'string', description });

export const keyBody = z.strictObject({
  name: text(1, 100).meta({ description: 'What the key is for.', examples: ['newsletter script'] }),
  scopes: scopeList.optional(),
  expiresAt: expiresAt.optional(),
  accountId: accountId.optional().meta({ description: 'For admins: whose key. Your own unless given.' }),
});

export const overlapSecondsMax = 7 * 24 * 60 * 60;
export const rotateKeyBody = z.strictObject({
  overlapSeconds: z
    .int()
    .min(0)
    .max(overlapSecondsMax)
    .optional()
    .meta({ description: 'How long the old secret keeps working; default 0.' }),
});

export const keyListParameters = z.strictObject({
  accountId: accountId.optional().meta({ description: 'For admins: whose keys. Your own unless given.' }),
  limit: wholeNumber({ min: 1, max: 100, default: 100 }).meta({ description: 'Keys per page.' }),
  cursor: upTo(100).optional().meta({ description: 'The `nextCursor` of the page before.' }),
});

export const newAccountBody = z
  .strictObject({
    name,
    email: email.nullable().optional(),
    plan: plan.optional(),
    role: role.optional(),
  })
  .meta({ id: 'NewAccount' });

export const accountChangeBody = z
  .strictObject({
    name: name.optional(),
    email: email.nullable().optional(),
    plan: plan.optional(),
    role: role.optional(),
  })
  .refine(body => Object.keys(body).length > 0, 'names nothing to change')
  .meta({ id: 'AccountChange', minProperties: 1 });

export const ownChangeBody = z
  .strictObject({
    name: name.optional(),
    email: email.nullable().optional().meta({ description: 'Admins may change it themselves.' }),
    password: password.optional(),
    currentPassword: upTo(passwordLengthMax)
      .optional()
      .meta({ description: 'Needed to change the password or the e-mail address, if you have a password.' }),
  })
  .refine(body => Object.keys(body).length > 0, 'names nothing to change')
  .meta({ id: 'OwnChange', minProperties: 1 });

export const suspensionBody = z.strictObject({ reason });

export const accountListParameters = z.strictObject({
  limit: wholeNumber({ min: 1, max: 100, default: 50 }).meta({ description: 'Accounts per page.' }),
  cursor: upTo(100).optional().meta({ description: 'The `nextCursor` of the page before.' }),
  email: email.optional().meta({ description: 'Only the account with this e-mail address.' }),
});

export const signInBody = z
  .union(
    [
      z.strictObject({
        email: credential('Your e-mail address.'),
        password: credential('Your password.'),
      }),
      z.strictObject({ key: credential('An API key with all scopes of its account, instead of both.') }),
    ],
    'needs an email and a password, or a key',
  )
  .meta({ id: 'SignIn' });

export const signUpBody = z.strictObject({ name, email, password });

const invitationToken = credential('The token of the invitation or of the password reset.');
export const readInvitationBody = z.strictObject({ token: invitationToken });
export const acceptBody = z.strictObject({
  token: invitationToken,
  password,
});

const accountFields = {
  id: z.string().meta({ description: 'Identifies the account.', examples: ['acc_mB3xT0c2vQ1e'] }),
  name: z.string().meta({ description: 'The display name.' }),
  email: z.string().nullable().meta({ description: 'The address to sign in with; null for none.' }),
  role: z.enum(roles).meta({ description: 'What the account may do.' }),
  plan: z.enum(planNames).meta({ description: 'How much the account may do.' }),
  hasPassword: z.boolean().meta({ description: 'Whether the account has a password.' }),
  createdAt: time('When the account was created.'),
  suspendedAt: time('Since when the account may do nothing; null while it may.').nullable(),
};
export const accountAnswer = z.strictObject(accountFields).meta({ id: 'Account' });
export const ownAccountAnswer = z
  .strictObject({
    ...accountFields,
    scopes: z.array(z.enum(scopes)).meta({ description: 'What this key or session may do.' }),
    keyId: z.string().nullable().meta({ description: 'The key that you sent; null for a session.' }),
    sessionId: z.string().nullable().meta({ description: 'The session that you sent; null for a key.' }),
  })
  .meta({ id: 'OwnAccount' });
export const accountListAnswer = z.strictObject({
  accounts: z.array(accountAnswer),
  nextCursor: z.string().nullable().meta({ description: 'For the next page; null on the last.' }),
});

export const invitationAnswer = z
  .strictObject({
    url: z.string().meta({
      description: 'The page where the person sets a password; it contains the token.',
      format: 'uri',
      examples: ['https://terse.example/dashboard/invitation#…'],
    }),
    token: z
      .string()
      .meta({ description: 'For the person to set a password with: shown now and never again.' }),
    expiresAt: time('From when on the token does not work.'),
  })
  .meta({ id: 'Invitation' });

export const openInvitationAnswer = z
  .strictObject({
    purpose: z.enum(invitationPurposes).meta({ description: 'For a new person, or after a lost password.' }),
    from: z.string().nullable().meta({ description: 'Who issued it; null if that is not known.' }),
    name: z.string().meta({ description: 'The display name of the account.' }),
    email: z.string().nullable().meta({ description: 'The address to sign in with; null for none.' }),
    expiresAt: time('From when on the token does not work.'),
  })
  .meta({ id: 'OpenInvitation' });

export const signInOptionsAnswer = z
  .strictObject({
    passwords: z
      .boolean()
      .meta({ description: 'Whether anyone may have a password; false while only the first key exists.' }),
    signUp: z.boolean().meta({ description: 'Whether anyone can sign up.' }),
  })
  .meta({ id: 'SignInOptions' });

const keyFields = {
  id: z.string().meta({ description: 'Identifies the key; not a secret.', examples: ['key_mB3xT0c2vQ1e'] }),
  accountId: z.string().meta({ description: 'Whose key it is.' }),
  name: z.string().meta({ description: 'What the key is for.' }),
  scopes: z.array(z.enum(scopes)).meta({ description: 'What the key was given.' }),
  createdAt: time('When the key was created.'),
  lastUsedAt: time('When the key was last used, to the minute; null for never.').nullable(),
  expiresAt: time('From when on the key does not work; null for never.').nullable(),
  previousUntil: time(
    'Until when the secret before the last rotation works; null if there is none.',
  ).nullable(),
  revokedAt: time('When the key was revoked; null if it was not.').nullable(),
};
export const keyAnswer = z.strictObject(keyFields).meta({ id: 'Key' });
export const keyListAnswer = z.strictObject({
  keys: z.array(keyAnswer),
  nextCursor: z.string().nullable().meta({ description: 'For the next page; null on the last.' }),
});
export const newKeyAnswer = z
  .strictObject({
    ...keyFields,
    key: z.string().meta({ description: 'The key itself: shown now and never again.' }),
  })
  .meta({ id: 'NewKey' });

export const sessionAnswer = z
  .strictObject({
    id: z
      .string()
      .meta({ description: 'Identifies the session; not a secret.', examples: ['ses_mB3xT0c2vQ1e'] }),
    isCurrent: z.boolean().meta({ description: 'Whether it is the session of this request.' }),
    userAgent: z.string().meta({ description: 'What the browser said it is.' }),
    createdAt: time('When it was opened.'),
    lastSeenAt: time('When it was last used, to the minute.'),
    expiresAt: time('When it ends at the latest.'),
  })
  .meta({ id: 'Session' });
export const sessionListAnswer = z.strictObject({ sessions: z.array(sessionAnswer) });
export const signedInAnswer = z.strictObject({ account: accountAnswer, session: sessionAnswer });

const shown = (timeMs: number | null): string | null => (timeMs === null ? null : isoTime(timeMs));

/** Accounts, keys and sessions as the API shows them: never a secret, nor a hash of one. */
export function accountView(account: Account): z.output<typeof accountAnswer> {
  const { id, name, email, role, plan, passwordHash, createdAt, suspendedAt } = account;
  return {
    id,
    name,
    email,
    role,
    plan,
    hasPassword: passwordHash !== null,
    createdAt: isoTime(createdAt),
    suspendedAt: shown(suspendedAt),
  };
}

export function keyView(key: ApiKey): z.output<typeof keyAnswer> {
  return {
    id: key.id,
    accountId: key.accountId,
    name: key.name,
    scopes: [...key.scopes],
    createdAt: isoTime(key.createdAt),
    lastUsedAt: shown(key.lastUsedAt),
    expiresAt: shown(key.expiresAt),
    previousUntil: shown(key.previousUntil),
    revokedAt: shown(key.revokedAt),
  };
}

export function sessionView(session: Session, currentId: string | null): z.output<typeof sessionAnswer> {
  return {
    id: session.id,
    isCurrent: session.id === currentId,
    userAgent: session.userAgent,
    createdAt: isoTime(session.createdAt),
    lastSeenAt: isoTime(session.lastSeenAt),
    expiresAt: isoTime(session.expiresAt),
  };
}
