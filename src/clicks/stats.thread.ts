/**
 * The entry point of the thread that answers questions about clicks. Reading a year of a busy link takes
 * milliseconds of CPU; here they delay only the caller.
 */
import { answerCalls, giveWay } from '../base/thread-call.ts';
import { openLogSources } from './open-log.ts';
import { openWarehouseAccess } from './open-warehouse.ts';
import { createReports, type WarehouseReports } from './reports.ts';
import type { ClickSettings } from './settings.ts';

declare const self: Worker;

giveWay();

export type StatsThreadFunctions = WarehouseReports;

answerCalls(self, (settings: ClickSettings) => {
  const access = openWarehouseAccess(settings);
  const reports = createReports(
    () => access.get(),
    () => openLogSources(settings, () => access.get()),
  );
  return { ...reports };
});
