/** The enricher of a click thread, made from the settings; logs a country database that cannot be read. */
import { createOwnHosts } from '../abuse/own-hosts.ts';
import { addressGroup } from '../base/addresses.ts';
import type { Clock } from '../base/clock.ts';
import { type BatchEnricher, createBatchEnricher } from './enrich.ts';
import type { ClickSettings } from './settings.ts';
import { createAgentDescriber } from './steps/agent.ts';
import { createGeo } from './steps/geo.ts';
import { createReferrerDescriber } from './steps/referrer.ts';
import { Suspicion } from './steps/suspicion.ts';
import { createVisitorHasher } from './steps/visitor-hash.ts';

/** How many agents and referrers are cached. */
const describedMax = 20_000;
const geoCheckDelayMs = 2_000;

export interface ClickEnricher extends BatchEnricher {
  /** Clicks found to be suspicious, by reason. */
  suspicious(): Suspicion['found'];
}

export type EnricherSettings = Pick<
  ClickSettings,
  'geoPath' | 'secret' | 'ownHosts' | 'addressRate' | 'agentRate'
>;

export function createClickEnricher(
  settings: EnricherSettings,
  clock: Clock,
  onGeoFault: (fault: string) => void,
): ClickEnricher {
  const geo = createGeo({ databasePath: settings.geoPath });
  // Not immediately: reading the database would compete with the rest of the start.
  clock.after(geoCheckDelayMs, () => {
    const fault = geo.fault();
    if (fault !== undefined) onGeoFault(fault);
  });
  const suspicion = new Suspicion({
    addressRate: settings.addressRate,
    agentRate: settings.agentRate,
    groupOf: addressGroup,
    seed: Bun.hash.xxHash32(settings.secret),
  });
  const enricher = createBatchEnricher({
    agents: createAgentDescriber({ entriesMax: describedMax }),
    referrers: createReferrerDescriber({
      entriesMax: describedMax,
      isOwnHost: createOwnHosts(settings.ownHosts).has,
    }),
    geo,
    visitors: createVisitorHasher({ secret: settings.secret }),
    suspicion,
    clock,
  });
  return { ...enricher, suspicious: () => suspicion.found };
}
