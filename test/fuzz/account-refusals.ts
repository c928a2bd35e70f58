/** Reasons to reject a request because of the caller's permissions or the state of accounts, keys and sessions. */
import type { People } from './account-model.ts';
import type { Case } from './refusals.ts';
import type { SentRequest } from './sent-request.ts';

const keysPerAccountMax = 100;

const invitationOperations = new Set(['readInvitation', 'acceptInvitation']);
/** Operations that need full access to the account. */
const wholeAccountOperations = new Set(['createKey', 'editOwnAccount', 'listSessions', 'endSession']);

export const accountReasons: Readonly<Record<string, (refused: Case) => boolean>> = {
  sign_in_failed: ({ sent }) => sent.operation.id === 'openSession',
  account_suspended: ({ flaws, sent, model }) =>
    flaws.has('suspension') ||
    sent.operation.id === 'openSession' ||
    (invitationOperations.has(sent.operation.id) && isOfSuspended(sent, model.people)),
  foreign_origin: ({ flaws }) => flaws.has('origin'),
  invitation_invalid: ({ sent, model }) => invitedBy(sent, model.people) === undefined,
  email_taken: ({ input: { email }, model }) => typeof email === 'string' && model.people.isTaken(email),
  keys_full: ({ model, owner }) => model.keysOf(owner, false).length >= keysPerAccountMax - 1,
  forbidden: refused => lacksScope(refused.sent) || isAskingTooMuch(refused),
};

const lacksScope = ({ operation, scopes }: SentRequest): boolean =>
  operation.scope !== undefined && !scopes.has(operation.scope);

function isAskingTooMuch({ sent, model, owner, input }: Case): boolean {
  const { operation, isNarrow, isAdmin } = sent;
  if (isNarrow && wholeAccountOperations.has(operation.id)) return true;
  const namesAccount = input.accountId !== undefined || new URLSearchParams(sent.plan.query).has('accountId');
  switch (operation.id) {
    case 'listKeys':
      return namesAccount && !isAdmin;
    case 'createKey': {
      const allowed = model.people.roleScopesOf(owner);
      const { scopes = [] } = input as { scopes?: readonly string[] };
      return (namesAccount && !isAdmin) || scopes.some(scope => !allowed.includes(scope));
    }
    case 'editOwnAccount': {
      const { email, password, currentPassword } = input;
      const isGuarded = email !== undefined || password !== undefined;
      const known = model.people.own(owner).password;
      return (
        (email !== undefined && !isAdmin) || (isGuarded && known !== undefined && currentPassword !== known)
      );
    }
    case 'openSession':
      return input.key !== undefined;
    default:
      return false;
  }
}

/** Whether the request is about an account, a key or a session rather than a link. */
export function namesAccountThing({ places, operation }: SentRequest): boolean {
  const { id, accountId, sessionId } = places;
  return (
    (id ?? accountId ?? sessionId) !== undefined ||
    ['createKey', 'listKeys', 'closeSession'].includes(operation.id)
  );
}

/** The subject of the path or the body, if it is visible to the caller. */
export function accountSubjectOf({ sent, model, owner }: Case): unknown {
  const { id, accountId, sessionId } = sent.places;
  if (accountId !== undefined) return model.people.accounts.get(accountId);
  if (sessionId !== undefined) {
    return model.people.liveSessions(owner).find(session => session.id === sessionId);
  }
  if (id === undefined) return sent.operation.id === 'closeSession' ? sent.session : undefined;
  const key = model.keys.get(id);
  if (key === undefined || key.revoked || key.owner !== owner) return undefined;
  return !sent.isNarrow || key === sent.issued ? key : undefined;
}

function invitedBy(sent: SentRequest, people: People) {
  const { token } = (sent.input ?? {}) as { token?: unknown };
  return [...people.accounts.values()].find(
    ({ invitation }) => invitation !== undefined && invitation === token,
  );
}

const isOfSuspended = (sent: SentRequest, people: People): boolean =>
  (invitedBy(sent, people)?.view.suspendedAt ?? null) !== null;
