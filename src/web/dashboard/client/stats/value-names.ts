/** How values of dimensions are called on the page. */
import { type DimensionName, dimensionOf } from '../../../../clicks/dimensions.ts';
import { texts } from '../../texts.ts';
import { countryName, languageName } from '../format.ts';

export function valueName(dimension: DimensionName, value: string): string {
  switch (dimension) {
    case 'country':
      return countryName(value) ?? texts.stats.unknown;
    case 'language':
      return value === '' ? texts.stats.unknown : languageName(value);
    case 'device':
      return texts.stats.deviceNames[value] ?? value;
    case 'via':
      return texts.stats.viaNames[value] ?? value;
    case 'bot':
      return texts.stats.botNames[value] ?? value;
    case 'referrer':
    case 'referrerUrl':
      return value === '' ? texts.stats.direct : value;
  }
  if (value !== '') return value;
  return isCampaign(dimension) ? texts.stats.noCampaign : texts.stats.unknown;
}

export const isCampaign = (dimension: DimensionName): boolean => dimension.startsWith('utm');

export function headingOf(dimension: DimensionName): string {
  const { list, label } = dimensionOf(dimension);
  return texts.stats.listHeadings[list] ?? label;
}

/** For lists that share a card. */
export function shortHeadingOf(dimension: DimensionName): string {
  const row = dimensionOf(dimension);
  return texts.stats.listHeadings[row.list] ?? ('shortLabel' in row ? row.shortLabel : row.label);
}

/** Their names are not what the server has, and there are few: they are searched here. */
export const isNamedHere = (dimension: DimensionName): boolean =>
  ['country', 'language', 'device', 'via', 'bot'].includes(dimension);
