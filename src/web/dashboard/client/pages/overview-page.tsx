/** All links together: the number of clicks, the top links, the sources. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { listAccounts } from '../api/calls.ts';
import type { AccountView } from '../api/types.ts';
import { tagsOf } from '../links/find.ts';
import { useResource } from '../state/connection.ts';
import { ensureLinks, linkIndex } from '../state/links.ts';
import { hrefOf, openOverlay, setQuery, usePlace } from '../state/router.ts';
import { useStore } from '../state/store.ts';
import { TopLinks } from '../stats/breakdowns.tsx';
import { ClickLog } from '../stats/click-log.tsx';
import { StatsView } from '../stats/stats-view.tsx';
import { useStats } from '../stats/use-stats.ts';
import { Icon, IconButton, Key } from '../ui/button.tsx';
import { Select } from '../ui/field.tsx';
import { CreateButton, Empty, PageHeader } from '../ui/page.tsx';

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

interface ChecklistProps {
  readonly account: AccountView;
  readonly hasLinks: boolean;
  readonly hasClicks: boolean;
}

type StepName = keyof typeof texts.checklist.steps;

interface Step {
  readonly name: StepName;
  readonly isDone: boolean;
  /** The page where the step is done; undefined for a step that needs no page. */
  readonly href?: string;
  readonly onClick?: () => void;
}

const hiddenKey = ({ id }: AccountView): string => `terse-checklist-hidden-${id}`;

function Checklist(props: ChecklistProps) {
  const { account } = props;
  const [isHidden, setHidden] = useState(() => localStorage.getItem(hiddenKey(account)) !== null);
  if (isHidden) return null;
  const hide = (): void => {
    localStorage.setItem(hiddenKey(account), 'yes');
    setHidden(true);
  };
  return <OpenChecklist {...props} onHide={hide} />;
}

function OpenChecklist({ account, hasLinks, hasClicks, onHide }: ChecklistProps & { onHide: () => void }) {
  const isAdmin = account.role === 'admin';
  const accounts = useResource('checklist', async signal =>
    isAdmin ? (await listAccounts(undefined, signal)).accounts.length : 1,
  );
  const steps: readonly Step[] = [
    { name: 'password', isDone: account.hasPassword, href: hrefOf('/account') },
    { name: 'link', isDone: hasLinks, onClick: () => openOverlay({ kind: 'create', longUrl: '' }) },
    { name: 'click', isDone: hasClicks, ...(hasLinks && { href: hrefOf('/links') }) },
    ...(isAdmin
      ? [{ name: 'invite', isDone: (accounts.value ?? 1) > 1, href: hrefOf('/accounts') } as const]
      : []),
  ];
  const done = steps.filter(({ isDone }) => isDone).length;
  // A user who has done everything before never sees the list; one who finishes it now sees the last tick.
  const wasOpen = useRef(false);
  if (accounts.value === undefined || (done === steps.length && !wasOpen.current)) return null;
  wasOpen.current = true;
  return (
    <section class="card checklist" aria-label={texts.checklist.title}>
      <header class="card-header">
        <h2>{texts.checklist.title}</h2>
        <span class="quiet checklist-progress" role="status">
          {texts.checklist.progress(done, steps.length)}
        </span>
        <IconButton label={texts.checklist.dismiss} icon="close" onClick={onHide} />
      </header>
      <ol>
        {steps.map(step => (
          <StepRow key={step.name} step={step} />
        ))}
      </ol>
    </section>
  );
}

function StepRow({ step: { name, isDone, href, onClick } }: { readonly step: Step }) {
  const { label, help } = texts.checklist.steps[name];
  return (
    <li class={isDone ? 'step step-done' : 'step'}>
      <span class="step-mark" aria-hidden="true">
        {isDone && <Icon name="check" size={14} />}
      </span>
      <div>
        {isDone ? (
          <>
            <span class="visually-hidden">{texts.checklist.done}</span> {label}
          </>
        ) : href !== undefined ? (
          <a href={href}>{label}</a>
        ) : onClick !== undefined ? (
          <button type="button" class="link-like" onClick={onClick}>
            {label}
          </button>
        ) : (
          label
        )}
        {!isDone && <p class="quiet">{help}</p>}
      </div>
    </li>
  );
}
