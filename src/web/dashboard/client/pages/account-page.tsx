/** The account: its name, its password, the sessions that are open, the theme. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { PasswordForm, ProfileForm } from '../account/account-forms.tsx';
import { messageOf } from '../api/problem.ts';
import { endSession, listSessions } from '../api/session.ts';
import type { AccountView, OpenSession } from '../api/types.ts';
import { formatAgo, formatDay } from '../format.ts';
import { useResource } from '../state/resource.ts';
import { chooseTheme, type ThemeChoice, themeChoice } from '../state/theme-choice.ts';
import { Button } from '../ui/button.tsx';
import { Segments } from '../ui/field.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { Loaded } from '../ui/states.tsx';
import { showToast } from '../ui/toast.tsx';

const themes: readonly ThemeChoice[] = ['system', 'light', 'dark'];

export function AccountPage({ account }: { readonly account: AccountView }) {
  const [theme, setTheme] = useState(themeChoice);
  return (
    <>
      <PageHeader
        title={texts.account.title}
        note={texts.account.note(texts.roles[account.role], account.plan, formatDay(account.createdAt))}
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
            onValue={choice => {
              chooseTheme(choice);
              setTheme(choice);
            }}
          />
        </section>
      </div>
    </>
  );
}

function Sessions() {
  const resource = useResource('sessions', listSessions);
  const end = async ({ id }: OpenSession): Promise<void> => {
    await endSession(id).catch(error => showToast(messageOf(error), { isProblem: true }));
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

/** Enough to recognise one's own devices by. */
function browserOf(userAgent: string): string {
  const named = [browsers, systems].map(table => table.find(([mark]) => userAgent.includes(mark))?.[1]);
  const known = named.filter(name => name !== undefined);
  return known.length === 0 ? texts.account.unknownBrowser : known.join(' · ');
}
