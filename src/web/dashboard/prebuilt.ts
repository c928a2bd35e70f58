import type { DashboardBundle } from './serve.ts';

/** Empty when Terse runs from its sources; build.ts puts the finished files here in an executable. */
export const prebuilt: DashboardBundle | undefined = undefined;
