/** Everybody's accounts, for admins: made, invited, given a role, suspended. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { AccountDialog, InvitationDialog } from '../account/account-dialogs.tsx';
import { changeAccount, invite, listAccounts, type ManagedAccount, setSuspended } from '../api/accounts.ts';
import { messageOf } from '../api/problem.ts';
import type { AccountView } from '../api/types.ts';
import { formatDay } from '../format.ts';
import { useResource } from '../state/resource.ts';
import { ActionTable } from '../ui/action-table.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { Loaded, Skeleton } from '../ui/states.tsx';
import { showToast } from '../ui/toast.tsx';

type Step =
  | { readonly kind: 'none' | 'create' }
  | { readonly kind: 'invited'; readonly account: ManagedAccount; readonly token: string };

const roles = ['member', 'moderator', 'admin'] as const;

export function AccountsPage({ own }: { readonly own: AccountView }) {
  const [cursor, setCursor] = useState<string>();
  const resource = useResource(cursor ?? '', signal => listAccounts(cursor, signal));
  const [step, setStep] = useState<Step>({ kind: 'none' });
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      showToast(messageOf(error), { isProblem: true });
    }
    resource.reload();
  };
  const inviteTo = (account: ManagedAccount): Promise<void> =>
    run(async () => setStep({ kind: 'invited', account, token: (await invite(account.id)).token }));
  const menuOf = (account: ManagedAccount): MenuItem[] => [
    { label: texts.accounts.invite, icon: 'external', onSelect: () => void inviteTo(account) },
    ...roles
      .filter(role => role !== account.role)
      .map(role => ({
        label: texts.accounts.makeRole(texts.roles[role]),
        icon: 'shield' as const,
        onSelect: () => void run(() => changeAccount(account.id, { role })),
      })),
    {
      label: account.suspendedAt === null ? texts.accounts.suspend : texts.accounts.unsuspend,
      icon: 'ban',
      isDangerous: account.suspendedAt === null,
      onSelect: () => void run(() => setSuspended(account.id, account.suspendedAt === null)),
    },
  ];
  return (
    <>
      <PageHeader title={texts.accounts.title} note={texts.accounts.note}>
        <Button kind="primary" icon="plus" onClick={() => setStep({ kind: 'create' })}>
          {texts.accounts.create}
        </Button>
      </PageHeader>
      <Loaded resource={resource} skeleton={<Skeleton lines={6} tall />}>
        {({ accounts, nextCursor }) => (
          <>
            <AccountTable accounts={accounts} own={own} menuOf={menuOf} />
            {nextCursor !== null && (
              <Button onClick={() => setCursor(nextCursor)}>{texts.accounts.next}</Button>
            )}
          </>
        )}
      </Loaded>
      {step.kind === 'create' && (
        <AccountDialog
          onMade={account => {
            resource.reload();
            void inviteTo(account);
          }}
          onClose={() => setStep({ kind: 'none' })}
        />
      )}
      {step.kind === 'invited' && (
        <InvitationDialog
          account={step.account}
          token={step.token}
          onClose={() => setStep({ kind: 'none' })}
        />
      )}
    </>
  );
}

interface AccountTableProps {
  readonly accounts: readonly ManagedAccount[];
  readonly own: AccountView;
  readonly menuOf: (account: ManagedAccount) => MenuItem[];
}

function AccountTable({ accounts, own, menuOf }: AccountTableProps) {
  return (
    <ActionTable
      heads={[texts.accounts.name, texts.accounts.role, texts.accounts.plan, texts.accounts.since]}
    >
      {accounts.map(account => (
        <tr key={account.id} class={account.suspendedAt === null ? '' : 'row-off'}>
          <th scope="row">
            {account.name}
            {account.email !== null && <span class="quiet">{account.email}</span>}
            {account.suspendedAt !== null && (
              <span class="badge badge-blocked">{texts.accounts.suspended}</span>
            )}
            {account.id === own.id && <span class="badge badge-active">{texts.accounts.you}</span>}
          </th>
          <td>{texts.roles[account.role]}</td>
          <td>{account.plan}</td>
          <td>{formatDay(account.createdAt)}</td>
          <td class="cell-actions">
            {account.id !== own.id && (
              <Menu label={texts.keys.more(account.name)} items={menuOf(account)}>
                <Icon name="more" />
              </Menu>
            )}
          </td>
        </tr>
      ))}
    </ActionTable>
  );
}
