/** Everything about one link that a decision needs, and the decision. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { addNote } from '../api/calls.ts';
import type { Case, Decision } from '../api/types.ts';
import { formatAgo, formatMoment } from '../format.ts';
import { SafeAddress, StatusBadge } from '../links/link-details.tsx';
import { Button, Key } from '../ui/button.tsx';
import { showProblem } from '../ui/toast.tsx';
import { CaseHistory, signalIn } from './history.tsx';
import { levelOf, Score } from './queue-page.tsx';

interface CaseViewProps {
  readonly shown: Case;
  readonly reason: string;
  readonly onReason: (reason: string) => void;
  readonly isBusy: boolean;
  readonly onDecide: (decision: Decision) => void;
  readonly onCase: (next: Case) => void;
}

export const decisionKeys: Readonly<Record<Decision, string>> = { allow: 'a', quarantine: 'q', block: 'b' };

export function CaseView({ shown, reason, onReason, isBusy, onDecide, onCase }: CaseViewProps) {
  const { link, ownerName, review, reports, history } = shown;
  const score = review?.score ?? link.risk?.score ?? 0;
  return (
    <article class="case card" aria-label={texts.queue.case(link.shortCode)}>
      <header class="case-header">
        <Score value={score} />
        <div>
          <h2>/{link.shortCode}</h2>
          <p class="quiet">
            {texts.links.created(formatAgo(link.createdAt))} ·{' '}
            {link.ownerId === null ? texts.queue.anonymous : texts.queue.by(ownerName ?? link.ownerId)}
          </p>
        </div>
        <StatusBadge status={link.status} />
      </header>
      <p class="case-address">
        <SafeAddress address={link.longUrl} />
      </p>
      {link.title !== null && <p class="quiet">{link.title}</p>}
      <h3>{texts.queue.reasons}</h3>
      {link.risk === null || link.risk.reasons.length === 0 ? (
        <p class="quiet">{texts.queue.noReasons}</p>
      ) : (
        <ul class="reasons">
          {link.risk.reasons.map(text => (
            <Reason key={text} text={text} />
          ))}
        </ul>
      )}
      {review?.appeal !== null && review?.appeal !== undefined && (
        <>
          <h3>{texts.queue.appealTitle}</h3>
          <blockquote title={formatMoment(review.appeal.at)}>{review.appeal.text}</blockquote>
        </>
      )}
      {reports.length > 0 && (
        <>
          <h3>{texts.queue.reportsTitle(reports.length)}</h3>
          <ul class="report-list">
            {reports.map(report => (
              <li key={report.at + report.category}>
                <span class="badge badge-quarantined">
                  {texts.queue.categories[report.category] ?? report.category}
                </span>{' '}
                <span class="quiet">
                  {formatAgo(report.at)}
                  {report.times > 1 && ` · ×${report.times}`}
                </span>
                {report.text !== null && <p>{report.text}</p>}
              </li>
            ))}
          </ul>
        </>
      )}
      <DecisionForm score={score} reason={reason} onReason={onReason} isBusy={isBusy} onDecide={onDecide} />
      <NoteForm code={link.shortCode} onCase={onCase} />
      {history.entries.length > 0 && (
        <>
          <h3>{texts.history.title}</h3>
          <CaseHistory code={link.shortCode} first={history} />
        </>
      )}
    </article>
  );
}

/** “phishingWords (+20): login, verify” split into its parts; any other text unchanged. */
function Reason({ text }: { readonly text: string }) {
  const { signal, weight, detail } = signalIn(text);
  if (weight === undefined) return <li>{text}</li>;
  return (
    <li>
      <span class="badge badge-quarantined">{weight}</span>
      <strong>{signal}</strong>
      <bdi class="quiet">{detail}</bdi>
    </li>
  );
}

interface DecisionFormProps extends Omit<CaseViewProps, 'shown' | 'onCase'> {
  readonly score: number;
}

const decisions: readonly Decision[] = ['allow', 'quarantine', 'block'];

/** The button that stands out is the decision that the risk suggests. */
function DecisionForm({ score, reason, onReason, isBusy, onDecide }: DecisionFormProps) {
  const suggested = levelOf(score).decision;
  const kindOf = (decision: Decision) => {
    if (decision !== suggested) return decision === 'block' ? 'danger' : 'plain';
    return decision === 'block' ? 'alarm' : 'primary';
  };
  return (
    <div class="decision">
      <input
        class="input"
        value={reason}
        maxLength={1000}
        aria-label={texts.queue.reason}
        placeholder={texts.queue.reason}
        onInput={event => onReason(event.currentTarget.value)}
        onKeyDown={leaveOnEscape}
      />
      <div class="button-row">
        {decisions.map(decision => (
          <Button key={decision} kind={kindOf(decision)} busy={isBusy} onClick={() => onDecide(decision)}>
            {texts.queue.decisions[decision]} <Key>{decisionKeys[decision].toUpperCase()}</Key>
          </Button>
        ))}
      </div>
    </div>
  );
}

/** Leaves the field, so that the shortcuts of the page work again; the text stays. */
function leaveOnEscape(event: KeyboardEvent): void {
  if (event.key !== 'Escape') return;
  event.preventDefault();
  (event.currentTarget as HTMLElement).blur();
}

function NoteForm({ code, onCase }: { readonly code: string; readonly onCase: (next: Case) => void }) {
  const [text, setText] = useState('');
  const submit = async (): Promise<void> => {
    try {
      onCase(await addNote(code, text.trim()));
      setText('');
    } catch (error) {
      showProblem(error);
    }
  };
  return (
    <form
      class="note-form"
      onSubmit={event => {
        event.preventDefault();
        if (text.trim() !== '') void submit();
      }}
    >
      <input
        class="input"
        value={text}
        maxLength={2000}
        aria-label={texts.queue.note}
        placeholder={texts.queue.note}
        onInput={event => setText(event.currentTarget.value)}
        onKeyDown={leaveOnEscape}
      />
      <Button type="submit" disabled={text.trim() === ''}>
        {texts.queue.addNote}
      </Button>
    </form>
  );
}
