/** Many links at once: paste or drop them, see what is wrong with which row, create them, see what became of each. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { createLinks } from '../api/calls.ts';
import { messageOf } from '../api/request.ts';
import type { NewLinkResult } from '../api/types.ts';
import { formatNumber, withoutScheme } from '../format.ts';
import { putLinks } from '../state/links.ts';
import { closeOverlay } from '../state/router.ts';
import { Button, Icon } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { saveFile } from '../ui/download.ts';
import { Field } from '../ui/field.tsx';
import { showProblem } from '../ui/toast.tsx';
import { csvOf, type ImportRow, importMax, readTable } from './link-table.ts';

const rowsShownMax = 200;

type Step =
  | { readonly kind: 'paste' }
  | { readonly kind: 'check' }
  | { readonly kind: 'run'; readonly abort: AbortController }
  | { readonly kind: 'done'; readonly isStopped: boolean };

export function ImportDialog({ text: given }: { readonly text: string }) {
  const [text, setText] = useState(given);
  const [step, setStep] = useState<Step>({ kind: given === '' ? 'paste' : 'check' });
  const [results, setResults] = useState<ReadonlyMap<ImportRow, NewLinkResult>>(new Map());
  const read = useMemo(() => readTable(text), [text]);
  const rows = read.slice(0, importMax);
  const good = rows.filter(({ problem }) => problem === undefined);
  const failed = good.filter(row => results.get(row)?.problem !== undefined);
  const created = [...results.values()].flatMap(({ link }) => link ?? []);

  const run = async (wanted: readonly ImportRow[]): Promise<void> => {
    const abort = new AbortController();
    setStep({ kind: 'run', abort });
    const soFar = new Map([...results].filter(([row]) => !wanted.includes(row)));
    setResults(new Map(soFar));
    let next = 0;
    const take = (answers: readonly NewLinkResult[]): void => {
      for (const answer of answers) {
        soFar.set(wanted[next]!, answer);
        next += 1;
      }
      putLinks(answers.flatMap(({ link }) => link ?? []));
      setResults(new Map(soFar));
    };
    try {
      await createLinks(
        wanted.map(({ fields }) => fields),
        take,
        abort.signal,
      );
    } catch (error) {
      showProblem(error);
    }
    setStep({ kind: 'done', isStopped: next < wanted.length });
  };
  const isFilled = text.trim() !== '' && step.kind !== 'done';
  return (
    <Dialog
      title={texts.importing.title}
      size="large"
      onClose={() => {
        if (step.kind === 'run') step.abort.abort();
        closeOverlay();
      }}
      question={isFilled ? texts.discard : undefined}
      footer={
        <Footer
          step={step}
          good={good}
          failed={failed}
          hasText={text.trim() !== ''}
          onCheck={() => setStep({ kind: 'check' })}
          onBack={() => setStep({ kind: 'paste' })}
          onRun={rows => void run(rows)}
          onDownload={() => saveResults(rows, results)}
        />
      }
    >
      {step.kind === 'paste' && (
        <PasteStep text={text} onText={setText} onFile={() => setStep({ kind: 'check' })} />
      )}
      {step.kind === 'check' && (
        <p role="status">
          {texts.importing.ready(good.length, formatNumber(good.length))}
          {good.length < rows.length && (
            <span class="import-flaws">
              {texts.importing.flawed(rows.length - good.length, formatNumber(rows.length - good.length))}
            </span>
          )}
          {read.length > importMax && (
            <span class="import-flaws">{texts.importing.tooMany(formatNumber(importMax))}</span>
          )}
        </p>
      )}
      {step.kind === 'run' && <Progress done={results.size} all={good.length} />}
      {step.kind === 'done' && (
        <p role="status">
          {texts.importing.created(created.length, formatNumber(created.length))}
          {failed.length > 0 && (
            <span class="import-flaws">
              {texts.importing.failed(failed.length, formatNumber(failed.length))}
            </span>
          )}
          {step.isStopped && <span class="import-flaws">{texts.importing.stopped}</span>}
        </p>
      )}
      {step.kind !== 'paste' && <RowTable rows={rows} results={results} />}
    </Dialog>
  );
}

function Progress({ done, all }: { readonly done: number; readonly all: number }) {
  return (
    <div class="import-progress">
      <progress value={done} max={Math.max(all, 1)} aria-label={texts.importing.progressLabel} />
      <p role="status">{texts.importing.progress(formatNumber(done), formatNumber(all))}</p>
    </div>
  );
}

interface FooterProps {
  readonly step: Step;
  readonly good: readonly ImportRow[];
  readonly failed: readonly ImportRow[];
  readonly hasText: boolean;
  readonly onCheck: () => void;
  readonly onBack: () => void;
  readonly onRun: (rows: readonly ImportRow[]) => void;
  readonly onDownload: () => void;
}

function Footer({ step, good, failed, hasText, onCheck, onBack, onRun, onDownload }: FooterProps) {
  const { importing } = texts;
  switch (step.kind) {
    case 'paste':
      return (
        <Button kind="primary" disabled={!hasText} onClick={onCheck}>
          {importing.check}
        </Button>
      );
    case 'check':
      return (
        <>
          <Button kind="quiet" onClick={onBack}>
            {importing.back}
          </Button>
          <Button kind="primary" disabled={good.length === 0} onClick={() => onRun(good)}>
            {importing.submit(good.length, formatNumber(good.length))}
          </Button>
        </>
      );
    case 'run':
      return <Button onClick={() => step.abort.abort()}>{importing.stop}</Button>;
    case 'done':
      return (
        <>
          <Button icon="download" onClick={onDownload}>
            {importing.download}
          </Button>
          {failed.length > 0 && (
            <Button onClick={() => onRun(failed)}>{importing.retry(formatNumber(failed.length))}</Button>
          )}
          <Button kind="primary" onClick={closeOverlay}>
            {importing.done}
          </Button>
        </>
      );
  }
}

function PasteStep({
  text,
  onText,
  onFile,
}: {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onFile: () => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const [problem, setProblem] = useState<string>();
  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    const content = await file.text().catch(() => '\0');
    if (content.includes('\0')) return setProblem(texts.importing.unreadable);
    onText(content);
    onFile();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping a file is a second way; the button is the first.
    <div
      class={isOver ? 'import-drop over' : 'import-drop'}
      onDragOver={event => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={event => {
        event.preventDefault();
        setOver(false);
        const dropped = event.dataTransfer?.getData('text/plain') ?? '';
        if (dropped !== '') onText(dropped);
        else void take(event.dataTransfer?.files[0]);
      }}
    >
      <Field label={texts.importing.paste} help={texts.importing.pasteHelp} problem={problem}>
        {ids => (
          <textarea
            {...ids}
            class="input import-text"
            rows={9}
            value={text}
            placeholder={texts.importing.pasteHint}
            spellcheck={false}
            data-autofocus
            onInput={event => onText(event.currentTarget.value)}
          />
        )}
      </Field>
      <input
        ref={input}
        type="file"
        class="visually-hidden"
        tabIndex={-1}
        aria-label={texts.importing.file}
        accept=".csv,.tsv,.txt,text/csv,text/plain"
        onChange={event => void take(event.currentTarget.files?.[0])}
      />
      <Button icon="upload" onClick={() => input.current?.click()}>
        {isOver ? texts.importing.drop : texts.importing.file}
      </Button>
    </div>
  );
}

/** Rows with a problem come first: they are why someone looks. */
function RowTable({
  rows,
  results,
}: {
  readonly rows: readonly ImportRow[];
  readonly results: ReadonlyMap<ImportRow, NewLinkResult>;
}) {
  const problemOf = (row: ImportRow): string | undefined =>
    row.problem ?? results.get(row)?.problem?.detail ?? results.get(row)?.problem?.title;
  const sorted = useMemo(() => {
    const isFlawed = (row: ImportRow): number => (problemOf(row) === undefined ? 1 : 0);
    return rows.toSorted((a, b) => isFlawed(a) - isFlawed(b)).slice(0, rowsShownMax);
  }, [rows, results]);
  const { tableHeads, rowReady } = texts.importing;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard has to be able to scroll it.
    <section class="import-table" tabIndex={0} aria-label={texts.importing.table}>
      <table>
        <thead>
          <tr>
            <th>{tableHeads.row}</th>
            <th>{tableHeads.destination}</th>
            <th>{tableHeads.alias}</th>
            <th>{tableHeads.state}</th>
          </tr>
        </thead>
        <tbody>
          {sorted.map(row => {
            const problem = problemOf(row);
            const link = results.get(row)?.link;
            return (
              <tr key={row.number} class={problem === undefined ? '' : 'flawed'}>
                <td>{formatNumber(row.number)}</td>
                <td class="import-address">
                  <bdi>{withoutScheme(row.fields.longUrl)}</bdi>
                </td>
                <td>{row.fields.customAlias ?? ''}</td>
                <td>
                  {problem !== undefined ? (
                    <span class="import-problem">
                      <Icon name="ban" size={14} /> {problem}
                    </span>
                  ) : link !== undefined ? (
                    <span class="import-made">
                      {withoutScheme(link.shortUrl)}
                      <CopyButton text={link.shortUrl} label={texts.links.copy(link.shortCode)} />
                    </span>
                  ) : (
                    <span class="quiet">{rowReady}</span>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length > sorted.length && (
        <p class="quiet">
          {texts.importing.shownRows(formatNumber(sorted.length), formatNumber(rows.length))}
        </p>
      )}
    </section>
  );
}

function saveResults(rows: readonly ImportRow[], results: ReadonlyMap<ImportRow, NewLinkResult>): void {
  const lines = rows.map(row => {
    const result = results.get(row);
    const problem =
      row.problem ??
      (result?.problem === undefined
        ? null
        : messageOf(new Error(result.problem.detail ?? result.problem.title)));
    return [row.number, row.fields.longUrl, result?.link?.shortUrl ?? null, problem];
  });
  const text = csvOf([['row', 'longUrl', 'shortUrl', 'problem'], ...lines]);
  saveFile('terse-import.csv', new Blob([text], { type: 'text/csv' }));
}
