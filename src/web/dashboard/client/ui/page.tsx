/** The parts of every page: header, banner, table, and placeholders for what is empty, still loading, or failed. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import { type ApiProblem, messageOf } from '../api/request.ts';
import { chooseLanguage, language, languageNames, languages } from '../language.ts';
import { connection, type Pages, type Resource, retryNow } from '../state/connection.ts';
import { areShortcutsOn, hrefOf, openOverlay, switchShortcuts } from '../state/router.ts';
import { useStore } from '../state/store.ts';
import { Button, Icon, type IconName, LinkButton } from './button.tsx';
import { ProblemNotice, Segments, Switch } from './field.tsx';
import { showProblem } from './toast.tsx';

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  readonly text?: string;
  readonly children?: ComponentChildren;
}

export function Empty({ icon, title, text, children }: EmptyProps) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} size={24} />
      </span>
      <h2>{title}</h2>
      {text !== undefined && <p>{text}</p>}
      {children !== undefined && <div class="empty-actions">{children}</div>}
    </div>
  );
}

export function Failure({
  problem,
  onRetry,
}: {
  readonly problem: ApiProblem | Error;
  readonly onRetry: () => void;
}) {
  return (
    <div class="empty" role="alert">
      <span class="empty-icon empty-problem">
        <Icon name="cloudOff" size={24} />
      </span>
      <h2>{texts.errors.title}</h2>
      <p>{messageOf(problem)}</p>
      <div class="empty-actions">
        <Button icon="refresh" onClick={onRetry}>
          {texts.actions.retry}
        </Button>
      </div>
    </div>
  );
}

/** Grey bars where lines will be. */
export function Skeleton({ lines = 3, tall = false }: { readonly lines?: number; readonly tall?: boolean }) {
  return (
    <div class="skeleton" role="status" aria-label={texts.loading}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class={tall ? 'bar bar-tall' : 'bar'} />
      ))}
    </div>
  );
}

/** Shows the value of a resource, below the error of a later reload; a placeholder until it is loaded. */
export function Loaded<Value>({
  resource,
  skeleton = <Skeleton />,
  missing,
  children,
}: {
  readonly resource: Resource<Value>;
  readonly skeleton?: ComponentChildren;
  /** Shown if the resource does not exist; by default, a message with a link to the overview. */
  readonly missing?: ComponentChildren;
  readonly children: (value: Value) => ComponentChildren;
}) {
  const { problem } = resource;
  if (resource.value !== undefined)
    return (
      <>
        <ProblemNotice problem={problem} />
        {children(resource.value)}
      </>
    );
  if (problem === undefined) return <>{skeleton}</>;
  if (problem.status !== 404 && problem.status !== 410)
    return <Failure problem={problem} onRetry={resource.reload} />;
  if (missing !== undefined) return <>{missing}</>;
  return (
    <Empty icon="search" title={texts.missing.title} text={messageOf(problem)}>
      <LinkButton href={hrefOf('/')}>{texts.missing.home}</LinkButton>
    </Empty>
  );
}

/** The button below a list that goes on. */
export function MorePages({
  pages,
  label,
  isQuiet = false,
}: {
  readonly pages: Pages<{ readonly nextCursor: string | null }>;
  readonly label: string;
  readonly isQuiet?: boolean;
}) {
  return (
    <>
      <ProblemNotice problem={pages.moreProblem} />
      {pages.value !== undefined && pages.value.nextCursor !== null && (
        <Button
          busy={pages.isReadingMore}
          onClick={pages.more}
          {...(isQuiet && { kind: 'quiet', small: true, class: 'show-all' })}
        >
          {label}
        </Button>
      )}
    </>
  );
}

/** The heading of a page that was loading passes the focus on to that of the page itself. */
let headingHadFocus = false;

/** A page's first heading, which is also its name in the browser's tab and history. */
export function PageHeader({
  title,
  note,
  isLive = false,
  children,
}: {
  readonly title: string;
  readonly note?: string;
  /** Whether a screen reader reads the note out when it changes. */
  readonly isLive?: boolean;
  readonly children?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${texts.product}`;
  }, [title]);
  useEffect(() => {
    if (headingHadFocus) heading.current?.focus({ preventScroll: true });
    headingHadFocus = false;
    return () => {
      headingHadFocus = document.activeElement === heading.current;
    };
  }, []);
  return (
    <header class="page-header">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {note !== undefined && (
          <p class="page-note" role={isLive ? 'status' : undefined}>
            {note}
          </p>
        )}
      </div>
      {children !== undefined && <div class="page-actions">{children}</div>}
    </header>
  );
}

/** Shows that the server cannot be reached and when the next attempt is, and offers to retry now. */
export function ConnectionBanner() {
  const { isDown, retryAtMs } = useStore(connection);
  const [nowMs, setNowMs] = useState(browserClock.now);
  useEffect(() => {
    if (!isDown) return;
    setNowMs(browserClock.now());
    return browserClock.every(500, () => setNowMs(browserClock.now()));
  }, [isDown]);
  if (!isDown) return null;
  const seconds = Math.max(0, Math.ceil((retryAtMs - nowMs) / 1_000));
  return (
    <div class="banner" role="alert">
      <Icon name="cloudOff" />
      <p>
        <strong>{texts.connection.down}</strong>{' '}
        <span aria-hidden="true">{texts.connection.retryIn(seconds)}</span>
      </p>
      <Button small onClick={retryNow}>
        {texts.connection.retryNow}
      </Button>
    </div>
  );
}

interface ActionTableProps {
  readonly heads: readonly string[];
  readonly actions?: string;
  readonly children: ComponentChildren;
}

/** A table in a card whose last column holds the actions of a row. */
export function ActionTable({ heads, actions = texts.keys.actions, children }: ActionTableProps) {
  return (
    <div class="card table-card">
      <table>
        <thead>
          <tr>
            {heads.map(head => (
              <th key={head}>{head}</th>
            ))}
            <th>
              <span class="visually-hidden">{actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function CreateButton({
  label = texts.actions.create,
  ...rest
}: {
  readonly label?: string;
  readonly class?: string;
}) {
  return (
    <Button kind="primary" icon="plus" {...rest} onClick={() => openOverlay({ kind: 'create', longUrl: '' })}>
      {label}
    </Button>
  );
}

export function LanguageSegments() {
  return (
    <Segments
      label={texts.nav.language}
      value={useStore(language)}
      choices={languageNames.map(value => ({ value, label: languages[value], lang: value }))}
      onValue={choice => void chooseLanguage(choice).catch(showProblem)}
    />
  );
}

export function ShortcutSwitch() {
  const [isOn, setOn] = useState(areShortcutsOn);
  return (
    <Switch
      label={texts.help.single}
      help={texts.help.singleHelp}
      checked={isOn}
      onChange={next => {
        switchShortcuts(next);
        setOn(next);
      }}
    />
  );
}
