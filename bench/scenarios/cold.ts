import type { Scenario } from '../kit/scenario.ts';
export const cold: Scenario = { name: 'cold', summary: '', run: async () => [] };
