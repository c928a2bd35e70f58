/**
 * The settings, shown to people: the effective values for `terse config` and the rows of `terse help`.
 * Invariant: a secret is never part of what these functions return.
 */
import type { Config } from './config.ts';
import { hideCredentials } from './setting-values.ts';
import { type Audience, flagOf, type SettingName, settingNames, settingOf } from './settings.ts';
import type { Source } from './sources.ts';

export interface EffectiveSetting {
  readonly name: SettingName;
  readonly env: string;
  /** As text for people. */
  readonly shown: string;
  /** As JSON for scripts; null when unset. */
  readonly value: string | number | boolean | readonly string[] | null;
  readonly source: Source;
}

export interface SettingHelp {
  readonly flag: string;
  readonly env: string;
  readonly default: string;
  readonly values: string;
  readonly doc: string;
  readonly audience: Audience;
}

const hidden = '(hidden)';

export function describeConfig(config: Config): readonly EffectiveSetting[] {
  return settingNames.map(name => {
    const value = visible(name, config[name]);
    const shown = value === null ? withoutBackticks(settingOf(name).defaultWords ?? 'none') : inWords(value);
    return { name, env: settingOf(name).env, shown, value, source: config.sources[name] };
  });
}

export function settingHelp(): readonly SettingHelp[] {
  return settingNames.map(name => {
    const { env, values, doc, audience } = settingOf(name);
    const words = { default: defaultInWords(name), values, doc };
    return {
      flag: flagOf(name),
      env,
      audience,
      default: withoutBackticks(words.default),
      values: withoutBackticks(words.values),
      doc: withoutBackticks(words.doc),
    };
  });
}

function visible(name: SettingName, value: Config[SettingName]): EffectiveSetting['value'] {
  if (value === undefined) return null;
  if (settingOf(name).secret) return hidden;
  return typeof value === 'string' ? hideCredentials(value) : value;
}

function inWords(value: NonNullable<EffectiveSetting['value']>): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'object') return value.length === 0 ? 'none' : value.join(',');
  return String(value);
}

export function defaultInWords(name: SettingName): string {
  const setting = settingOf(name);
  return setting.defaultWords ?? (typeof setting.default === 'string' ? setting.default : 'none');
}

function withoutBackticks(words: string): string {
  return words.replaceAll('`', '');
}
