/** The two forms of the account page. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { messageOf } from '../api/problem.ts';
import { type AccountChange, editAccount } from '../api/session.ts';
import type { AccountView } from '../api/types.ts';
import { noteSignedIn } from '../state/session.ts';
import { Button } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { showToast } from '../ui/toast.tsx';

interface SettingsFormProps {
  readonly title: string;
  readonly text?: string;
  readonly change: AccountChange;
  readonly canSave: boolean;
  readonly onSaved: () => void;
  readonly children: ComponentChildren;
}

function SettingsForm({ title, text, change, canSave, onSaved, children }: SettingsFormProps) {
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      noteSignedIn(await editAccount(change));
      showToast(texts.account.saved);
      onSaved();
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  };
  return (
    <form
      class="card form"
      aria-label={title}
      noValidate
      onSubmit={event => {
        event.preventDefault();
        if (canSave) void save();
      }}
    >
      <h2>{title}</h2>
      {text !== undefined && <p class="quiet">{text}</p>}
      {children}
      {problem !== undefined && (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      <div>
        <Button type="submit" busy={isBusy} disabled={!canSave}>
          {texts.actions.save}
        </Button>
      </div>
    </form>
  );
}

export function ProfileForm({ account }: { readonly account: AccountView }) {
  const [name, setName] = useState(account.name);
  const [email, setEmail] = useState(account.email ?? '');
  const [currentPassword, setCurrentPassword] = useState('');
  const isEmailChanged = email.trim() !== (account.email ?? '');
  const needsPassword = isEmailChanged && account.hasPassword;
  const change: AccountChange = {
    ...(name.trim() !== account.name && { name: name.trim() }),
    ...(isEmailChanged && { email: email.trim() === '' ? null : email.trim() }),
    ...(needsPassword && { currentPassword }),
  };
  return (
    <SettingsForm
      title={texts.account.profile}
      change={change}
      canSave={
        Object.keys(change).length > 0 && name.trim() !== '' && !(needsPassword && currentPassword === '')
      }
      onSaved={() => setCurrentPassword('')}
    >
      <TextField
        label={texts.account.name}
        value={name}
        onText={setName}
        maxLength={100}
        autocomplete="name"
      />
      <TextField
        label={texts.signIn.email}
        help={texts.account.emailHelp}
        type="email"
        value={email}
        onText={setEmail}
        autocomplete="email"
        disabled={account.role !== 'admin'}
      />
      {needsPassword && (
        <TextField
          label={texts.account.currentPassword}
          type="password"
          autocomplete="current-password"
          value={currentPassword}
          onText={setCurrentPassword}
        />
      )}
    </SettingsForm>
  );
}

const passwordLengthMin = 12;

export function PasswordForm({ account }: { readonly account: AccountView }) {
  const [currentPassword, setCurrentPassword] = useState('');
  const [password, setPassword] = useState('');
  return (
    <SettingsForm
      title={account.hasPassword ? texts.account.changePassword : texts.account.setPassword}
      text={account.email === null ? texts.account.passwordNeedsEmail : texts.account.passwordText}
      change={{ password, ...(account.hasPassword && { currentPassword }) }}
      canSave={password.length >= passwordLengthMin && !(account.hasPassword && currentPassword === '')}
      onSaved={() => {
        setPassword('');
        setCurrentPassword('');
      }}
    >
      {account.hasPassword && (
        <TextField
          label={texts.account.currentPassword}
          type="password"
          autocomplete="current-password"
          value={currentPassword}
          onText={setCurrentPassword}
        />
      )}
      <TextField
        label={texts.account.newPassword}
        help={texts.account.passwordHelp(passwordLengthMin)}
        type="password"
        autocomplete="new-password"
        value={password}
        onText={setPassword}
      />
    </SettingsForm>
  );
}
