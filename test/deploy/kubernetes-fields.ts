/**
 * The fields that our Kubernetes manifests use, as the API spells them. An API server rejects or drops unknown fields,
 * and there is none here to ask; so look up a new field and add it here before using it.
 */

/** `true`: anything. A list stands for a list of such. A function says so for every name. */
export type Fields = true | { readonly [name: string]: Fields } | readonly [Fields];

const metadata: Fields = { name: true, labels: true, annotations: true };
const selector: Fields = { matchLabels: true };
const probe: Fields = {
  httpGet: { path: true, port: true, scheme: true },
  periodSeconds: true,
  timeoutSeconds: true,
  failureThreshold: true,
};
const container: Fields = {
  name: true,
  image: true,
  envFrom: [{ configMapRef: { name: true }, secretRef: { name: true } }],
  env: [{ name: true, value: true }],
  ports: [{ name: true, containerPort: true }],
  securityContext: {
    allowPrivilegeEscalation: true,
    readOnlyRootFilesystem: true,
    capabilities: { drop: [true] },
  },
  resources: { requests: { cpu: true, memory: true }, limits: { cpu: true, memory: true } },
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  lifecycle: { preStop: { exec: { command: [true] } } },
  volumeMounts: [{ name: true, mountPath: true }],
};
const podSpec: Fields = {
  serviceAccountName: true,
  automountServiceAccountToken: true,
  terminationGracePeriodSeconds: true,
  topologySpreadConstraints: [
    { maxSkew: true, topologyKey: true, whenUnsatisfiable: true, labelSelector: selector },
  ],
  securityContext: {
    runAsNonRoot: true,
    runAsUser: true,
    runAsGroup: true,
    fsGroup: true,
    seccompProfile: { type: true },
  },
  containers: [container],
  volumes: [{ name: true, emptyDir: { sizeLimit: true, medium: true } }],
};
const object = (rest: Readonly<Record<string, Fields>>): Fields => ({
  apiVersion: true,
  kind: true,
  metadata,
  ...rest,
});

/** By API version and kind. */
export const kinds: Readonly<Record<string, Fields>> = {
  'v1 ServiceAccount': object({ automountServiceAccountToken: true }),
  'v1 Service': object({ spec: { selector: true, ports: [{ name: true, port: true, targetPort: true }] } }),
  'apps/v1 Deployment': object({
    spec: {
      replicas: true,
      selector,
      strategy: { type: true, rollingUpdate: { maxUnavailable: true, maxSurge: true } },
      template: { metadata, spec: podSpec },
    },
  }),
  'policy/v1 PodDisruptionBudget': object({ spec: { maxUnavailable: true, selector } }),
  'autoscaling/v2 HorizontalPodAutoscaler': object({
    spec: {
      scaleTargetRef: { apiVersion: true, kind: true, name: true },
      minReplicas: true,
      maxReplicas: true,
      metrics: [{ type: true, resource: { name: true, target: { type: true, averageUtilization: true } } }],
      behavior: { scaleDown: { stabilizationWindowSeconds: true } },
    },
  }),
  'networking.k8s.io/v1 NetworkPolicy': object({
    spec: {
      podSelector: selector,
      policyTypes: [true],
      ingress: [{ from: [{ namespaceSelector: selector }], ports: [{ port: true, protocol: true }] }],
    },
  }),
};

/** Where a value has fields, or a form, that the API does not know. */
export function unknownFields(value: unknown, fields: Fields | undefined, path = ''): string[] {
  if (fields === undefined) return [path];
  if (fields === true) return [];
  if (Array.isArray(fields)) {
    if (!Array.isArray(value)) return [path];
    return value.flatMap((item, index) => unknownFields(item, fields[0], `${path}[${index}]`));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path];
  const known = fields as Readonly<Record<string, Fields>>;
  return Object.entries(value).flatMap(([name, inner]) =>
    unknownFields(inner, known[name], `${path}.${name}`),
  );
}
