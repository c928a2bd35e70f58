/** All accounts, for admins: create, invite, reset a password, set a role, suspend. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import {
  changeAccount,
  createAccount,
  invite,
  listAccounts,
  resetPassword,
  setSuspended,
} from '../api/calls.ts';
import type { AccountView, Role } from '../api/types.ts';
import { formatDay } from '../format.ts';
import { usePages } from '../state/connection.ts';
import { hrefOf } from '../state/router.ts';
import { Button, Icon } from '../ui/button.tsx';
import { ConfirmDialog, FormDialog, SecretDialog } from '../ui/dialog.tsx';
import { SelectField, TextField } from '../ui/field.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { ActionTable, Loaded, MorePages, PageHeader, Skeleton } from '../ui/page.tsx';
import { showProblem } from '../ui/toast.tsx';

type Step =
  | { readonly kind: 'none' | 'create' }
  | { readonly kind: 'invited' | 'reset'; readonly account: AccountView; readonly token: string }
  | { readonly kind: 'suspend'; readonly account: AccountView }
  | { readonly kind: 'role'; readonly account: AccountView; readonly role: Role };

const roles = ['member', 'moderator', 'admin'] as const;

export function AccountsPage({ own }: { readonly own: AccountView }) {
  const pages = usePages('accounts', listAccounts, (before, next) => ({
    ...next,
    accounts: [...before.accounts, ...next.accounts],
  }));
  const [step, setStep] = useState<Step>({ kind: 'none' });
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      showProblem(error);
    }
  };
  /** Replaces the account in place, so that the list does not move for a user who has scrolled down. */
  const put = (changed: AccountView): void => {
    if (pages.value === undefined) return;
    const accounts = pages.value.accounts.map(account => (account.id === changed.id ? changed : account));
    pages.replace({ ...pages.value, accounts });
  };
  const inviteTo = (account: AccountView): Promise<void> =>
    run(async () => setStep({ kind: 'invited', account, token: (await invite(account.id)).token }));
  const reset = (account: AccountView): Promise<void> =>
    run(async () => setStep({ kind: 'reset', account, token: (await resetPassword(account.id)).token }));
  const close = (): void => setStep({ kind: 'none' });
  const confirmed = async (work: () => Promise<unknown>): Promise<void> => {
    await work();
    close();
  };
  const menuOf = (account: AccountView): MenuItem[] => [
    account.hasPassword
      ? { label: texts.accounts.reset, icon: 'key', onSelect: () => void reset(account) }
      : { label: texts.accounts.invite, icon: 'external', onSelect: () => void inviteTo(account) },
    ...roles
      .filter(role => role !== account.role)
      .map(role => ({
        label: texts.accounts.makeRole(texts.roles[role]),
        icon: 'shield' as const,
        onSelect: () => setStep({ kind: 'role', account, role }),
      })),
    {
      label: account.suspendedAt === null ? texts.accounts.suspend : texts.accounts.unsuspend,
      icon: 'ban',
      isDangerous: account.suspendedAt === null,
      onSelect: () => {
        if (account.suspendedAt === null) setStep({ kind: 'suspend', account });
        else void run(async () => put(await setSuspended(account.id, false)));
      },
    },
  ];
  return (
    <>
      <PageHeader title={texts.accounts.title} note={texts.accounts.note}>
        <Button kind="primary" icon="plus" onClick={() => setStep({ kind: 'create' })}>
          {texts.accounts.create}
        </Button>
      </PageHeader>
      <Loaded resource={pages} skeleton={<Skeleton lines={6} tall />}>
        {({ accounts }) => (
          <>
            <AccountTable accounts={accounts} own={own} menuOf={menuOf} />
            <MorePages pages={pages} label={texts.accounts.next} />
          </>
        )}
      </Loaded>
      {step.kind === 'create' && (
        <AccountDialog
          onMade={account => {
            close();
            pages.reload();
            void inviteTo(account);
          }}
          onClose={close}
        />
      )}
      {(step.kind === 'invited' || step.kind === 'reset') && (
        <TokenDialog
          account={step.account}
          token={step.token}
          isReset={step.kind === 'reset'}
          onClose={close}
        />
      )}
      {step.kind === 'suspend' && (
        <ConfirmDialog
          title={texts.accounts.suspendTitle(step.account.name)}
          text={texts.accounts.suspendText}
          action={texts.accounts.suspend}
          onConfirm={() => confirmed(async () => put(await setSuspended(step.account.id, true)))}
          onClose={close}
        />
      )}
      {step.kind === 'role' && (
        <ConfirmDialog
          title={texts.accounts.roleTitle(step.account.name, texts.roles[step.role])}
          text={texts.accounts.roleTexts[step.role]}
          action={texts.accounts.makeRole(texts.roles[step.role])}
          onConfirm={() =>
            confirmed(async () => put(await changeAccount(step.account.id, { role: step.role })))
          }
          onClose={close}
        />
      )}
    </>
  );
}

