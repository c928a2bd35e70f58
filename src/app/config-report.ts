/**
 * The settings, told to people: the effective values for `terse config`, the rows of `terse help`, and the
 * README's table. Invariant: a secret is never part of what these functions return.
 */
import type { Config } from './config.ts';
import type { Source } from './config-sources.ts';
import { hideCredentials } from './setting-values.ts';
import { type Audience, flagOf, type SettingName, settingNames, settingOf } from './settings.ts';

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
    const shown = value === null ? withoutMarks(settingOf(name).defaultWords ?? 'none') : inWords(value);
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
      default: withoutMarks(words.default),
      values: withoutMarks(words.values),
      doc: withoutMarks(words.doc),
    };
  });
}

/** The README's configuration table; a test keeps the two equal. */
export function settingsTable(): string {
  const rows = settingNames.map(name => {
    const { env, values, doc, defaultWords } = settingOf(name);
    const initial = defaultWords === undefined ? `\`${defaultInWords(name)}\`` : defaultWords;
    return `| \`${env}\`, \`${flagOf(name)}\` | ${initial} | ${values} | ${doc} |`;
  });
  return ['| Setting | Default | Values | What it does |', '| --- | --- | --- | --- |', ...rows].join('\n');
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

function defaultInWords(name: SettingName): string {
  const setting = settingOf(name);
  return setting.defaultWords ?? (typeof setting.default === 'string' ? setting.default : 'none');
}

function withoutMarks(words: string): string {
  return words.replaceAll('`', '');
}
