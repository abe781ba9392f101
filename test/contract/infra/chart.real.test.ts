import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { connect, isApiError, type Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import { renderKubeconfig } from '../../../sandbox/kubernetes/client/kubeconfig.ts';
import { startControlPlane, type ControlPlane } from '../../../sandbox/kubernetes/control-plane/control-plane.ts';
import { type Child, createChild } from '../../../sandbox/world/processes/child.ts';
import { imageEnvironment } from '../../../sandbox/world/processes/relays.ts';
import { generationLease, relayLease } from '../../../shared/contract/names.ts';
import { askedByFunctions, askedByRelay } from '../../kit/infra/access.ts';
import { startAzurite, type StorageAccount } from '../relay/azurite.ts';
import { openRig, until, type Rig } from '../relay/rig.ts';
import {
  type Answer,
  answerOf,
  chartFolder,
  FUNCTIONS_USER,
  helm,
  merged,
  NAMESPACE,
  root,
  runHelm,
  template,
  titleOf,
  type Values,
  withBrokenChart,
} from './chart.ts';
import { reachOf } from './reach.ts';

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';
const LEASES = { 'coordination.k8s.io/leases': [generationLease, relayLease, 'kube-scheduler'] };

/** A policy is enforced within a second of its change; a loaded machine gets thirty. */
const ENFORCED_LOOKS_MAX = 150;
const ENFORCED_PAUSE_MS = 200;

let folder = '';
let controlPlane: ControlPlane;
let connection: Connection;
let storage: StorageAccount;
let rig: Rig;
let running: Child | null = null;

const kubectl = (words: ReadonlyArray<string>, input = ''): Promise<Answer> =>
  answerOf(
    join(assets, 'kubectl'),
    ['--kubeconfig', controlPlane.kubeconfigPath, '--cache-dir', join(folder, 'cache'), ...words],
    input,
  );

/** `install`, or `upgrade` to these values, of the chart in `from`. */
async function release(verb: 'install' | 'upgrade', values: Values, from = chartFolder): Promise<string> {
  const flags = ['--kubeconfig', controlPlane.kubeconfigPath, '--namespace', NAMESPACE];
  const create = verb === 'install' ? ['--create-namespace'] : [];
  const given = merged({ settings: { clusterName: rig.cluster } }, values);
  const { code, stdout, stderr } = await runHelm([verb, 'nodewright', from, ...flags, ...create], given);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

async function uninstall(): Promise<void> {
  if (helm.kind === 'absent') return;
  const flags = ['--kubeconfig', controlPlane.kubeconfigPath, '--namespace', NAMESPACE];
  const { code, stderr } = await answerOf(helm.path, ['uninstall', 'nodewright', ...flags]);
  expect(code, stderr).toBe(0);
}

const isLeftOut = assets === '' || helm.kind === 'absent';

beforeAll(async () => {
  if (isLeftOut) return;
  folder = mkdtempSync(join(tmpdir(), 'chart-'));
  [controlPlane, storage] = await Promise.all([startControlPlane({ assets, folder, with: [] }), startAzurite()]);
  connection = connect(controlPlane.kubeconfig);
  rig = await openRig(controlPlane.kubeconfig, storage);
  await release('install', {});
});

afterEach(async () => {
  await running?.stop();
  running = null;
});

afterAll(async () => {
  connection?.close();
  await rig?.close();
  await Promise.all([controlPlane?.close(), storage?.close()]);
  if (folder !== '') rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(isLeftOut)(titleOf('the chart on a real API server'), () => {
  test('installs, and says what to do next', async () => {
    const notes = await release('upgrade', {});
    expect(notes).toContain(`rollout status deployment/nodewright-relay`);
    expect(notes).toContain(`system:serviceaccount:${NAMESPACE}:nodewright-relay`);
    expect(notes).toContain(`CLUSTER_NAME=${rig.cluster}`);
  });

  test.each<readonly [string, Values]>([
    ['nothing but what is needed', {}],
    ['everything that can be switched on', everything],
    ['everything that can be switched off', nothing],
    [
      'another name',
      { fullnameOverride: 'other', crds: { install: false }, priorityClass: { name: 'x', create: true } },
    ],
  ])('is accepted with %s', async (_, values) => {
    await withMonitors();
    const { stdout, stderr, code } = await template(values);
    expect(code, stderr).toBe(0);
    const words = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict', '-f', '-'];
    const applied = await kubectl(words, stdout);
    expect(applied.code, applied.stderr).toBe(0);
    expect(applied.stderr.replaceAll(/^Warning: .*$/gm, '').trim()).toBe('');
  });

  test.each([
    ['relay', 'containerPort:', 'containerPorts:'],
    ['planned-pods', 'validations:', 'validation:'],
    ['relay-network', 'policyTypes:', 'policyTyp:'],
  ] as const)('is refused with a slip in %s: %s', async (...slip) => {
    await withBrokenChart(slip, async (chart) => {
      const { stdout, code } = await template({}, chart);
      expect(code).toBe(0);
      const applied = await kubectl(
        ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', '-'],
        stdout,
      );
      expect(applied).toMatchObject({ code: 1, stderr: expect.stringContaining(slip[2].slice(0, -1)) });
    });
  });

  test('makes a pod that the strictest standard of pod security lets in', async () => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await connection.create('/api/v1/namespaces', object('Namespace', 'v1', { name: 'strict', labels }));
    const { template: pod } = await deployment();
    const lax = { ...pod.spec, securityContext: {} };
    const create = (spec: object): Promise<unknown> =>
      connection.create('/api/v1/namespaces/strict/pods?dryRun=All', {
        ...object('Pod', 'v1', { name: 'relay', labels: pod.metadata.labels }),
        spec,
      });
    await expect(create(pod.spec)).resolves.toMatchObject({ kind: 'Pod' });
    await expect(create(lax)).rejects.toThrow('violates PodSecurity "restricted');
  });

  test.each([
    ['without buffers', false],
    ['with buffers', true],
  ])(
    'lets the relay and the Functions app do what their code asks, and of all that there is nothing else: %s',
    async (_, buffers) => {
      await release('upgrade', { settings: { featureGates: { capacityBuffer: buffers } } });
      const groups = ['system:authenticated'];
      const relay = await reachOf(
        connection,
        { user: relayUser, groups: [...groups, ...serviceAccountGroups] },
        LEASES,
      );
      const functions = await reachOf(connection, { user: FUNCTIONS_USER, groups }, LEASES);
      const isOn = (access: string): boolean =>
        buffers ||
        !/ (?:autoscaling\.x-k8s\.io\/capacitybuffers(?:\/status)?|\/podtemplates|apps\/deployments)$/.test(access);
      expect(relay).toEqual(askedByRelay().filter(isOn));
      expect(functions).toEqual((await askedByFunctions()).filter(isOn));
    },
  );

  test.each([
    ['without buffers', false],
    ['with buffers', true],
  ])("runs the relay's own process with its settings and its token: %s", async (_, buffers) => {
    await release('upgrade', { settings: { featureGates: { capacityBuffer: buffers } } });
    const lines: Array<string> = [];
    const ports = await startRelayProcess(lines);
    await until('the relay is ready', async () => (await page(ports.health, '/readyz')) === 'ok');
    await until('the relay leads', async () => /relay_leading 1$/m.test((await page(ports.metrics, '/metrics')) ?? ''));
    const counted = (await page(ports.metrics, '/metrics')) ?? '';
    expect(counted.includes('lists_total{resource="capacitybuffers"}')).toBe(buffers);
    expect(counted).toContain('lists_total{resource="pods"}');
    const lease = await connection.get<{ readonly spec: { readonly holderIdentity: string } }>(
      `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${relayLease}`,
    );
    expect(lease.spec.holderIdentity).toMatch(/^nodewright-relay-0_/);
    const before = rig.messages.length;
    const name = buffers ? 'second' : 'first';
    await makePodWait(name);
    await until('a hint for the pod', () => rig.messages.slice(before).some(({ queue }) => queue === 'pods'));
    const snapshot = await until('a snapshot', () => rig.latest());
    expect(snapshot.snapshot.cluster).toBe(rig.cluster);
    // Watches of a kind whose definition has just been upgraded are put off with 429; they are not what this is about.
    expect(lines.filter((line) => /answered 40[13]|forbidden|"level":"error"|lease not/.test(line))).toEqual([]);
  });

  test("refuses the relay's token whatever else is tried", async () => {
    await release('upgrade', {});
    const own = connect(await relayKubeconfig());
    try {
      await expect(own.get('/api/v1/pods')).resolves.toMatchObject({ kind: 'PodList' });
      const pod = '/api/v1/namespaces/default/pods';
      const tried: ReadonlyArray<Promise<unknown>> = [
        own.get('/api/v1/secrets'),
        own.get(`/api/v1/namespaces/${NAMESPACE}/configmaps`),
        own.get('/api/v1/nodes/x'),
        own.get('/api/v1/podtemplates'),
        own.get('/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers'),
        own.create(`${pod}?dryRun=All`, { ...object('Pod', 'v1', { name: 'x' }), spec: { containers: [] } }),
        own.create(`${pod}/x/eviction`, object('Eviction', 'policy/v1', { name: 'x' })),
        own.patch('/api/v1/nodes/x', 'merge', {}),
        own.patch('/apis/karpenter.sh/v1/nodeclaims/x', 'merge', {}),
        own.remove('/apis/karpenter.sh/v1/nodeclaims/x'),
        own.get(`/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${generationLease}`),
        own.remove(`/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${relayLease}`),
        own.create(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default/token`, {}),
      ];
      const answers = await Promise.allSettled(tried);
      expect(answers.map((one) => one.status === 'rejected' && isApiError(one.reason, 403))).toEqual(
        tried.map(() => true),
      );
    } finally {
      own.close();
    }
  });

  describe('asking pods for requests', () => {
    const both = { requests: { cpu: '1', memory: '1Gi' } };
    const main = (resources: object = {}, name = 'main'): object => ({ name, image: 'example.com/image', resources });

    beforeAll(async () => {
      await connection.create('/api/v1/namespaces', object('Namespace', 'v1', { name: 'with-defaults' }));
      await connection.create('/api/v1/namespaces/with-defaults/limitranges', {
        ...object('LimitRange', 'v1', { name: 'defaults' }),
        spec: { limits: [{ type: 'Container', defaultRequest: { cpu: '1', memory: '1Gi' } }] },
      });
    });

    test('off: a pod without requests is let in', async () => {
      await release('upgrade', {});
      expect(await createPod({ containers: [main()] })).toBe('let in');
    });

    test('audit: it is let in with a warning that names its containers', async () => {
      await release('upgrade', { podRequests: { mode: 'audit' } });
      const answer = await enforced(() => createPod({ containers: [main(), main({}, 'second')] }), /^warned/);
      expect(answer).toMatch(/no request of cpu in container main, second: set resources.requests\[cpu\]/);
      expect(answer).toContain('no request of memory in container main, second');
      expect(await createPod({ containers: [main(both)] })).toBe('let in');
    });

    test('on: it is refused, and what says what it needs in any way is not', async () => {
      await release('upgrade', { podRequests: { mode: 'on' } });
      const answer = await enforced(() => createPod({ containers: [main()] }), /^refused/);
      expect(answer).toContain('no request of cpu in container main: set resources.requests[cpu]');
      const noMemory = await createPod({ containers: [main({ requests: { cpu: '1' } })] });
      expect(noMemory).toContain('no request of memory in container main');
      const aside = await createPod({ containers: [main(both)], initContainers: [main({}, 'sidecar')] });
      expect(aside).toContain('no request of cpu in container sidecar');
      const fine = await Promise.all([
        createPod({ containers: [main(both)], initContainers: [main(both, 'first')] }),
        createPod({ containers: [main({ limits: both.requests })] }),
        createPod({ containers: [main()], resources: both }),
        createPod({ containers: [main()] }, 'with-defaults'),
        createPod({ containers: [main()] }, 'kube-system'),
      ]);
      expect(fine).toEqual(fine.map(() => 'let in'));
    });

    test('of other resources and elsewhere, as told', async () => {
      const podRequests = { mode: 'on', resources: ['memory'], excludedNamespaces: ['with-defaults'] };
      await release('upgrade', { podRequests });
      await enforced(() => createPod({ containers: [main({ requests: { memory: '1Gi' } })] }), /^let in/);
      expect(await createPod({ containers: [main()] }, 'kube-system')).toContain('no request of memory');
    });

    test('off again: it is let in again', async () => {
      await release('upgrade', {});
      expect(await enforced(() => createPod({ containers: [main()] }), /^let in/)).toBe('let in');
    });
  });

  test('a next version brings its custom resources and keeps what there is of them', async () => {
    await release('upgrade', {});
    await connection.create('/apis/karpenter.sh/v1/nodeclaims', claim);
    const next = join(folder, 'next');
    cpSync(chartFolder, next, { recursive: true });
    change(join(next, 'Chart.yaml'), 'version: 0.1.0', 'version: 0.2.0');
    change(join(next, 'definitions/karpenter.sh_nodeclaims.yaml'), '- karpenter\n', '- next\n');
    await release('upgrade', {}, next);
    expect(await categories()).toEqual(['next']);
    await expect(connection.get('/apis/karpenter.sh/v1/nodeclaims/kept')).resolves.toMatchObject({ kind: 'NodeClaim' });
    await release('upgrade', {});
    expect(await categories()).toEqual(['karpenter']);
  });

  test('uninstalled, it leaves custom resources and NodeClaims and takes every right with it; installed again, it goes on', async () => {
    await uninstall();
    await expect(connection.get('/apis/karpenter.sh/v1/nodeclaims/kept')).resolves.toMatchObject({ kind: 'NodeClaim' });
    const subject = { user: FUNCTIONS_USER, groups: ['system:authenticated'] };
    expect(await reachOf(connection, subject, LEASES)).toEqual([]);
    const left = await kubectl([
      'get',
      leftovers,
      '--all-namespaces',
      '--selector',
      'app.kubernetes.io/part-of=nodewright',
      '--output',
      'name',
    ]);
    expect(left.stdout.trim()).toBe('');
    await release('install', {});
    await expect(connection.get('/apis/karpenter.sh/v1/nodeclaims/kept')).resolves.toMatchObject({ kind: 'NodeClaim' });
    expect(await reachOf(connection, subject, LEASES)).not.toEqual([]);
  });
});

const relayUser = `system:serviceaccount:${NAMESPACE}:nodewright-relay`;
const serviceAccountGroups = ['system:serviceaccounts', `system:serviceaccounts:${NAMESPACE}`];

const leftovers = [
  'serviceaccounts',
  'clusterroles',
  'clusterrolebindings',
  'roles',
  'rolebindings',
  'deployments',
  'poddisruptionbudgets',
  'networkpolicies',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
].join(',');

const everything: Values = {
  settings: { featureGates: { capacityBuffer: true } },
  podRequests: { mode: 'on' },
  additionalLabels: { team: 'a' },
  additionalAnnotations: { 'example.com/owner': 'a' },
  serviceAccount: { annotations: { a: 'b' } },
  image: { digest: `sha256:${'0'.repeat(64)}` },
  imagePullSecrets: [{ name: 'mine' }],
  podLabels: { a: 'b' },
  podAnnotations: { a: 'b' },
  priorityClass: { create: true },
  priorityClassName: 'nodewright-relay',
  dnsPolicy: 'Default',
  dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }],
      },
    },
  },
  env: [{ name: 'A', value: 'b' }],
  envFrom: [{ secretRef: { name: 'a' } }],
  extraVolumes: [{ name: 'a', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'a', mountPath: '/a' }],
  serviceMonitor: { enabled: true, additionalLabels: { a: 'b' }, endpointConfig: { interval: '10s' } },
  podMonitor: { enabled: true, additionalLabels: { a: 'b' }, endpointConfig: { interval: '10s' } },
  networkPolicy: {
    metricsFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
    egressTo: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
  },
};

const nothing: Values = {
  crds: { install: false },
  bootstrapTokens: { create: false },
  plannedPods: { create: false },
  serviceAccount: { create: false, name: 'mine' },
  podDisruptionBudget: { create: false },
  networkPolicy: { create: false },
  metrics: { scrapeAnnotations: false },
  priorityClassName: '',
  replicas: 0,
  strategy: null,
  tolerations: [],
  topologySpreadConstraints: [],
  resources: null,
};

const claim: object = {
  ...object('NodeClaim', 'karpenter.sh/v1', { name: 'kept', finalizers: ['karpenter.sh/termination'] }),
  spec: {
    nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
    requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
  },
};

function object(kind: string, apiVersion: string, metadata: object): object {
  return { apiVersion, kind, metadata };
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
}

interface Deployed {
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: {
      readonly containers: readonly [{ readonly env: ReadonlyArray<Variable> }];
    };
  };
}

async function deployment(): Promise<Deployed> {
  const path = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/nodewright-relay`;
  return (await connection.get<{ readonly spec: Deployed }>(path)).spec;
}

/** The token that Kubernetes gives to the pods of the chart, as a kubeconfig. */
async function relayKubeconfig(): Promise<string> {
  const token = await connection.create<{ readonly status: { readonly token: string } }>(
    `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/nodewright-relay/token`,
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  );
  return renderKubeconfig({ ...controlPlane, token: token.status.token });
}

/** What the kubelet would say of the pod. */
const ofThePod: Readonly<Record<string, string>> = {
  'metadata.name': 'nodewright-relay-0',
  'metadata.namespace': NAMESPACE,
};

/**
 * Starts the relay as the image does, with the environment of the Deployment; only Azure is elsewhere. Answers its
 * ports.
 */
async function startRelayProcess(lines: Array<string>): Promise<{ readonly metrics: number; readonly health: number }> {
  const kubeconfig = join(folder, 'relay-kubeconfig');
  writeFileSync(kubeconfig, await relayKubeconfig());
  const { env } = (await deployment()).template.spec.containers[0];
  running = createChild({
    name: 'relay',
    args: [join(root, 'relay/main.ts')],
    environment: {
      ...imageEnvironment(root),
      ...Object.fromEntries(
        env.map(({ name, value, valueFrom }) => [name, value ?? ofThePod[valueFrom?.fieldRef.fieldPath ?? ''] ?? '']),
      ),
      ServiceBus: rig.broker.connectionString,
      SnapshotStorage: storage.connectionString,
      KUBECONFIG: kubeconfig,
      METRICS_PORT: '0',
      HEALTH_PORT: '0',
      BIND_ADDRESS: '127.0.0.1',
    },
    ready: /"relay started"/,
    onLine: (line) => lines.push(line),
  });
  await running.start();
  const started = lines.find((line) => line.includes('"relay started"')) ?? '{}';
  const { metricsPort = 0, healthPort = 0 } = JSON.parse(started) as {
    readonly metricsPort?: number;
    readonly healthPort?: number;
  };
  return { metrics: metricsPort, health: healthPort };
}

async function page(port: number, path: string): Promise<string | null> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return answer.ok ? (await answer.text()).trim() : null;
}

/** A pod that no scheduler takes, marked as one that found no room. */
async function makePodWait(name: string): Promise<void> {
  const path = '/api/v1/namespaces/default/pods';
  const container = { name: 'main', image: 'example.com/image', resources: { requests: { cpu: '1', memory: '1Gi' } } };
  await connection.create(path, {
    ...object('Pod', 'v1', { name }),
    spec: { schedulerName: 'nobody', automountServiceAccountToken: false, containers: [container] },
  });
  await connection.patch(`${path}/${name}/status`, 'merge', {
    status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no room' }] },
  });
}

/** `let in`, `warned: …` or `refused: …`. Nothing is kept. */
async function createPod(spec: object, namespace = 'default'): Promise<string> {
  const pod = { ...object('Pod', 'v1', { name: 'asked' }), spec };
  const words = ['create', '--namespace', namespace, '--dry-run=server', '--output', 'name', '-f', '-'];
  const { code, stderr } = await kubectl(words, JSON.stringify(pod));
  if (code !== 0) return `refused: ${stderr}`;
  return stderr === '' ? 'let in' : `warned: ${stderr}`;
}

async function enforced(attempt: () => Promise<string>, expected: RegExp): Promise<string> {
  let answer = '';
  for (let look = 0; look < ENFORCED_LOOKS_MAX; look++) {
    answer = await attempt();
    if (expected.test(answer)) return answer;
    await sleep(ENFORCED_PAUSE_MS);
  }
  throw new Error(`the policy is not in force; the last answer was ${answer}`);
}

function change(path: string, from: string, to: string): void {
  const text = readFileSync(path, 'utf8');
  if (!text.includes(from)) throw new Error(`${path} has no ${from}`);
  writeFileSync(path, text.replace(from, to));
}

async function categories(): Promise<ReadonlyArray<string> | undefined> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodeclaims.karpenter.sh';
  const definition = await connection.get<{
    readonly spec: { readonly names: { readonly categories?: ReadonlyArray<string> } };
  }>(path);
  return definition.spec.names.categories;
}

/** The two kinds of the Prometheus operator, as far as the chart writes them. */
async function withMonitors(): Promise<void> {
  const text = readFileSync(join(import.meta.dirname, 'monitors.yaml'), 'utf8');
  const { code, stderr } = await kubectl(['apply', '-f', '-'], text);
  expect(code, stderr).toBe(0);
  const names = ['servicemonitors', 'podmonitors'].map((plural) => `crd/${plural}.monitoring.coreos.com`);
  await kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...names]);
}
