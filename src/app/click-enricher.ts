/** The enricher of a click thread, made from the settings; and a word about a country database that cannot be read. */
import { readFileSync } from 'node:fs';
import { createOwnHosts } from '../abuse/own-hosts.ts';
import { systemClock } from '../base/clock.ts';
import { type BatchEnricher, createBatchEnricher } from '../clicks/enrich.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { createAgentDescriber } from '../clicks/steps/agent.ts';
import { createGeo } from '../clicks/steps/geo.ts';
import { createReferrerDescriber } from '../clicks/steps/referrer.ts';
import { Suspicion } from '../clicks/steps/suspicion.ts';
import { createVisitorHasher } from '../clicks/steps/visitor.ts';
import { addressGroup } from '../http/address-group.ts';

/** Agents and referrers whose description is remembered. */
const describedMax = 20_000;
const geoCheckDelayMs = 2_000;

export interface ClickEnricher extends BatchEnricher {
  /** Clicks that were found to be suspicious, by what. */
  suspicious(): Suspicion['found'];
}

export type EnricherSettings = Pick<
  ClickSettings,
  'geoPath' | 'secret' | 'ownHosts' | 'addressRate' | 'agentRate'
>;

export function createClickEnricher(
  settings: EnricherSettings,
  onGeoFault: (fault: string) => void,
): ClickEnricher {
  const geo = createGeo({ databasePath: settings.geoPath, readFile: path => readFileSync(path) });
  // Not at once: reading the database would compete with the start of everything else.
  systemClock.after(geoCheckDelayMs, () => {
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
    clock: systemClock,
  });
  return { ...enricher, suspicious: () => suspicion.found };
}
