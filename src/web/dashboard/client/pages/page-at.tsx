/** The page for an address. */
import { texts } from '../../texts.ts';
import type { AccountView } from '../api/types.ts';
import { hrefOf, usePlace } from '../state/router.ts';
import { LinkButton } from '../ui/button.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { Empty } from '../ui/states.tsx';
import { AccountPage } from './account-page.tsx';
import { AccountsPage } from './accounts-page.tsx';
import { AuditPage } from './audit-page.tsx';
import { BlocklistsPage } from './blocklists-page.tsx';
import { KeysPage } from './keys-page.tsx';
import { LinkPage } from './link-page.tsx';
import { LinksPage } from './links-page.tsx';
import { OverviewPage } from './overview-page.tsx';
import { QueuePage } from './queue-page.tsx';
import { StatusPage } from './status-page.tsx';

export function PageAt({ account }: { readonly account: AccountView }) {
  const { path } = usePlace();
  const code = /^\/links\/([\w-]+)$/.exec(path)?.[1];
  if (code !== undefined) return <LinkPage key={code} code={code} />;
  switch (path) {
    case '/':
      return <OverviewPage />;
    case '/links':
      return <LinksPage />;
    case '/keys':
      return <KeysPage role={account.role} />;
    case '/account':
      return <AccountPage account={account} />;
  }
  if (account.role === 'member') return <NoPage />;
  switch (path) {
    case '/moderation':
      return <QueuePage />;
    case '/moderation/blocklists':
      return <BlocklistsPage />;
    case '/moderation/audit':
      return <AuditPage role={account.role} />;
  }
  if (account.role !== 'admin') return <NoPage />;
  switch (path) {
    case '/status':
      return <StatusPage />;
    case '/accounts':
      return <AccountsPage own={account} />;
    default:
      return <NoPage />;
  }
}

function NoPage() {
  return (
    <>
      <PageHeader title={texts.missing.title} />
      <Empty icon="search" title={texts.missing.heading} text={texts.missing.text}>
        <LinkButton href={hrefOf('/')}>{texts.missing.home}</LinkButton>
      </Empty>
    </>
  );
}
