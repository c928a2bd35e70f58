import type { DashboardBundle } from './bundle.ts';

/** Nothing when Terse runs from its sources; embed.ts puts the finished files here in an executable. */
export const prebuilt: DashboardBundle | undefined = undefined;
