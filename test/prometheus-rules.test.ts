/**
 * The alerts and the board name metrics, labels and documents, and a missing one is easily overlooked: an alert on a
 * metric that no longer exists never fires. So everything they name has to exist.
 */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeWithEngine } from './kit/engines/describe-with-engine.ts';
import { thingOf } from './kit/engines/found.ts';
import { findPrometheus } from './kit/engines/prometheus-programs.ts';
import { boardEvents, boardQueries, unknownIn } from './kit/observed.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

interface RuleTest {
  readonly alert_rule_test: readonly {
    readonly alertname: string;
    readonly exp_alerts: readonly unknown[];
  }[];
}

const root = join(import.meta.dir, '..');
const folder = join(root, 'deploy/prometheus');
const yamlOf = <Document>(name: string): Document =>
  Bun.YAML.parse(readFileSync(join(folder, name), 'utf8')) as Document;

const rules = yamlOf<{ groups: readonly { rules: readonly Rule[] }[] }>('rules.yaml').groups.flatMap(
  group => group.rules,
);
const tests = yamlOf<{ tests: readonly RuleTest[] }>('rules.test.yaml').tests.flatMap(
  ({ alert_rule_test }) => alert_rule_test,
);
const byName = rules.map(rule => [rule.alert, rule] as const);

describe('deploy/prometheus/rules.yaml', () => {
  test.each([
    ['redirects are slow', 'redirect_latency_seconds_bucket', '> 0.2'],
    ['memory answers too little', 'terse_cache_lookups_total', '< 0.5'],
    ['codes run out', 'kgs_available_keys', '< 1000'],
    ['abuse is tried', 'malicious_url_attempts_total', '* 60 > 100'],
    ['the store is nearly full', 'terse_store_pool_in_use', '> 0.8'],
    ['clicks are missing', 'terse_clicks_drift_ratio', '> 0.001'],
    ['hours do not settle', 'terse_clicks_settling_hours', '> 3'],
  ])('alerts when %s', (_what, metric, bound) => {
    expect(rules.filter(({ expr }) => expr.includes(metric) && expr.includes(bound))).toHaveLength(1);
  });

  test.each(byName)('%s names metrics and labels that exist', (_name, { expr }) => {
    expect(unknownIn(expr)).toEqual([]);
  });

  test.each(byName)('%s says who is to look, and where it is written what to do', async (name, rule) => {
    expect(['page', 'ticket']).toContain(rule.labels.severity);
    const [file = '', anchor] = rule.annotations.runbook.split('#');
    expect(anchor).toBe(name.toLowerCase());
    expect(await Bun.file(join(root, file)).text()).toContain(`\n## ${name}\n`);
  });

  test.each(byName)('%s has a test in which it fires and one in which it does not', name => {
    const own = tests
      .filter(({ alertname }) => alertname === name)
      .map(({ exp_alerts }) => exp_alerts.length);
    expect(own.toSorted()).toEqual([0, 1]);
  });

  test('no runbook is about an alert that is gone', () => {
    const document = readFileSync(join(root, 'docs/operations/alerts.md'), 'utf8');
    const written = [...document.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    expect(written).toEqual(rules.map(({ alert }) => alert));
  });
});

describe('deploy/grafana/terse.json', () => {
  test.each([...boardQueries(), ...boardEvents()].map(({ panel, query }) => [panel, query] as const))(
    '%s names metrics and labels that exist: %s',
    (_panel, query) => {
      expect(unknownIn(query)).toEqual([]);
    },
  );
});

describeWithEngine(
  'prometheus',
  'promtool',
  () => {
    const promtool = (...words: string[]) => {
      const { promtool: program, env } = thingOf(findPrometheus());
      const { success, stdout, stderr } = Bun.spawnSync([program, ...words], { cwd: folder, env });
      return { success, said: `${stdout}${stderr}` };
    };

    test('accepts the configuration and the rules that it names', () => {
      expect(promtool('check', 'config', 'prometheus.yaml')).toMatchObject({
        success: true,
        said: expect.stringContaining(`${rules.length} rules found`),
      });
    });

    test('sees every alert fire, or not fire, as its tests say', () => {
      const { success, said } = promtool('test', 'rules', 'rules.test.yaml');
      expect(said).toContain('SUCCESS');
      expect(success).toBe(true);
    });
  },
  { own: true },
);
