import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { watchedResources } from '../../../relay/watch/resources.ts';
import { renderManifestFiles } from '../../../scripts/render-manifests.ts';
import { kinds } from '../../../shared/contract/api/parse.ts';
import { renderCrd } from '../../../shared/contract/api/schema/crd.ts';
import { apiGroups } from '../../../shared/contract/snapshot/api-groups.ts';
import { snapshotResources } from '../../../shared/contract/snapshot/builder.ts';
import { askedByFunctions, askedByRelay, granted, groupOf, manifestFolder } from '../../kit/infra/access.ts';
import {
  chartFolder,
  FUNCTIONS_USER,
  helm,
  merged,
  objects,
  template,
  titleOf,
  type Values,
  withBrokenChart,
} from './chart.ts';

const RELAY = 'nodewright-relay';

describe.skipIf(helm.kind === 'absent')(titleOf('the chart'), () => {
  test('renders what infra/kubernetes holds', async () => {
    const files = await renderManifestFiles(helm.kind === 'found' ? helm.path : '');
    const held = readdirSync(manifestFolder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.yaml'),
    );
    expect(held.toSorted()).toEqual([...files.keys()].toSorted());
    for (const [name, text] of files) expect(readFileSync(join(manifestFolder, name), 'utf8'), name).toBe(text);
  });

  test('binds the Functions app and the relay to what their code asks, and to nothing else', async () => {
    const rendered = await objects({ settings: { featureGates: { capacityBuffer: true } } });
    expect(distinct(granted(FUNCTIONS_USER, rendered))).toEqual(await askedByFunctions());
    expect(distinct(granted(RELAY, rendered))).toEqual(askedByRelay());
  });

  test.each([
    [
      'functions',
      'resources: [pods]\n    verbs: [list, delete]',
      'resources: [pods]\n    verbs: [list, delete, watch]',
    ],
    ['functions', 'resources: [pods/eviction]\n    verbs: [create]', 'resources: [pods/eviction]\n    verbs: [get]'],
    ['relay-rights', 'verbs: [', 'verbs: [delete, '],
  ] as const)('that grants something else is found out: %s', async (...fault) => {
    const rendered = await withBrokenChart(fault, (chart) =>
      objects({ settings: { featureGates: { capacityBuffer: true } } }, chart),
    );
    const asked = [await askedByFunctions(), askedByRelay()];
    expect([FUNCTIONS_USER, RELAY].map((subject) => distinct(granted(subject, rendered)))).not.toEqual(asked);
  });

  test('that is no template any more is found out', async () => {
    await withBrokenChart(['relay', '{{- end }}', ''], async (chart) => {
      expect(await template({}, chart)).toMatchObject({ code: 1, stderr: expect.stringContaining('relay.yaml') });
    });
  });

  test('grants less where less is switched on', async () => {
    const rendered = await objects({ plannedPods: { create: false }, bootstrapTokens: { create: false } });
    const [functions, relay] = [FUNCTIONS_USER, RELAY].map((subject) => distinct(granted(subject, rendered)));
    const ofBuffers = snapshotResources({ buffers: true })
      .filter((resource) => !snapshotResources({ buffers: false }).includes(resource))
      .map((resource) => `${groupOf(apiGroups[resource])}/${resource}`);
    const isOf = (access: string, resource: string): boolean =>
      access.split(' ')[1] === resource || access.split(' ')[1] === `${resource}/status`;
    const off = new Set([
      'get /pods',
      'patch /pods',
      'create /secrets in kube-system',
      'delete /secrets in kube-system',
    ]);
    expect(ofBuffers).toHaveLength(
      watchedResources({ buffers: true }).length - watchedResources({ buffers: false }).length,
    );
    expect(functions).toEqual(
      (await askedByFunctions()).filter(
        (access) => !off.has(access) && !ofBuffers.some((resource) => isOf(access, resource)),
      ),
    );
    expect(relay).toEqual(askedByRelay().filter((access) => !ofBuffers.some((resource) => isOf(access, resource))));
  });

  test('brings the custom resources as they are, marked to stay', async () => {
    const rendered = (await objects({})).filter(({ kind }) => kind === 'CustomResourceDefinition');
    const marked = kinds.map((kind) =>
      merged(renderCrd(kind), {
        metadata: {
          annotations: { 'helm.sh/resource-policy': 'keep' },
          labels: { 'app.kubernetes.io/part-of': 'nodewright' },
        },
      }),
    );
    expect(byName(rendered)).toEqual(byName(marked));
    const passing = (await objects({ crds: { keep: false } })).filter(
      ({ kind }) => kind === 'CustomResourceDefinition',
    );
    expect(JSON.stringify(passing)).not.toContain('resource-policy');
    expect((await objects({ crds: { install: false } })).map(({ kind }) => kind)).not.toContain(
      'CustomResourceDefinition',
    );
  });

  test.each([
    ['functions.objectId', { functions: { objectId: '' } }],
    ['workloadIdentity.clientId', { workloadIdentity: { clientId: '' } }],
    ['settings.clusterName', { settings: { clusterName: '' } }],
    ['settings.serviceBusNamespace', { settings: { serviceBusNamespace: '' } }],
    ['settings.blobServiceUri', { settings: { blobServiceUri: '' } }],
    ['image.repository', { image: { repository: '' } }],
  ])('says what to give when %s is empty', async (name, values) => {
    expect(await complaint(values)).toContain(`${name} is empty: `);
  });

  test.each<readonly [string, Values]>([
    ['controller', { controller: { image: { repository: 'x' } } }],
    ['clusterNme', { settings: { clusterNme: 'x' } }],
    ['/functions/objectId', { functions: { objectId: 'nodewright-app' } }],
    ['/workloadIdentity/clientId', { workloadIdentity: { clientId: '1234' } }],
    ['/settings/serviceBusNamespace', { settings: { serviceBusNamespace: 'sb://my-namespace' } }],
    ['/settings/blobServiceUri', { settings: { blobServiceUri: 'http://myaccount' } }],
    ['/settings/featureGates/capacityBuffer', { settings: { featureGates: { capacityBuffer: 'yes' } } }],
    ['/image/repository', { image: { repository: 'myregistry.azurecr.io/nodewright-relay:0.1.0' } }],
    ['/image/digest', { image: { digest: 'sha256:12' } }],
    ['/podRequests/mode', { podRequests: { mode: 'warn' } }],
    ['/podRequests/resources', { podRequests: { resources: [] } }],
    ['/replicas', { replicas: '2' }],
    ['/logLevel', { logLevel: 'debug' }],
    ['/priorityClass/value', { priorityClass: { value: 2_000_000_000 } }],
    ['/metrics/port', { metrics: { port: 70_000 } }],
    ['/podLabels/a', { podLabels: { a: 1 } }],
    ['/imagePullSecrets/0', { imagePullSecrets: ['mine'] }],
  ])('refuses a wrong value and names %s', async (name, values) => {
    expect(await complaint(values)).toContain(name);
  });

  test.each([
    ['off', []],
    [false, []],
    ['audit', [['Warn', 'Audit']]],
    ['on', [['Deny']]],
    [true, [['Deny']]],
  ])('asks pods for requests in the mode %s, quoted or as YAML reads it', async (mode, actions) => {
    const bindings = (await objects({ podRequests: { mode } })).filter(
      ({ kind, metadata }) =>
        kind === 'ValidatingAdmissionPolicyBinding' && metadata.name === 'nodewright-pod-requests',
    );
    expect(bindings.map(({ spec }) => (spec as { readonly validationActions: unknown }).validationActions)).toEqual(
      actions,
    );
  });

  test('takes a service account that is there, and then needs no client id', async () => {
    const given = { serviceAccount: { create: false, name: 'mine' }, workloadIdentity: { clientId: '' } };
    const rendered = await objects(given);
    expect(rendered.filter(({ kind }) => kind === 'ServiceAccount')).toEqual([]);
    expect(granted('mine', rendered).length).toBeGreaterThan(20);
    expect(granted(RELAY, rendered)).toEqual([]);
  });

  test('lets no value be without effect', async () => {
    const known = leaves(parse(readFileSync(join(chartFolder, 'values.yaml'), 'utf8')) as Values);
    expect(Object.keys(others).toSorted()).toEqual(known.toSorted());
    const idle: Array<string> = [];
    for (const [path, value] of Object.entries(others)) {
      // The custom resources are most of the work, and few values change them.
      const base = merged(everythingOn, { crds: { install: path.startsWith('crds.') } });
      const [before, after] = await Promise.all([template(base), template(merged(base, at(path, value)))]);
      expect(after.code, after.stderr).toBe(0);
      if (after.stdout === before.stdout) idle.push(path);
    }
    expect(idle).toEqual([]);
  });
});

