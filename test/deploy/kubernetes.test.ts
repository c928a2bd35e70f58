/**
 * The manifests in deploy/kubernetes, which nothing here can run: their fields are the API's, what they name is there,
 * no pod may do more than it has to, and a server would start with what they set.
 */
import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import packageDocument from '../../package.json' with { type: 'json' };
import { loadConfig, requireSupported } from '../../src/config/config.ts';
import { settingNames, settingOf } from '../../src/config/settings.ts';
import { systemRoutes } from '../../src/http/routes/system.ts';
import { kinds, unknownFields } from './kubernetes-fields.ts';

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Record<string, never>;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly image: string;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly startupProbe: Probe;
}

interface Deployment extends Omit<Manifest, 'spec'> {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels: Labels };
    readonly template: {
      readonly metadata: { readonly labels: Labels; readonly annotations: Labels };
      readonly spec: {
        readonly serviceAccountName: string;
        readonly containers: readonly [Container];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
}

type Labels = Readonly<Record<string, string>>;

const folder = join(import.meta.dir, '../../deploy/kubernetes');
const documentsOf = (name: string): unknown[] =>
  [Bun.YAML.parse(readFileSync(join(folder, name), 'utf8'))].flat();

const kustomization = documentsOf('kustomization.yaml')[0] as {
  readonly resources: readonly string[];
  readonly configMapGenerator: readonly { readonly name: string; readonly literals: readonly string[] }[];
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
};
const manifests = kustomization.resources.flatMap(documentsOf) as Manifest[];
const ofKind = (kind: string) => manifests.filter(manifest => manifest.kind === kind);
const deployments = ofKind('Deployment') as unknown as Deployment[];
const named = deployments.map(deployment => [deployment.metadata.name, deployment] as const);
const podsOf = ({ spec }: Deployment): Labels => spec.template.metadata.labels;
const selects = (selector: Labels, pods: Labels): boolean =>
  Object.entries(selector).every(([label, value]) => pods[label] === value);
/** What an operator would put into the secret. */
const secrets = {
  TERSE_LINKS: 'postgres://terse:secret@postgres:5432/terse',
  TERSE_CACHE: 'redis://redis:6379',
  TERSE_STREAM: 'kafka://kafka:9092/clicks',
  TERSE_STATS: 'clickhouse://clickhouse:8123/terse',
  TERSE_ADMIN_KEY: 'chosen-by-somebody',
};

test('every file of the folder is used, and none is missing', () => {
  const files = readdirSync(folder).filter(name => name.endsWith('.yaml'));
  expect(files.toSorted()).toEqual([...kustomization.resources, 'kustomization.yaml'].toSorted());
});

test.each(manifests.map(each => [`${each.kind} ${each.metadata.name}`, each] as const))(
  '%s has fields that the API knows',
  (_name, manifest) => {
    const fields = kinds[`${manifest.apiVersion} ${manifest.kind}`];
    expect(unknownFields(manifest, fields)).toEqual([]);
  },
);

test('a field that the API does not know is found, wherever it is', () => {
  const [deployment] = structuredClone(deployments);
  Object.assign(deployment!.spec.template.spec.containers[0], { readinesProbe: {} });
  expect(unknownFields(deployment, kinds['apps/v1 Deployment'])).toEqual([
    '.spec.template.spec.containers[0].readinesProbe',
  ]);
});

test.skipIf(Bun.which('kubectl') === null)('kubectl puts them together', () => {
  const { stdout, success } = Bun.spawnSync(['kubectl', 'kustomize', folder]);
  expect(success).toBe(true);
  expect(stdout.toString()).toContain(`image: terse:${packageDocument.version}`);
});

test('every role has pods', () => {
  const roles = deployments.map(({ spec }) => settingsOf(spec.template.spec.containers[0]).TERSE_ROLES);
  expect(roles.toSorted()).toEqual(['api', 'redirect', 'worker']);
});

function settingsOf({ env }: Container): Record<string, string | undefined> {
  const literals = kustomization.configMapGenerator[0]!.literals.map(line => line.split('='));
  const shared = literals.map(([name, ...value]) => [name, value.join('=')]);
  return { ...Object.fromEntries([...shared, ...env.map(({ name, value }) => [name, value])]), ...secrets };
}

describe.each(named)('a pod of %s', (_name, deployment) => {
  const { spec } = deployment.spec.template;
  const [container] = spec.containers;

  test('may do no more than it has to', () => {
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(container).toMatchObject({
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
      resources: { limits: expect.anything(), requests: expect.anything() },
    });
  });

  test('is given settings of ours, and would start with them', () => {
    const env = settingsOf(container);
    const known = new Set(settingNames.map(name => settingOf(name).env));
    expect(Object.keys(env).filter(name => !known.has(name))).toEqual([]);
    expect(() => requireSupported(loadConfig({ argv: [], env, readFile: () => '' }))).not.toThrow();
  });

  test('is asked for its health where Terse reports it', () => {
    const paths = systemRoutes({
      readiness: async () => ({ isReady: true, parts: {} }),
    });
    const known = paths.map(({ path }) => path);
    for (const { httpGet } of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
      expect(known).toContain(httpGet.path);
      expect(container.ports.map(({ name }) => name)).toContain(httpGet.port);
    }
    // A store that is down is no reason to restart the process.
    expect(container.livenessProbe.httpGet.path).toBe('/health/live');
  });

  test('serves metrics on a separate port, which the Prometheus configuration scrapes', () => {
    const { metrics, metricsPort, metricsHost } = loadConfig({
      argv: [],
      env: settingsOf(container),
      readFile: () => '',
    });
    expect({ metrics, metricsHost }).toEqual({ metrics: 'off', metricsHost: '0.0.0.0' });
    const port = container.ports.find(({ name }) => name === 'metrics')?.containerPort;
    expect(port).toBe(metricsPort);
    expect(deployment.spec.template.metadata.annotations).toMatchObject({
      'prometheus.io/port': String(port),
    });
  });

  test('writes to volumes that it has, the data folder of the image among them', () => {
    const volumes = spec.volumes.map(({ name }) => name);
    for (const { name } of container.volumeMounts) expect(volumes).toContain(name);
    expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toContain('/data');
  });

  test('belongs to its deployment, has an account, and is missed by one at a time', () => {
    expect(selects(deployment.spec.selector.matchLabels, podsOf(deployment))).toBe(true);
    expect(ofKind('ServiceAccount').map(({ metadata }) => metadata.name)).toContain(spec.serviceAccountName);
    const budgets = ofKind('PodDisruptionBudget') as unknown as Deployment[];
    const own = budgets.filter(({ spec }) => selects(spec.selector.matchLabels, podsOf(deployment)));
    expect(own).toMatchObject([{ spec: { maxUnavailable: 1 } }]);
  });

  test('has another beside it, also while it is replaced', () => {
    const scalers = ofKind('HorizontalPodAutoscaler') as unknown as {
      spec: { scaleTargetRef: { name: string }; minReplicas: number };
    }[];
    const scaler = scalers.find(({ spec }) => spec.scaleTargetRef.name === deployment.metadata.name);
    expect(deployment.spec.replicas ?? scaler?.spec.minReplicas ?? 0).toBeGreaterThanOrEqual(2);
    // A number here would undo what the scaler has decided whenever the manifest is applied.
    expect(deployment.spec.replicas === undefined).toBe(scaler !== undefined);
    expect(deployment.spec).toMatchObject({ strategy: { rollingUpdate: { maxUnavailable: 0 } } });
  });
});

test.each(ofKind('Service').map(each => [each.metadata.name, each] as const))(
  'the service %s leads to the port of existing pods',
  (_name, service) => {
    const { selector, ports } = service.spec as unknown as {
      selector: Labels;
      ports: { targetPort: string }[];
    };
    const found = deployments.filter(deployment => selects(selector, podsOf(deployment)));
    expect(found).toHaveLength(1);
    const open = found[0]!.spec.template.spec.containers[0].ports.map(({ name }) => name);
    for (const { targetPort } of ports) {
      expect(open).toContain(targetPort);
      expect(targetPort).not.toBe('metrics');
    }
  },
);

test('nothing secret is in the manifests', () => {
  const text = readdirSync(folder)
    .map(name => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
  for (const name of Object.keys(secrets)) expect(text).not.toMatch(new RegExp(`${name}[=:]`));
});