interface AccountTableProps {
  readonly accounts: readonly AccountView[];
  readonly own: AccountView;
  readonly menuOf: (account: AccountView) => MenuItem[];
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
          <td data-label={texts.accounts.role}>{texts.roles[account.role]}</td>
          <td data-label={texts.accounts.plan}>{planName(account.plan)}</td>
          <td data-label={texts.accounts.since}>{formatDay(account.createdAt)}</td>
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

const plans = ['free', 'pro', 'verified', 'unlimited'] as const;
export const planName = (plan: string): string => texts.accounts.plans[plan] ?? plan;

interface AccountDialogProps {
  readonly onMade: (account: AccountView) => void;
  readonly onClose: () => void;
}

/** Creating an account, and the invitation to pass on. */
function AccountDialog({ onMade, onClose }: AccountDialogProps) {
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('member');
  const [plan, setPlan] = useState<(typeof plans)[number]>('free');
  return (
    <FormDialog
      title={texts.accounts.create}
      size="small"
      onClose={onClose}
      submitLabel={texts.accounts.make}
      canSubmit={name.trim() !== ''}
      onSubmit={async () =>
        onMade(await createAccount({ name: name.trim(), email: email.trim() || null, role, plan }))
      }
    >
      <div class="form">
        <TextField label={texts.accounts.name} value={name} onText={setName} maxLength={100} data-autofocus />
        <TextField
          label={texts.signIn.email}
          type="email"
          value={email}
          onText={setEmail}
          autocomplete="off"
        />
        <div class="form-pair">
          <SelectField
            label={texts.accounts.role}
            value={role}
            choices={roles.map(value => ({ value, label: texts.roles[value] }))}
            onValue={setRole}
          />
          <SelectField
            label={texts.accounts.plan}
            value={plan}
            choices={plans.map(value => ({ value, label: planName(value) }))}
            onValue={setPlan}
          />
        </div>
      </div>
    </FormDialog>
  );
}

interface TokenDialogProps {
  readonly account: AccountView;
  readonly token: string;
  readonly isReset: boolean;
  readonly onClose: () => void;
}

/** The token is in the fragment, which never reaches a server or a log. */
function TokenDialog({ account: { name, email }, token, isReset, onClose }: TokenDialogProps) {
  const { accounts } = texts;
  const invitationText = email === null ? accounts.needsEmail(name) : accounts.invitationText(name);
  return (
    <SecretDialog
      title={isReset ? accounts.resetTitle(name) : accounts.invitationTitle(name)}
      text={isReset ? accounts.resetText(name) : invitationText}
      secret={`${location.origin}${hrefOf('/invitation')}#${token}`}
      copyLabel={isReset ? accounts.copyReset : accounts.copyInvitation}
      doneLabel={accounts.handedOver}
      onClose={onClose}
    />
  );
}
