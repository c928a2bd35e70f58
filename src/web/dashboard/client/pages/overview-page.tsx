/** All links together: the number of clicks, the top links, the sources. */
import { useEffect, useMemo } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { tagsOf } from '../links/find.ts';
import { ensureLinks, linkIndex } from '../state/links.ts';
import { setQuery, usePlace } from '../state/router.ts';
import { useStore } from '../state/store.ts';
import { TopLinks } from '../stats/breakdowns.tsx';
import { StatsView, useStats } from '../stats/stats-view.tsx';
import { Key } from '../ui/button.tsx';
import { Select } from '../ui/field.tsx';
import { CreateButton, Empty, PageHeader } from '../ui/page.tsx';

export function OverviewPage() {
  const { query } = usePlace();
  const tag = query.get('tag') ?? undefined;
  const index = useStore(linkIndex);
  useEffect(ensureLinks, []);
  const tags = useMemo(() => tagsOf(index.links), [index.links]);
  const resource = useStats({ tag });
  const isNew =
    index.state === 'complete' && index.links.length === 0 && resource.value?.stats.totalClicks === 0;
  return (
    <>
      <PageHeader title={texts.overview.title} note={texts.overview.note}>
        <CreateButton class="desk-only" />
      </PageHeader>
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
            tags.length > 0 && (
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
          {resource.value !== undefined && <TopLinks stats={resource.value.stats} />}
        </StatsView>
      )}
    </>
  );
}
