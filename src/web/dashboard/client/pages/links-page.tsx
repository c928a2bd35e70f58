/** All links: search, filters, sorting, and the rows. The filters are kept in the address bar. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import type { LinkStatus } from '../api/types.ts';
import { formatNumber } from '../format.ts';
import { BulkBar } from '../links/bulk-bar.tsx';
import { findLinks, type Sort, sorts, tagsOf } from '../links/find.ts';
import { LinkList } from '../links/link-list.tsx';
import { useOlderLinks } from '../links/older-links.ts';
import { ExportMenu, Views } from '../links/views.tsx';
import { ensureLinks, type LinkIndex, linkIndex, linkTotals, reloadLinks } from '../state/links.ts';
import { openOverlay, setQuery, usePlace, useQueryText } from '../state/router.ts';
import { useStore } from '../state/store.ts';
import { Button, Icon, Key } from '../ui/button.tsx';
import { ProblemNotice, Select } from '../ui/field.tsx';
import { CreateButton, Empty, Failure, MorePages, PageHeader, Skeleton } from '../ui/page.tsx';

const statuses: readonly LinkStatus[] = [
  'active',
  'disabled',
  'expired',
  'exhausted',
  'quarantined',
  'blocked',
];

export function LinksPage() {
  const index = useStore(linkIndex);
  const totals = useStore(linkTotals);
  const { query } = usePlace();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  useEffect(ensureLinks, []);

  const [search, setSearch] = useQueryText('search');
  const asked = query.get('search') ?? '';
  const status = (query.get('status') as LinkStatus | null) ?? undefined;
  const tag = query.get('tag') ?? undefined;
  const sort = (sorts as readonly string[]).includes(query.get('sort') ?? '')
    ? (query.get('sort') as Sort)
    : 'newest';

  const older = useOlderLinks(index, { search: asked, status, tag });
  const { links } = older;
  const tags = useMemo(() => tagsOf(index.links), [index.links]);
  // Only sorting by clicks depends on the numbers; the rows must not be computed again whenever some arrive.
  const orderTotals = sort === 'clicks' ? totals : undefined;
  const found = useMemo(
    () =>
      findLinks(
        links,
        { search, status, tag, sort },
        link => orderTotals?.get(link.shortCode)?.clicks ?? link.clicks ?? 0,
      ),
    [links, search, status, tag, sort, orderTotals],
  );

  const isFiltered = search !== '' || status !== undefined || tag !== undefined;
  const isFirstLoad = index.links.length === 0 && (index.state === 'loading' || index.state === 'idle');
  const chosen = useMemo(
    () => (selected.size === 0 ? [] : found.filter(({ shortCode }) => selected.has(shortCode))),
    [found, selected],
  );
  // Hidden links are deselected, so that nobody deletes links that they do not see.
  useEffect(() => {
    if (chosen.length < selected.size) setSelected(new Set(chosen.map(({ shortCode }) => shortCode)));
  }, [chosen, selected]);
  const isAsking = older.isAsking || index.state === 'loading' || (older.isNeeded && search !== asked);
  return (
    <>
      <PageHeader title={texts.links.title} note={countText(index, found.length, isFiltered)} isLive>
        <ExportMenu links={found} totals={totals} />
        <Button icon="upload" onClick={() => openOverlay({ kind: 'import' })}>
          {texts.importing.open}
        </Button>
        <CreateButton class="desk-only" />
      </PageHeader>
      <Views query={query} />
      <div class="toolbar">
        <SearchBox search={search} onSearch={setSearch} />
        <Select
          label={texts.links.filterStatus}
          value={status ?? ''}
          choices={[
            { value: '', label: texts.links.anyStatus },
            ...statuses.map(value => ({ value, label: texts.status[value] })),
          ]}
          onValue={value => setQuery({ status: value })}
        />
        <Select
          label={texts.links.filterTag}
          value={tag ?? ''}
          choices={[
            { value: '', label: texts.links.anyTag },
            ...tags.map(([name, count]) => ({ value: name, label: `${name} (${formatNumber(count)})` })),
          ]}
          onValue={value => setQuery({ tag: value })}
        />
        <Select
          label={texts.links.sort}
          value={sort}
          choices={sorts.map(value => ({ value, label: texts.links.sorts[value] }))}
          onValue={value => setQuery({ sort: value === 'newest' ? undefined : value })}
        />
      </div>
      {isFirstLoad && <Skeleton lines={8} tall />}
      {index.state === 'failed' && index.problem !== undefined && (
        <Failure problem={index.problem} onRetry={reloadLinks} />
      )}
      {!isFirstLoad && found.length > 0 && (
        <LinkList links={found} totals={totals} selected={selected} onSelected={setSelected} />
      )}
      {!isFirstLoad && found.length === 0 && isAsking && <Skeleton lines={3} tall />}
      {index.state !== 'failed' && found.length === 0 && !isAsking && (
        <NoLinks
          isFiltered={isFiltered}
          onClear={() => {
            setSearch('');
            setQuery({ search: undefined, status: undefined, tag: undefined });
          }}
        />
      )}
      {older.isNeeded && (
        <>
          <ProblemNotice problem={older.pages.problem} />
          <MorePages pages={older.pages} label={texts.links.older} />
          {search !== '' && <p class="quiet">{texts.links.olderNote}</p>}
        </>
      )}
      {chosen.length > 0 && <BulkBar links={chosen} shown={found} onSelected={setSelected} />}
    </>
  );
}

interface SearchBoxProps {
  readonly search: string;
  readonly onSearch: (search: string) => void;
}

function SearchBox({ search, onSearch }: SearchBoxProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div class="search-box">
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        class="input"
        value={search}
        placeholder={texts.links.searchHint}
        aria-label={texts.links.search}
        data-shortcut-search
        onInput={event => onSearch(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key === 'Escape') input.current?.blur();
        }}
      />
      <Key>/</Key>
    </div>
  );
}

interface NoLinksProps {
  readonly isFiltered: boolean;
  readonly onClear: () => void;
}

function NoLinks({ isFiltered, onClear }: NoLinksProps) {
  if (isFiltered) {
    return (
      <Empty icon="search" title={texts.links.noneFound} text={texts.links.noneFoundText}>
        <Button onClick={onClear}>{texts.links.clearFilters}</Button>
      </Empty>
    );
  }
  return (
    <Empty icon="link" title={texts.links.none} text={texts.links.noneText}>
      <CreateButton label={texts.links.createFirst} />
    </Empty>
  );
}

function countText(index: LinkIndex, found: number, isFiltered: boolean): string {
  const all = index.links.length;
  if (index.state === 'loading') return texts.links.counting(all);
  if (isFiltered) return texts.links.countOf(formatNumber(found), all);
  return index.state === 'partial' ? texts.links.countNewest(all) : texts.links.count(all);
}
