/** The page that an invitation or a password reset leads to: choose a password and get signed in. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { acceptInvitation, readInvitation, signIn } from '../api/calls.ts';
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
import { EntryPage, NewPasswordField, passwordLengthMin } from './sign-in.tsx';

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
