/**
 * A CPU profile (`bun --cpu-prof`) as a flame graph in SVG: `bun bench/kit/flame-graph.ts PROFILE SVG [TITLE]`. Width is
 * time, each function is above its caller. Functions with less than a thousandth of the time are left out.
 */

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

interface Flame {
  readonly name: string;
  us: number;
  readonly above: Map<string, Flame>;
}

const [width, rowHeight, fontSize, titleHeight] = [1_200, 16, 11, 24];
const shareMin = 0.001;
const charWidth = 6.2;
/** A thread is not sampled while it waits, so a longer time before a sample was idle. */
const sampleUsMax = 1_500;

/** Functions of the same name and file are one, whatever line they were called from. */
export function flamesOf({ nodes, samples, timeDeltas }: CpuProfile): Flame {
  const byId = new Map(nodes.map(node => [node.id, node]));
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map(child => [child, id] as const)),
  );
  const selfUs = new Map<number, number>();
  samples.forEach((id, place) => {
    const us = Math.min(sampleUsMax, Math.max(0, timeDeltas[place] ?? 0));
    selfUs.set(id, (selfUs.get(id) ?? 0) + us);
  });
  const root: Flame = { name: 'all', us: 0, above: new Map() };
  for (const [id, us] of selfUs) {
    const names: string[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const node: ProfileNode | undefined = byId.get(at);
      if (node !== undefined && node.callFrame.functionName !== '(root)') names.unshift(nameOf(node));
    }
    let flame = root;
    flame.us += us;
    for (const name of names) {
      const above: Flame = flame.above.get(name) ?? { name, us: 0, above: new Map() };
      flame.above.set(name, above);
      above.us += us;
      flame = above;
    }
  }
  return root;
}

function nameOf({ callFrame: { functionName, url } }: ProfileNode): string {
  const file = /(?:src|node_modules)\/.*$/.exec(url)?.[0].replace('src/', '') ?? '';
  return [functionName || '(anonymous)', file].filter(part => part !== '').join(' ');
}

export function renderFlames(root: Flame, title: string): string {
  const rows: string[] = [];
  let depthMax = 0;
  const draw = (flame: Flame, x: number, depth: number): void => {
    const share = flame.us / root.us;
    if (!(share >= shareMin)) return;
    depthMax = Math.max(depthMax, depth);
    rows.push(boxOf(flame, { x, depth, share }));
    let at = x;
    for (const above of [...flame.above.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      draw(above, at, depth + 1);
      at += (above.us / root.us) * width;
    }
  };
  draw(root, 0, 0);
  const height = titleHeight + (depthMax + 1) * rowHeight;
  const shownMs = (root.us / 1_000).toFixed(0);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="${fontSize}">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="4" y="16">${escaped(`${title}: ${shownMs} ms busy`)}</text>`,
    `<g transform="translate(0 ${titleHeight})">`,
    ...rows,
    '</g></svg>\n',
  ].join('\n');
}

function boxOf(
  { name, us }: Flame,
  { x, depth, share }: { x: number; depth: number; share: number },
): string {
  const boxWidth = share * width;
  const chars = Math.floor(boxWidth / charWidth) - 1;
  const y = depth * rowHeight;
  const hue = 10 + (Number(Bun.hash(name)) % 45);
  const label =
    chars < 3 ? '' : `<text x="${(x + 3).toFixed(1)}" y="${y + 12}">${escaped(name.slice(0, chars))}</text>`;
  const note = `${name}: ${(share * 100).toFixed(1)}%, ${(us / 1_000).toFixed(1)} ms`;
  return `<g><title>${escaped(note)}</title><rect x="${x.toFixed(1)}" y="${y}" width="${boxWidth.toFixed(1)}" height="${rowHeight - 1}" fill="hsl(${hue} 80% 70%)"/>${label}</g>`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

if (import.meta.main) {
  const [profile, target, title = 'CPU'] = process.argv.slice(2);
  if (profile === undefined || target === undefined) throw new Error('give a profile and a file to write');
  await Bun.write(target, renderFlames(flamesOf(await Bun.file(profile).json()), title));
}
