/** Many links at once: paste or drop them, see the problem of each row, create them, see the result of each row. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { systemRandom } from '../../../../base/random.ts';
import { texts } from '../../texts.ts';
import { createLinks, newLinksPerCall } from '../api/calls.ts';
import { isAbort, messageOfProblem } from '../api/request.ts';
import type { NewLinkResult } from '../api/types.ts';
import { formatNumber, withoutScheme } from '../format.ts';
import { putLinks } from '../state/links.ts';
import { closeOverlay } from '../state/router.ts';
import { Button, Icon } from '../ui/button.tsx';
import { CopyButton, saveFile } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, ProblemNotice } from '../ui/field.tsx';
import { callsOf, csvFile, csvOf, type ImportRow, importMax, readTable } from './link-table.ts';

const rowsShownMax = 200;

type Step =
  | { readonly kind: 'paste' }
  | { readonly kind: 'check' }
  | { readonly kind: 'run'; readonly abort: AbortController }
  /** With the problem that stopped it, if one did. */
  | { readonly kind: 'done'; readonly problem?: unknown };

export function ImportDialog({ text: given }: { readonly text: string }) {
  const [text, setText] = useState(given);
  const [step, setStep] = useState<Step>({ kind: given === '' ? 'paste' : 'check' });
  const [results, setResults] = useState<Results>(new Map());
  const read = useMemo(() => readTable(text), [text]);
  const rows = read.slice(0, importMax);
  const good = rows.filter(({ problem }) => problem === undefined);
  const isCreated = (row: ImportRow): boolean => results.get(row)?.link !== undefined;
  const created = good.filter(isCreated);
  const failed = good.filter(row => results.get(row)?.problem !== undefined);
  const left = good.length - created.length;
  const [importId] = useState(() => systemRandom.bytes(16).join('.'));

  /** Creates the remaining links: rows that failed, and rows that were not sent before it stopped. */
  const run = async (): Promise<void> => {
    const abort = new AbortController();
    setStep({ kind: 'run', abort });
    const soFar = new Map([...results].filter(([row]) => isCreated(row)));
    setResults(new Map(soFar));
    try {
      for (const call of callsOf(good, newLinksPerCall, isCreated)) {
        if (abort.signal.aborted) break;
        const fields = call.rows.map(row => row.fields);
        const answers = await createLinks(fields, `${importId}-${call.name}`, abort.signal);
        for (const [at, answer] of answers.entries()) soFar.set(call.rows[at]!, answer);
        putLinks(answers.flatMap(({ link }) => link ?? []));
        setResults(new Map(soFar));
      }
      setStep({ kind: 'done' });
    } catch (problem) {
      setStep(isAbort(problem) ? { kind: 'done' } : { kind: 'done', problem });
    }
  };
  const isFilled = text.trim() !== '' && (step.kind !== 'done' || left > 0);
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
          left={left}
          failed={failed.length}
          hasText={text.trim() !== ''}
          onCheck={() => setStep({ kind: 'check' })}
          onBack={() => setStep({ kind: 'paste' })}
          onRun={() => void run()}
          onDownload={() => saveResults(rows, results)}
        />
      }
    >
      {step.kind === 'paste' && (
        <PasteStep text={text} onText={setText} onFile={() => setStep({ kind: 'check' })} />
      )}
      {step.kind === 'check' && (
        <p role="status">
          {texts.importing.ready(good.length)}
          {good.length < rows.length && (
            <span class="import-flaws">{texts.importing.flawed(rows.length - good.length)}</span>
          )}
          {read.length > importMax && (
            <span class="import-flaws">{texts.importing.tooMany(formatNumber(importMax))}</span>
          )}
        </p>
      )}
      {step.kind === 'run' && <Progress done={results.size} all={good.length} />}
      {step.kind === 'done' && (
        <p role="status">
          {texts.importing.created(created.length)}
          {failed.length > 0 && <span class="import-flaws">{texts.importing.failed(failed.length)}</span>}
          {left > failed.length && <span class="import-flaws">{texts.importing.stopped}</span>}
        </p>
      )}
      {step.kind === 'done' && <ProblemNotice problem={step.problem} />}
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
  /** Valid rows that have no link yet, and those of them that the server rejected. */
  readonly left: number;
  readonly failed: number;
  readonly hasText: boolean;
  readonly onCheck: () => void;
  readonly onBack: () => void;
  readonly onRun: () => void;
  readonly onDownload: () => void;
}

function Footer({ step, left, failed, hasText, onCheck, onBack, onRun, onDownload }: FooterProps) {
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
          <Button kind="primary" disabled={left === 0} onClick={onRun}>
            {importing.submit(left)}
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
          {left > 0 && (
            <Button onClick={onRun}>
              {left > failed ? importing.submitRest(left) : importing.retry(formatNumber(left))}
            </Button>
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

/** Rows with a problem come first, because users look for them. */
function RowTable({ rows, results }: { readonly rows: readonly ImportRow[]; readonly results: Results }) {
  const sorted = useMemo(() => {
    const isFlawed = (row: ImportRow): number => (problemOf(row, results) === undefined ? 1 : 0);
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
            const problem = problemOf(row, results);
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

type Results = ReadonlyMap<ImportRow, NewLinkResult>;

function problemOf(row: ImportRow, results: Results): string | undefined {
  const problem = results.get(row)?.problem;
  return row.problem ?? (problem && messageOfProblem(problem));
}

function saveResults(rows: readonly ImportRow[], results: Results): void {
  const lines = rows.map(row => [
    row.number,
    row.fields.longUrl,
    results.get(row)?.link?.shortUrl ?? null,
    problemOf(row, results) ?? null,
  ]);
  const text = csvOf([['row', 'longUrl', 'shortUrl', 'problem'], ...lines]);
  saveFile('terse-import.csv', csvFile(text));
}
