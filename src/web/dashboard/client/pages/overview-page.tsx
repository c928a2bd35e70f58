/** All links together: the number of clicks, the top links, the sources. */
import { useEffect, useMemo } from 'preact/hooks';
import { texts } from '../../texts.ts';
import type { AccountView } from '../api/types.ts';
import { tagsOf } from '../links/find.ts';
import { ensureLinks, linkIndex } from '../state/links.ts';
import { setQuery, usePlace } from '../state/router.ts';
import { useStore } from '../state/store.ts';
import { TopLinks } from '../stats/breakdowns.tsx';
import { ClickLog } from '../stats/click-log.tsx';
import { StatsView } from '../stats/stats-view.tsx';
import { useStats } from '../stats/use-stats.ts';
import { Key } from '../ui/button.tsx';
import { Select } from '../ui/field.tsx';
import { CreateButton, Empty, PageHeader } from '../ui/page.tsx';
import { Checklist } from './checklist.tsx';

export function OverviewPage({ account }: { readonly account: AccountView }) {
  const { query } = usePlace();
  const tag = query.get('tag') ?? undefined;
  const index = useStore(linkIndex);
  useEffect(ensureLinks, []);
  const tags = useMemo(() => tagsOf(index.links), [index.links]);
  const resource = useStats({ tag });
  const isKnown = index.state === 'complete' || index.state === 'partial';
  const isNew =
    index.state === 'complete' &&
    index.links.length === 0 &&
    resource.value?.stats.totalClicks === 0 &&
    tag === undefined;
  return (
    <>
      <PageHeader title={texts.overview.title} note={texts.overview.note}>
        <CreateButton class="desk-only" />
      </PageHeader>
      {isKnown && tag === undefined && resource.value !== undefined && (
        <Checklist
          account={account}
          hasLinks={index.links.length > 0}
          hasClicks={resource.value.stats.totalClicks > 0}
        />
      )}
      {isNew ? (
        <Empty icon="link" title={texts.overview.welcome} text={texts.overview.welcomeText}>
          <CreateButton label={texts.links.createFirst} />
          <p class="quiet">
            {texts.overview.hintBefore} <Key>?</Key> {texts.overview.hintAfter}
          </p>
        </Empty>
      ) : (
        <StatsView
          resource={resource}
          toolbar={
            (tags.length > 0 || tag !== undefined) && (
              <Select
                label={texts.links.filterTag}
                value={tag ?? ''}
                choices={[
                  { value: '', label: texts.overview.allLinks },
                  ...tags.map(([name]) => ({ value: name, label: name })),
                ]}
                onValue={value => setQuery({ tag: value })}
              />
            )
          }
        >
          {resource.value !== undefined && (
            <>
              <TopLinks shown={resource.value} filters={resource.choice.filters} />
              <ClickLog shown={resource.value} />
            </>
          )}
        </StatsView>
      )}
    </>
  );
}
