/**
 * The little of SVG that our plots need: elements as text, and a sheet with its own background and colours for
 * light and dark, because nobody knows the page it will be looked at on.
 */
export type Attributes = Readonly<Record<string, string | number>>;

export function element(name: string, attributes: Attributes, content = ''): string {
  const pairs = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeText(typeof value === 'number' ? short(value) : value)}"`)
    .join('');
  return content === '' ? `<${name}${pairs}/>` : `<${name}${pairs}>${content}</${name}>`;
}

export function text(x: number, y: number, content: string, attributes: Attributes = {}): string {
  return element('text', { x, y, ...attributes }, escapeText(content));
}

/** A tenth of a pixel is finer than anybody sees, and a file without noise is easier to compare. */
function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}

export function escapeText(value: string): string {
  return value
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Colours of the series in a plot, in order; told apart by people who do not see all colours as well. */
export const seriesCount = 4;

const style = `
  .sheet { fill: #ffffff; }
  text { fill: #24292f; font: 12px system-ui, sans-serif; }
  .title { font-size: 14px; font-weight: 600; }
  .quiet { fill: #6e7781; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .mark { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 5 4; }
  .mark-text { fill: #cf222e; }
  .line { fill: none; stroke-width: 1.75; stroke-linejoin: round; }
  .spread { stroke-width: 3; stroke-linecap: round; opacity: 0.35; }
  .s0 { stroke: #0969da; } .f0 { fill: #0969da; }
  .s1 { stroke: #bc4c00; } .f1 { fill: #bc4c00; }
  .s2 { stroke: #1a7f37; } .f2 { fill: #1a7f37; }
  .s3 { stroke: #8250df; } .f3 { fill: #8250df; }
  @media (prefers-color-scheme: dark) {
    .sheet { fill: #0d1117; }
    text { fill: #e6edf3; }
    .quiet { fill: #9198a1; }
    .grid { stroke: #30363d; }
    .mark { stroke: #ff7b72; } .mark-text { fill: #ff7b72; }
    .s0 { stroke: #58a6ff; } .f0 { fill: #58a6ff; }
    .s1 { stroke: #f0883e; } .f1 { fill: #f0883e; }
    .s2 { stroke: #3fb950; } .f2 { fill: #3fb950; }
    .s3 { stroke: #bc8cff; } .f3 { fill: #bc8cff; }
  }
`;

export function sheet(width: number, height: number, title: string, parts: readonly string[]): string {
  const content = [
    element('title', {}, escapeText(title)),
    `<style>${style}</style>`,
    element('rect', { class: 'sheet', width, height, rx: 6 }),
    text(16, 26, title, { class: 'title' }),
    ...parts,
  ];
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
  };
  return `${element('svg', attributes, `\n${content.join('\n')}\n`)}\n`;
}

/** Names of the series in their colours, from left to right. */
export function legend(x: number, y: number, names: readonly string[]): string {
  let left = x;
  return names
    .map((name, index) => {
      const item =
        element('circle', { class: `f${index % seriesCount}`, cx: left + 4, cy: y - 4, r: 4 }) +
        text(left + 13, y, name);
      left += 30 + name.length * 6.7;
      return item;
    })
    .join('\n');
}
