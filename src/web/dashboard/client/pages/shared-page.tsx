/** A link's statistics for people without an account: public ones, or with a token behind the “#” of the address. */
import { useEffect } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { ApiProblem, askAsStranger } from '../api/request.ts';
import { withoutScheme } from '../format.ts';
import { baseUrl } from '../site.ts';
import { hrefOf } from '../state/router.ts';
import { StatsView } from '../stats/stats-view.tsx';
import { useStats } from '../stats/use-stats.ts';
import { LinkButton, Wordmark } from '../ui/button.tsx';
import { ConnectionBanner, Empty, PageHeader } from '../ui/page.tsx';

// The token is behind “#”, where no log and no other site sees it. It is read before the first request.
if (location.pathname.startsWith(hrefOf('/shared/'))) {
  const token = location.hash.slice(1);
  askAsStranger(token === '' ? {} : { token });
}

export function SharedPage({ code }: { readonly code: string }) {
  const shortUrl = `${baseUrl}/${code}`;
  const stats = useStats({ code });
  useEffect(() => {
    // Another address in the same tab may have another token.
    const reload = (): void => location.reload();
    addEventListener('hashchange', reload);
    return () => removeEventListener('hashchange', reload);
  }, []);
  const { value, problem } = stats;
  const isHidden = value === undefined && problem instanceof ApiProblem && problem.status === 404;
  return (
    <div class="shared">
      <ConnectionBanner />
      <header class="shared-top">
        <a class="brand" href="/" aria-label={texts.product}>
          <Wordmark />
        </a>
        <span class="quiet">{texts.shared.made}</span>
      </header>
      <main id="content" tabIndex={-1}>
        {isHidden ? (
          <>
            <PageHeader title={texts.missing.title} />
            <Empty icon="globe" title={texts.shared.none} text={texts.shared.noneText} />
          </>
        ) : (
          <>
            <PageHeader title={texts.shared.title(withoutScheme(shortUrl))}>
              <LinkButton icon="external" href={shortUrl}>
                {texts.shared.visit}
              </LinkButton>
            </PageHeader>
            <StatsView resource={stats} />
          </>
        )}
      </main>
    </div>
  );
}
