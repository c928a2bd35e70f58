/** Results of the risk score on the two corpora, as tables for docs/abuse.md; the test uses the same figures. */
import { defaultThresholds } from '../../src/abuse/judge.ts';
import { type Risk, riskOf } from '../../src/abuse/risk.ts';
import { type Circumstances, riskSignals, signalNames } from '../../src/abuse/risk-signals.ts';
import { benignUrls } from '../corpus/benign-urls.ts';
import { phishingUrls } from '../corpus/phishing-urls.ts';

const bandWidth = 10;
const bands = Array.from({ length: 11 }, (_, index) => index * bandWidth);
/** Circumstances that a URL does not show, one table column each. */
const circumstances: Readonly<Record<string, Circumstances>> = {
  'the URL alone': {},
  'made in a hurry': { createdLastHour: 1_000 },
  'domain known to be new': { domainAgeDays: 2 },
};

export interface CorpusFigures {
  readonly benign: readonly Risk[];
  readonly known: readonly Risk[];
  readonly heldOut: readonly Risk[];
}

export function corpusFigures(given: Circumstances = {}): CorpusFigures {
  const phishing = phishingUrls();
  const score = (url: string): Risk => riskOf(url, given);
  return {
    benign: benignUrls().map(score),
    known: phishing.filter(({ heldOut }) => !heldOut).map(({ url }) => score(url)),
    heldOut: phishing.filter(({ heldOut }) => heldOut).map(({ url }) => score(url)),
  };
}

/** The share whose score is above the threshold. */
export function shareAbove(risks: readonly Risk[], threshold: number): number {
  return risks.filter(({ score }) => score > threshold).length / risks.length;
}

export function signalTable(): string {
  return markdown(
    ['Signal', 'Weight', 'What it means'],
    signalNames.map(name => [`\`${name}\``, `+${riskSignals[name].weight}`, riskSignals[name].doc]),
  );
}

export function corpusTables(): string {
  const figures = corpusFigures();
  return [
    outcomes(),
    'Scores:',
    distribution(figures),
    'Detected by recipe (score above 60):',
    byRecipe(),
    'Which signals fired:',
    fired(figures),
  ].join('\n\n');
}

function outcomes(): string {
  const { quarantine, block } = defaultThresholds;
  const rows = Object.entries(circumstances).flatMap(([name, given]) => {
    const { benign, known, heldOut } = corpusFigures(given);
    const row = (what: string, threshold: number): string[] => [
      name,
      what,
      ...[benign, known, heldOut].map(risks => percent(shareAbove(risks, threshold))),
    ];
    return [
      row(`quarantined or blocked (> ${quarantine})`, quarantine),
      row(`of these blocked (> ${block})`, block),
    ];
  });
  const { benign, known, heldOut } = corpusFigures();
  return markdown(
    [
      'Circumstances',
      'Outcome',
      `Benign (${benign.length})`,
      `Phishing, known recipes (${known.length})`,
      `Phishing, held-out recipes (${heldOut.length})`,
    ],
    rows,
  );
}

function distribution({ benign, known, heldOut }: CorpusFigures): string {
  const inBand = (risks: readonly Risk[], from: number): string =>
    String(risks.filter(({ score }) => Math.floor(score / bandWidth) * bandWidth === from).length);
  return markdown(
    ['Score', 'Benign', 'Phishing, known', 'Phishing, held out'],
    bands.map(from => [
      from === 100 ? '100' : `${from}–${from + bandWidth - 1}`,
      ...[benign, known, heldOut].map(risks => inBand(risks, from)),
    ]),
  );
}

function byRecipe(): string {
  const recipes = Map.groupBy(phishingUrls(), ({ recipe }) => recipe);
  return markdown(
    ['Recipe', 'Held out', 'URLs', 'Detected', 'Example'],
    [...recipes].map(([recipe, urls]) => {
      const risks = urls.map(({ url }) => riskOf(url));
      const detected = percent(shareAbove(risks, defaultThresholds.quarantine));
      return [recipe, urls[0]!.heldOut ? 'yes' : '', String(urls.length), detected, `\`${urls[0]!.url}\``];
    }),
  );
}

function fired({ benign, known, heldOut }: CorpusFigures): string {
  const share = (risks: readonly Risk[], name: string): string =>
    percent(
      risks.filter(({ reasons }) => reasons.some(({ signal }) => signal === name)).length / risks.length,
    );
  return markdown(
    ['Signal', 'Benign', 'Phishing, known', 'Phishing, held out'],
    signalNames
      .map(name => [`\`${name}\``, ...[benign, known, heldOut].map(risks => share(risks, name))])
      .filter(([, ...shares]) => shares.some(text => text !== '0.0%')),
  );
}

const percent = (share: number): string => `${(share * 100).toFixed(1)}%`;

export function markdown(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
