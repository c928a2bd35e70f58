/**
 * What a new account consists of besides itself: its place in the list of all, its e-mail address, which is put only
 * where nobody has it, and, for an admin who may act, a place among the admins and in their count. The count is what
 * never lets the last of them go, and lets one of many processes make the first.
 */
import { isNew, type Key, type PutItem, type TransactItem } from '../../../engines/dynamodb/expressions.ts';
import type { Account } from '../../account.ts';
import { isActiveAdmin } from '../../store.ts';
import { placeText, pointerKey, putAccount } from './items.ts';

export const accountsPartition = 'accounts';
export const adminsPartition = 'admins';
const adminCount: Key = { pk: 'admin-count', sk: 'count' };

/** Where an account stands in the list of all, or of the admins. */
export const placeKey = (pk: string, { createdAt, id }: Pick<Account, 'createdAt' | 'id'>): Key => ({
  pk,
  sk: placeText(createdAt, id),
});

const putPlace = (pk: string, account: Account): PutItem => ({
  put: { ...placeKey(pk, account), accountId: account.id },
});

export function newAccountItems(account: Account): TransactItem[] {
  return [...accountItems(account), ...(isActiveAdmin(account) ? adminJoins(account) : [])];
}

/** Refused when there is an admin already. */
export function firstAdminItems(account: Account): TransactItem[] {
  const condition = { expression: 'attribute_not_exists(#pk) OR #count = :none', values: { none: 0 } };
  return [
    ...accountItems(account),
    putPlace(adminsPartition, account),
    { put: { ...adminCount, count: 1 }, condition },
  ];
}

function accountItems(account: Account): TransactItem[] {
  return [
    putAccount(account, undefined),
    putPlace(accountsPartition, account),
    ...(account.email === null ? [] : [putEmail(account.email, account.id)]),
  ];
}

export const putEmail = (email: string, accountId: string): PutItem => ({
  put: { ...pointerKey('email', email), accountId },
  condition: isNew,
});

export const adminJoins = (account: Account): TransactItem[] => [
  putPlace(adminsPartition, account),
  { update: adminCount, expression: 'ADD #count :one', values: { one: 1 } },
];

/** The count is refused when no other admin would be left. */
export function adminLeaves(account: Account): { place: TransactItem; count: TransactItem } {
  return {
    place: { remove: placeKey(adminsPartition, account) },
    count: {
      update: adminCount,
      expression: 'ADD #count :less',
      condition: '#count > :one',
      values: { less: -1, one: 1 },
    },
  };
}
