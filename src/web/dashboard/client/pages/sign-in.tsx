/** Signing in, with a password or with an API key. Over a page whose session ended it is a dialog. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import { readSignInOptions, signIn } from '../api/calls.ts';
import type { SignInOptions } from '../api/types.ts';
import { useResource } from '../state/connection.ts';
import { hrefOf } from '../state/router.ts';
import { noteSignedIn, noteSignedOut } from '../state/session.ts';
import { Button, Wordmark } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import type { TextFieldProps } from '../ui/field.tsx';
import { ProblemNotice, Segments, TextField, useSubmit } from '../ui/field.tsx';
import { LanguageSegments } from '../ui/page.tsx';

type Way = 'password' | 'key';

/** The way of the last sign-in with this browser; it is likely to be the next one. */
const lastWay = 'terse-sign-in-way';
/** If the server does not report its sign-in options within this time, both ways are shown. */
const optionsWaitMs = 1_000;

/** The pages in front of the dashboard: one card in the middle. */
export function EntryPage({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${title} · ${texts.product}`;
  }, [title]);
  return (
    <main class="sign-in">
      <div class="sign-in-card card">
        <Wordmark />
        <h1>{title}</h1>
        {children}
      </div>
      <p class="quiet">{texts.signIn.foot}</p>
      <LanguageSegments />
    </main>
  );
}

export const useSignInOptions = () => useResource('sign-in-options', readSignInOptions);

export function SignInPage() {
  const { value, problem } = useSignInOptions();
  const [hasWaited, setWaited] = useState(false);
  useEffect(() => browserClock.after(optionsWaitMs, () => setWaited(true)), []);
  const last = localStorage.getItem(lastWay);
  const isReady = value !== undefined || problem !== undefined || hasWaited || last !== null;
  return (
    <EntryPage title={texts.signIn.title}>
      {isReady && <SignInForm first={firstWay(last, value)} />}
      {value?.signUp && (
        <p class="quiet">
          {texts.signIn.noAccount} <a href={hrefOf('/sign-up')}>{texts.signIn.signUp}</a>
        </p>
      )}
    </EntryPage>
  );
}

function firstWay(last: string | null, options: SignInOptions | undefined): Way {
  if (last === 'key' || last === 'password') return last;
  return options?.passwords === false ? 'key' : 'password';
}

/** The page behind stays as it was, with all typed input. */
export function SignInAgain() {
  return (
    <Dialog title={texts.signIn.again} size="small" isRequired onClose={() => undefined}>
      <p class="quiet">{texts.signIn.againText}</p>
      <SignInForm first={firstWay(localStorage.getItem(lastWay), undefined)} />
      <Button kind="quiet" small onClick={noteSignedOut}>
        {texts.signIn.leave}
      </Button>
    </Dialog>
  );
}

function SignInForm({ first }: { readonly first: Way }) {
  const [way, setWay] = useState<Way>(first);
  const [email, setEmail] = useState('');
  const [secret, setSecret] = useState('');
  const form = useRef<HTMLFormElement>(null);
  const focusOn = (name: string): void =>
    form.current?.querySelector<HTMLInputElement>(`input[name=${name}]`)?.focus();
  const submit = async (): Promise<void> => {
    const account = await signIn(
      way === 'key' ? { key: secret.trim() } : { email: email.trim(), password: secret },
    );
    localStorage.setItem(lastWay, way);
    noteSignedIn(account);
  };
  const { problem, isBusy, onSubmit, forget } = useSubmit(submit, { staysBusy: true });
  useEffect(() => focusOn(way === 'key' ? 'password' : 'username'), [way]);
  // The secret is most likely the part that was wrong.
  useEffect(() => {
    if (problem !== undefined) focusOn('password');
  }, [problem]);
  return (
    <form class="form" noValidate onSubmit={onSubmit} ref={form}>
      <Segments
        label={texts.signIn.way}
        value={way}
        choices={[
          { value: 'password', label: texts.signIn.withPassword },
          { value: 'key', label: texts.signIn.withKey },
        ]}
        onValue={next => {
          setWay(next);
          setSecret('');
          forget();
        }}
      />
      {way === 'password' && (
        <TextField
          label={texts.signIn.email}
          type="email"
          name="username"
          autocomplete="username"
          value={email}
          onText={setEmail}
          data-autofocus
        />
      )}
      <TextField
        key={way}
        label={way === 'key' ? texts.signIn.key : texts.signIn.password}
        help={way === 'key' ? texts.signIn.keyHelp : undefined}
        type="password"
        name="password"
        autocomplete={way === 'key' ? 'off' : 'current-password'}
        value={secret}
        onText={setSecret}
        data-autofocus
      />
      <ProblemNotice problem={problem} />
      <Button kind="primary" type="submit" busy={isBusy} disabled={secret === ''}>
        {texts.signIn.submit}
      </Button>
      {way === 'password' && (
        <details class="forgot">
          <summary>{texts.signIn.forgot}</summary>
          <p class="quiet">{texts.signIn.forgotText}</p>
        </details>
      )}
    </form>
  );
}

export const passwordLengthMin = 12;

export function NewPasswordField(props: Pick<TextFieldProps, 'value' | 'onText'>) {
  return (
    <TextField
      {...props}
      label={texts.account.newPassword}
      help={texts.account.passwordHelp(passwordLengthMin)}
      type="password"
      name="password"
      autocomplete="new-password"
    />
  );
}
