/**
 * The metrics and labels in a query of Prometheus. Not a parser: it supports the part of the language that our own
 * rules and boards use, and no closing brace inside of a text.
 */
export interface Selector {
  readonly metric: string;
  /** The names of the labels that it matches by. */
  readonly labels: readonly string[];
  /** The selector as written in the query. */
  readonly text: string;
}

export interface NamedInQuery {
  readonly selectors: readonly Selector[];
  /** The labels by which results are grouped or put together. */
  readonly grouping: readonly string[];
}

const word = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const groupingPattern = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
const selectorPattern = new RegExp(`(${word})\\s*(\\{[^}]*\\})?(\\s*\\()?`, 'g');
const labelPattern = new RegExp(`(${word})\\s*(?:=~|!~|!=|=)\\s*"(?:[^"\\\\]|\\\\.)*"`, 'g');
const operators = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan']);

export function namedIn(query: string): NamedInQuery {
  const grouping: string[] = [];
  const withoutGrouping = query.replaceAll(groupingPattern, (_, list: string) => {
    grouping.push(
      ...list
        .split(',')
        .map(label => label.trim())
        .filter(label => label !== ''),
    );
    return ' ';
  });
  // Removes ranges and numbers, but not inside of braces.
  const plain = withoutGrouping.replaceAll(/\{[^}]*\}|\[[^\]]*\]|\b\d[\w.]*/g, part =>
    part.startsWith('{') ? part : ' ',
  );
  const selectors: Selector[] = [];
  for (const [, metric = '', matchers = '', call] of plain.matchAll(selectorPattern)) {
    if (call !== undefined || operators.has(metric.toLowerCase())) continue;
    const labels = [...matchers.matchAll(labelPattern)].map(([, label = '']) => label);
    selectors.push({ metric, labels, text: `${metric}${matchers}` });
  }
  return { selectors, grouping };
}
