/** The enricher of a click thread, made from the settings; and a word about a country database that cannot be read. */
import { readFileSync } from 'node:fs';
import { createOwnHosts } from '../abuse/own-hosts.ts';
import { systemClock } from '../base/clock.ts';
import { createBatchEnricher } from '../clicks/enrich.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { createAgentDescriber } from '../clicks/steps/agent.ts';
import { createGeo } from '../clicks/steps/geo.ts';
import { createReferrerDescriber } from '../clicks/steps/referrer.ts';
import { createVisitorHasher } from '../clicks/steps/visitor.ts';

/** Agents and referrers whose description is remembered. */
const describedMax = 20_000;
const geoCheckDelayMs = 2_000;

export function createClickEnricher(settings: ClickSettings, onGeoFault: (fault: string) => void) {
  const geo = createGeo({ databasePath: settings.geoPath, readFile: path => readFileSync(path) });
  // Not at once: reading the database would compete with the start of everything else.
  systemClock.after(geoCheckDelayMs, () => {
    const fault = geo.fault();
    if (fault !== undefined) onGeoFault(fault);
  });
  return createBatchEnricher({
    agents: createAgentDescriber({ entriesMax: describedMax }),
    referrers: createReferrerDescriber({
      entriesMax: describedMax,
      isOwnHost: createOwnHosts(settings.ownHosts).has,
    }),
    geo,
    visitors: createVisitorHasher({ secret: settings.secret }),
    clock: systemClock,
  });
}
