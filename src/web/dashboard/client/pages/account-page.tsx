/** The account: its name, its password, the open sessions, the theme. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { editAccount, endSession, listSessions } from '../api/calls.ts';
import type { AccountView, OpenSession, OwnChange } from '../api/types.ts';
import { formatAgo, formatDay } from '../format.ts';
import { chooseTheme, type ThemeChoice, useThemeChoice } from '../site.ts';
import { useResource } from '../state/connection.ts';
import { noteSignedIn } from '../state/session.ts';
import { Button } from '../ui/button.tsx';
import type { TextFieldProps } from '../ui/field.tsx';
import { ProblemNotice, Segments, TextField, useSubmit } from '../ui/field.tsx';
import { LanguageSegments, Loaded, PageHeader, ShortcutSwitch } from '../ui/page.tsx';
import { showProblem, showToast } from '../ui/toast.tsx';
import { planName } from './accounts-page.tsx';
import { NewPasswordField, passwordLengthMin } from './sign-in.tsx';

const themes: readonly ThemeChoice[] = ['system', 'light', 'dark'];

export function AccountPage({ account }: { readonly account: AccountView }) {
  const theme = useThemeChoice();
  return (
    <>
      <PageHeader
        title={texts.account.title}
        note={texts.account.note(
          texts.roles[account.role],
          planName(account.plan),
          formatDay(account.createdAt),
        )}
      />
      <div class="settings">
        <ProfileForm account={account} />
        <PasswordForm account={account} />
        <Sessions />
        <section class="card" aria-label={texts.nav.theme}>
          <h2>{texts.nav.theme}</h2>
          <Segments
            label={texts.nav.theme}
            value={theme}
            choices={themes.map(value => ({ value, label: texts.themeNames[value] }))}
            onValue={chooseTheme}
          />
        </section>
        <section class="card" aria-label={texts.nav.language}>
          <h2>{texts.nav.language}</h2>
          <LanguageSegments />
        </section>
        <section class="card" aria-label={texts.nav.shortcuts}>
          <h2>{texts.nav.shortcuts}</h2>
          <ShortcutSwitch />
        </section>
      </div>
    </>
  );
}

function Sessions() {
  const resource = useResource('sessions', listSessions);
  const end = async ({ id }: OpenSession): Promise<void> => {
    await endSession(id).catch(showProblem);
    resource.reload();
  };
  return (
    <section class="card" aria-label={texts.account.sessions}>
      <h2>{texts.account.sessions}</h2>
      <p class="quiet">{texts.account.sessionsText}</p>
      <Loaded resource={resource}>
        {sessions => (
          <ul class="session-list">
            {sessions.map(session => (
              <li key={session.id}>
                <div>
                  <strong>{browserOf(session.userAgent)}</strong>
                  {session.isCurrent && <span class="badge badge-active">{texts.account.current}</span>}
                  <p class="quiet">
                    {texts.account.seen(formatAgo(session.lastSeenAt), formatDay(session.createdAt))}
                  </p>
                </div>
                {!session.isCurrent && (
                  <Button small onClick={() => void end(session)}>
                    {texts.account.end}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}

const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const systems = [
  ['Windows', 'Windows'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** Enough to recognise one's own devices. */
function browserOf(userAgent: string): string {
  const named = [browsers, systems].map(table => table.find(([mark]) => userAgent.includes(mark))?.[1]);
  const known = named.filter(name => name !== undefined);
  return known.length === 0 ? texts.account.unknownBrowser : known.join(' · ');
}

interface SettingsFormProps {
  readonly title: string;
  readonly text?: string;
  readonly change: OwnChange;
  readonly canSave: boolean;
  readonly onSaved: () => void;
  readonly children: ComponentChildren;
}

function SettingsForm({ title, text, change, canSave, onSaved, children }: SettingsFormProps) {
  const save = async (): Promise<void> => {
    noteSignedIn(await editAccount(change));
    showToast(texts.account.saved);
    onSaved();
  };
  const { problem, isBusy, onSubmit } = useSubmit(save, { canSubmit: canSave });
  return (
    <form class="card form" aria-label={title} noValidate onSubmit={onSubmit}>
      <h2>{title}</h2>
      {text !== undefined && <p class="quiet">{text}</p>}
      {children}
      <ProblemNotice problem={problem} />
      <div>
        <Button type="submit" busy={isBusy} disabled={!canSave}>
          {texts.actions.save}
        </Button>
      </div>
    </form>
  );
}

/** The two forms of the account page. */
function ProfileForm({ account }: { readonly account: AccountView }) {
  const [name, setName] = useState(account.name);
  const [email, setEmail] = useState(account.email ?? '');
  const [currentPassword, setCurrentPassword] = useState('');
  const isEmailChanged = email.trim() !== (account.email ?? '');
  const needsPassword = isEmailChanged && account.hasPassword;
  const change: OwnChange = {
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
      {needsPassword && <CurrentPasswordField value={currentPassword} onText={setCurrentPassword} />}
    </SettingsForm>
  );
}

function CurrentPasswordField(props: Pick<TextFieldProps, 'value' | 'onText'>) {
  return (
    <TextField
      {...props}
      label={texts.account.currentPassword}
      type="password"
      autocomplete="current-password"
    />
  );
}

function PasswordForm({ account }: { readonly account: AccountView }) {
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
      {account.hasPassword && <CurrentPasswordField value={currentPassword} onText={setCurrentPassword} />}
      <NewPasswordField value={password} onText={setPassword} />
    </SettingsForm>
  );
}
