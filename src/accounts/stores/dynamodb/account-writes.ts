/** The writes of accounts themselves: new ones, their changes and their invitations. */
import type { TransactItem } from '../../../engines/dynamodb/expressions.ts';
import type { Plan } from '../../../engines/dynamodb/steps.ts';
import { accountRecord, type ChangeNote } from '../../change-note.ts';
import {
  type AccountChange,
  type AccountChanged,
  type AccountStore,
  changed,
  isActiveAdmin,
} from '../../store.ts';
import { adminJoins, adminLeaves, newAccountItems, putEmail } from './account-items.ts';
import {
  type AccountItem,
  type AccountPointer,
  accountKey,
  type InvitationItem,
  invitationKey,
  pointerKey,
  putAccount,
  ttlOf,
} from './items.ts';
import { type AccountParts, turnOf } from './parts.ts';
import { endSessionsItems } from './session-items.ts';

type AccountWrites = Pick<AccountStore, 'insertAccount' | 'changeAccount' | 'invite' | 'acceptInvitation'>;

export function createAccountWrites({ dynamo, steps, auditItems }: AccountParts): AccountWrites {
  const planChange = async (
    accountId: string,
    change: AccountChange,
    note: ChangeNote,
  ): Promise<Plan<AccountChanged>> => {
    const item = await dynamo.get<AccountItem>(accountKey(accountId));
    if (item === undefined) return { answer: { kind: 'missing' } };
    const before = item.record;
    const after = changed(before, change);
    const account = putAccount(after, item);
    const email = emailItems(before.email, after.email, accountId);
    const leaving = isActiveAdmin(before) && !isActiveAdmin(after) ? adminLeaves(before) : undefined;
    const isJoining = !isActiveAdmin(before) && isActiveAdmin(after);
    const { endSessions } = change;
    const exceptId = endSessions === 'all' ? null : endSessions?.except;
    return {
      answer: { kind: 'changed', account: after },
      writes: [
        account,
        ...email,
        ...(leaving === undefined ? [] : [leaving.place, leaving.count]),
        ...(isJoining ? adminJoins(after) : []),
        ...(endSessions === undefined
          ? []
          : await endSessionsItems(dynamo, accountId, ({ id }) => id !== exceptId)),
        ...(await auditItems.itemsOf([accountRecord(note, before, after)])),
      ],
      refused(failed) {
        if (failed.includes(account)) return undefined;
        if (failed.some(each => email.includes(each))) return { kind: 'email_taken' };
        return leaving && failed.includes(leaving.count) ? { kind: 'last_admin' } : undefined;
      },
    };
  };

  return {
    insertAccount: (account, note) =>
      steps.run(turnOf(account.id), async () => ({
        answer: true,
        writes: [
          ...newAccountItems(account),
          ...(await auditItems.itemsOf([accountRecord(note, undefined, account)])),
        ],
        refused: () => false,
      })),

    changeAccount: (accountId, change, note) =>
      steps.run(turnOf(accountId), () => planChange(accountId, change, note)),

    invite: (invitation, note) =>
      steps.run(turnOf(invitation.accountId), async () => {
        const { accountId, tokenHash, expiresAt } = invitation;
        const [item, earlier] = await Promise.all([
          dynamo.get<AccountItem>(accountKey(accountId)),
          dynamo.get<InvitationItem>(invitationKey(accountId)),
        ]);
        if (item === undefined) return { answer: false };
        const account = item.record;
        return {
          answer: true,
          writes: [
            { put: { ...invitationKey(accountId), record: { ...invitation } }, condition: stillThe(earlier) },
            ...(earlier === undefined
              ? []
              : [{ remove: pointerKey('invitation', earlier.record.tokenHash) }]),
            { put: { ...pointerKey('invitation', tokenHash), accountId, ttl: ttlOf(expiresAt) } },
            ...(await auditItems.itemsOf([accountRecord(note, account, account)])),
          ],
        };
      }),

    async acceptInvitation(tokenHash, passwordHash, note) {
      const pointer = await dynamo.get<AccountPointer>(pointerKey('invitation', tokenHash));
      if (pointer === undefined) return undefined;
      const { accountId } = pointer;
      const change = { passwordHash, endSessions: 'all' } as const;
      return await steps.run(turnOf(accountId), async () => {
        const invitation = await dynamo.get<InvitationItem>(invitationKey(accountId));
        if (invitation?.record.tokenHash !== tokenHash) return { answer: undefined };
        const { answer, writes = [] } = await planChange(accountId, change, note);
        if (answer.kind !== 'changed') return { answer: undefined };
        return {
          answer: answer.account,
          writes: [
            { remove: invitationKey(accountId), condition: stillThe(invitation) },
            { remove: pointerKey('invitation', tokenHash) },
            ...writes,
          ],
        };
      });
    },
  };
}

function emailItems(before: string | null, after: string | null, accountId: string): TransactItem[] {
  if (before === after) return [];
  return [
    ...(before === null ? [] : [{ remove: pointerKey('email', before) }]),
    ...(after === null ? [] : [putEmail(after, accountId)]),
  ];
}

/** An invitation has no version: no two have the same token. */
function stillThe(invitation: InvitationItem | undefined) {
  if (invitation === undefined) return { expression: 'attribute_not_exists(#pk)' };
  return {
    expression: '#record.#tokenHash = :tokenHash',
    values: { tokenHash: invitation.record.tokenHash },
  };
}