/** All that is created only when it is asked for. */
const everythingOn: Values = {
  namespace: { create: true },
  priorityClass: { create: true },
  podRequests: { mode: 'audit' },
  serviceMonitor: { enabled: true },
  podMonitor: { enabled: true },
};

/** Of each value of `values.yaml` another one than `everythingOn` has. */
const others: Readonly<Record<string, unknown>> = {
  'functions.objectId': '99999999-2222-3333-4444-555555555555',
  'workloadIdentity.clientId': '99999999-2222-3333-4444-555555555555',
  'settings.clusterName': 'other',
  'settings.serviceBusNamespace': 'other.servicebus.windows.net',
  'settings.blobServiceUri': 'https://other.blob.core.windows.net',
  'settings.featureGates.capacityBuffer': true,
  'image.repository': 'other.azurecr.io/relay',
  'image.tag': '9.9.9',
  'image.digest': `sha256:${'0'.repeat(64)}`,
  imagePullPolicy: 'Always',
  imagePullSecrets: [{ name: 'mine' }],
  'crds.install': false,
  'crds.keep': false,
  'namespace.create': false,
  'bootstrapTokens.create': false,
  'plannedPods.create': false,
  'podRequests.mode': 'on',
  'podRequests.resources': ['memory'],
  'podRequests.excludedNamespaces': ['other'],
  fullnameOverride: 'other',
  additionalLabels: { a: 'b' },
  additionalAnnotations: { a: 'b' },
  'serviceAccount.create': false,
  'serviceAccount.name': 'other',
  'serviceAccount.annotations': { a: 'b' },
  replicas: 3,
  revisionHistoryLimit: 3,
  'strategy.rollingUpdate.maxSurge': 2,
  'strategy.rollingUpdate.maxUnavailable': 1,
  podLabels: { a: 'b' },
  podAnnotations: { a: 'b' },
  'podDisruptionBudget.create': false,
  'podDisruptionBudget.name': 'other',
  'podDisruptionBudget.maxUnavailable': '50%',
  'podSecurityContext.runAsNonRoot': false,
  'podSecurityContext.runAsUser': 1,
  'podSecurityContext.runAsGroup': 1,
  'podSecurityContext.seccompProfile.type': 'Unconfined',
  'securityContext.allowPrivilegeEscalation': true,
  'securityContext.readOnlyRootFilesystem': false,
  'securityContext.capabilities.drop': [],
  priorityClassName: 'other',
  'priorityClass.create': false,
  'priorityClass.name': 'other',
  'priorityClass.value': 1,
  terminationGracePeriodSeconds: 60,
  dnsPolicy: 'Default',
  dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
  'nodeSelector.kubernetes\\.io/os': 'windows',
  affinity: { nodeAffinity: {} },
  topologySpreadConstraints: [],
  tolerations: [],
  'resources.requests.cpu': '1',
  'resources.requests.memory': '1Gi',
  'resources.limits.memory': '1Gi',
  env: [{ name: 'A', value: 'b' }],
  envFrom: [{ configMapRef: { name: 'a' } }],
  extraVolumes: [{ name: 'a', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'a', mountPath: '/a' }],
  logLevel: 'warn',
  'metrics.port': 9090,
  'metrics.scrapeAnnotations': false,
  'healthProbe.port': 9091,
  'serviceMonitor.enabled': false,
  'serviceMonitor.additionalLabels': { a: 'b' },
  'serviceMonitor.endpointConfig': { interval: '10s' },
  'podMonitor.enabled': false,
  'podMonitor.apiVersion': 'azmonitoring.coreos.com/v1',
  'podMonitor.additionalLabels': { a: 'b' },
  'podMonitor.endpointConfig': { interval: '10s' },
  'networkPolicy.create': false,
  'networkPolicy.metricsFrom': [{ podSelector: {} }],
  'networkPolicy.egressTo': [{ ipBlock: { cidr: '10.0.0.0/8' } }],
  'networkPolicy.egressPorts': [443],
};

function leaves(values: Values, path = ''): ReadonlyArray<string> {
  return Object.entries(values).flatMap(([key, value]) => {
    const own = `${path}${path === '' ? '' : '.'}${key.replaceAll('.', '\\.')}`;
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isMap && Object.keys(value).length > 0 ? leaves(value as Values, own) : [own];
  });
}

/** `a.b` as values; a dot inside a key has a backslash before it, as for `--set`. */
function at(path: string, value: unknown): Values {
  const keys = path.split(/(?<!\\)\./).map((key) => key.replaceAll('\\.', '.'));
  return keys.reduceRight<unknown>((below, key) => ({ [key]: below }), value) as Values;
}

async function complaint(values: Values): Promise<string> {
  const { code, stderr } = await template(values);
  return code === 0 ? 'no complaint' : stderr;
}

function distinct(accesses: ReadonlyArray<string>): ReadonlyArray<string> {
  return [...new Set(accesses)].toSorted();
}

function byName(definitions: ReadonlyArray<unknown>): unknown {
  const named = definitions as ReadonlyArray<{ readonly metadata: { readonly name: string } }>;
  return named.toSorted((one, other) => one.metadata.name.localeCompare(other.metadata.name));
}
