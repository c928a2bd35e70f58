/** All links together: how many clicks, of which links, from where. */
import { useEffect, useMemo } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { tagsOf } from '../links/find.ts';
import { ensureLinks, linkIndex } from '../state/link-index.ts';
import { openOverlay } from '../state/overlay.ts';
import { setQuery, usePlace } from '../state/router.ts';
import { useStore } from '../state/store.ts';
import { TopLinks } from '../stats/breakdowns.tsx';
import { StatsView } from '../stats/stats-view.tsx';
import { useStats } from '../stats/use-stats.ts';
import { Button, Key } from '../ui/button.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { Select } from '../ui/select.tsx';
import { Empty } from '../ui/states.tsx';

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
        <Button
          kind="primary"
          class="desk-only"
          icon="plus"
          onClick={() => openOverlay({ kind: 'create', longUrl: '' })}
        >
          {texts.actions.create}
        </Button>
      </PageHeader>
      {isNew ? (
        <Empty icon="link" title={texts.overview.welcome} text={texts.overview.welcomeText}>
          <Button kind="primary" icon="plus" onClick={() => openOverlay({ kind: 'create', longUrl: '' })}>
            {texts.links.createFirst}
          </Button>
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
