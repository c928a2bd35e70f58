/** Coming in for the first time: signing up, where the server allows it, or by an invitation or a password reset. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { acceptInvitation, readInvitation, signIn, signUp } from '../api/calls.ts';
import { ApiProblem } from '../api/request.ts';
import type { OpenInvitation } from '../api/types.ts';
import { formatMoment, withoutScheme } from '../format.ts';
import { baseUrl } from '../site.ts';
import { useResource } from '../state/connection.ts';
import { goTo, hrefOf } from '../state/router.ts';
import { noteSignedIn } from '../state/session.ts';
import { Button, LinkButton } from '../ui/button.tsx';
import { ProblemNotice, TextField, useSubmit } from '../ui/field.tsx';
import { ConnectionBanner, Loaded } from '../ui/page.tsx';
import { EntryPage, NewPasswordField, passwordLengthMin, useSignInOptions } from './sign-in.tsx';

export function SignUpPage() {
  const options = useSignInOptions();
  const isClosed = options.value?.signUp === false;
  return (
    <EntryPage title={isClosed ? texts.signUp.notOpen : texts.signUp.title}>
      <Loaded resource={options}>
        {() => (isClosed ? <p class="quiet">{texts.signUp.notOpenText}</p> : <SignUpForm />)}
      </Loaded>
      <p class="quiet">
        {!isClosed && texts.signUp.haveAccount} <a href={hrefOf('/')}>{texts.signIn.submit}</a>
      </p>
    </EntryPage>
  );
}

function SignUpForm() {
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const isFilled = name.trim() !== '' && email.trim() !== '' && password.length >= passwordLengthMin;
  const submit = async (): Promise<void> => {
    await signUp({ name: name.trim(), email: email.trim(), password });
    const account = await signIn({ email: email.trim(), password }).catch(explained);
    goTo('/');
    noteSignedIn(account);
  };
  const { problem, isBusy, onSubmit } = useSubmit(submit, { canSubmit: isFilled, staysBusy: true });
  return (
    <form class="form" noValidate onSubmit={onSubmit}>
      <TextField
        label={texts.signUp.name}
        name="name"
        value={name}
        onText={setName}
        maxLength={100}
        autocomplete="name"
      />
      <TextField
        label={texts.signIn.email}
        type="email"
        name="username"
        autocomplete="username"
        value={email}
        onText={setEmail}
      />
      <NewPasswordField value={password} onText={setPassword} />
      <ProblemNotice problem={problem} />
      <Button kind="primary" type="submit" busy={isBusy} disabled={!isFilled}>
        {texts.signUp.submit}
      </Button>
    </form>
  );
}

/** Sign-up does not reveal that an address has an account; the sign-in that follows then fails. */
function explained(error: unknown): never {
  if (error instanceof ApiProblem && error.code === 'sign_in_failed')
    throw new ApiProblem(error.status, error.code, texts.signUp.failed);
  throw error;
}

export function InvitationPage() {
  // The token is in the fragment, which never reaches a server or a log.
  const token = location.hash.slice(1);
  const resource = useResource(token, () => readInvitation(token));
  const { value, problem } = resource;
  const isOver = problem instanceof ApiProblem && (problem.status === 410 || problem.status === 403);
  return (
    <>
      <ConnectionBanner />
      {isOver ? (
        <EntryPage title={texts.invitation.invalid}>
          <p class="quiet">{texts.invitation.invalidText}</p>
          <LinkButton href={hrefOf('/')}>{texts.invitation.toSignIn}</LinkButton>
        </EntryPage>
      ) : (
        <EntryPage title={titleOf(value)}>
          <Loaded resource={resource}>{shown => <PasswordForm token={token} invitation={shown} />}</Loaded>
        </EntryPage>
      )}
    </>
  );
}

function titleOf(invitation: OpenInvitation | undefined): string {
  if (invitation === undefined) return texts.product;
  const { purpose, from } = invitation;
  const host = withoutScheme(baseUrl);
  if (purpose === 'passwordReset') return texts.invitation.resetTitle;
  return from === null ? texts.invitation.title(host) : texts.invitation.from(from, host);
}

function PasswordForm({
  token,
  invitation,
}: {
  readonly token: string;
  readonly invitation: OpenInvitation;
}) {
  const [password, setPassword] = useState('');
  const isLongEnough = password.length >= passwordLengthMin;
  const isReset = invitation.purpose === 'passwordReset';
  const accept = async (): Promise<void> => {
    const { email } = await acceptInvitation(token, password);
    // The token is used up: whatever happens next, this page is of no more use.
    const account = email === null ? undefined : await signIn({ email, password }).catch(() => undefined);
    goTo('/');
    if (account !== undefined) noteSignedIn(account);
  };
  const { problem, isBusy, onSubmit } = useSubmit(accept, { canSubmit: isLongEnough, staysBusy: true });
  return (
    <form class="form" noValidate onSubmit={onSubmit}>
      <p class="quiet">{isReset ? texts.invitation.resetText : texts.invitation.text}</p>
      <TextField
        label={texts.invitation.account}
        name="username"
        autocomplete="username"
        value={invitation.email ?? invitation.name}
        onText={() => undefined}
        readOnly
      />
      <NewPasswordField value={password} onText={setPassword} />
      <ProblemNotice problem={problem} />
      <Button kind="primary" type="submit" busy={isBusy} disabled={!isLongEnough}>
        {texts.invitation.submit}
      </Button>
      <p class="quiet">{texts.invitation.until(formatMoment(invitation.expiresAt))}</p>
    </form>
  );
}
