/** The settings of checks whether destinations still answer. */
import { list, number, onOrOff } from './setting-row.ts';
import { cidr, listOf, wholeNumber } from './setting-values.ts';

export const healthSettings = {
  linkHealth: onOrOff({
    env: 'TERSE_LINK_HEALTH',
    default: 'off',
    doc: 'Whether destinations are asked now and then if they still answer (docs/link-health.md).',
  }),
  linkHealthHours: number({
    env: 'TERSE_LINK_HEALTH_HOURS',
    read: wholeNumber(1, 8_760),
    default: '24',
    values: '1 to 8760',
    doc: 'Hours from one check of a destination to the next; more when there are more links than can be asked in them.',
  }),
  linkHealthRate: number({
    env: 'TERSE_LINK_HEALTH_RATE',
    read: wholeNumber(1, 1_000),
    default: '5',
    values: '1 to 1000',
    doc: 'Destinations asked in a second at most, by all processes together.',
  }),
  linkHealthNetworks: list({
    env: 'TERSE_LINK_HEALTH_NETWORKS',
    read: listOf(cidr),
    default: 'none',
    values: '`none`, or a comma list of ranges such as `10.20.0.0/16`',
    doc: 'Private networks whose hosts may be asked, too; whoever may make a link can then learn what answers there.',
  }),
};
