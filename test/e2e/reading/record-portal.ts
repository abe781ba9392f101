import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { OrderedFault } from '../../../sandbox/azure/limits/ordered-fault.ts';
import type { AppEvent } from '../../../sandbox/start/view/app-events.ts';
import { readMetrics } from '../kit/karpenter-reads.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { openQueues } from '../kit/queues.ts';
import { areEquipped, isRunning } from '../kit/state.ts';
import { eventsOf, startWorld, tell, type World } from '../kit/world.ts';

/**
 * Records what the product says of itself, for the test of the portal's queries and of the dashboards:
 *
 *     npm run build && node test/e2e/reading/record-portal.ts
 *
 * Runs it in the sandbox through a life with everything in it (about three minutes), and keeps of each kind of line
 * only those that show a field, or a reason, that none before has shown. Do it again when a line has changed; the test
 * says so.
 */
const folder = resolve(import.meta.dirname, '../../unit/infra/portal/recorded');

/** Lines of one event at most: two or three show all its fields. */
const KEPT_MAX = 6;
/** A relay counts as silent after 45 s, a node as lost after 40, and the next look says so. */
const SILENT_WITHIN_MS = 120_000;

const twoCores = [
  { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
  { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['2'] },
];
const eager = {
  disruption: { consolidateAfter: '0s', consolidationPolicy: 'WhenEmptyOrUnderutilized', budgets: [{ nodes: '100%' }] },
  limits: { cpu: '100' },
};
const misplaced = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'misplaced', namespace: 'default' },
  spec: {
    nodeSelector: { 'topology.kubernetes.io/zone': 'westeurope-9' },
    containers: [{ name: 'a', image: 'x', resources: { requests: { cpu: '1' } } }],
  },
};
const impossible = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'impossible' },
  spec: {
    nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
    requirements: [{ key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['3'] }],
  },
};

function refusal(status: number, code: string, message: string): OrderedFault {
  const fault = { kind: 'refuse', status, code, message, retryAfterSeconds: null } as const;
  return { method: 'PUT', pathContains: '/virtualMachines/', times: 1, fault };
}

const deployed = '/apis/apps/v1/namespaces/default/deployments';

/** Everything that goes well, and most that does not. */
async function live(): Promise<{ readonly lines: ReadonlyArray<string>; readonly metrics: string }> {
  const world = await startWorld('embedded', {});
  const queues = openQueues(world);
  try {
    await world.apply(nodeClass, nodePool('general', { requirements: twoCores, spec: eager }));
    world.sandbox.azure.orderFault(refusal(409, 'SkuNotAvailable', 'The requested size is not available.'));
    world.sandbox.azure.orderFault(
      refusal(409, 'OperationNotAllowed', 'exceeding approved standardDASv5Family Cores quota. Limit: 0, used: 0.'),
    );
    await world.apply(deployment('web', 4), misplaced, impossible);
    await world.until('four pods run', ({ pods }) => pods.filter(isRunning).length === 4);
    await said(world, 'pods-left', 'nodeclaim-deleted');
    await equipped(world);
    await lost(world);
    await forbidden(world);
    await evicted(world);
    await world.apply(deployment('web', 1));
    await said(world, 'disrupted', 'nodeclaim-terminated');
    await drifted(world);
    await queues.send('claims', [1, 2, 3]);
    await said(world, 'message-kept');
    // The first page is what makes it read the figures of plans.
    await readMetrics(world);
    const metrics = await readMetrics(world);
    await world.sandbox.relay.kill();
    await said(world, 'relay-silent');
    return { lines: world.lines, metrics };
  } finally {
    await queues.close();
    await world.close();
  }
}

/**
 * Machines have AKS's extension: by it they hear of evictions, and asking for it counts as a request about machines.
 */
async function equipped(world: World): Promise<void> {
  await world.until('machines have the extension', areEquipped);
}

/**
 * Two nodes of four hang until the control plane counts them as lost, which is more than disruption puts up with; then
 * they go on.
 */
async function lost(world: World): Promise<void> {
  const { kubelets } = world.sandbox.cluster;
  const { vms } = await world.state();
  const names = vms.slice(0, 2).map(({ name }) => name);
  for (const name of names) kubelets.freeze(name);
  await said(world, 'breaker-tripped');
  await Promise.all(names.map((name) => kubelets.thaw(name)));
  await said(world, 'breaker-closed');
}

/** A policy of the customer's forbids a machine. */
async function forbidden(world: World): Promise<void> {
  world.sandbox.azure.orderFault(refusal(403, 'RequestDisallowedByPolicy', 'No D sizes on Mondays.'));
  await world.apply(deployment('monday', 1));
  await said(world, 'launch-rejected');
  await world.api.remove(`${deployed}/monday`, { propagationPolicy: 'Background' });
}

async function evicted(world: World): Promise<void> {
  await world.apply(nodePool('spot', { capacityTypes: ['spot'], labels: { kind: 'spot' } }));
  await world.apply(deployment('batch', 1, { pod: { nodeSelector: { kind: 'spot' } } }));
  const { vms } = await world.until('a spot machine serves', ({ pods, vms: there }) => {
    return pods.filter(isRunning).length >= 5 && there.some(({ capacityType }) => capacityType === 'spot');
  });
  await equipped(world);
  const spot = vms.filter(({ capacityType }) => capacityType === 'spot');
  for (const { name } of spot) world.sandbox.azure.evict(name, { noticeSeconds: 30 });
  await said(world, 'interrupted', 'nodeclaim-terminated');
  const isReplaced = (line: string): boolean => /"event":"nodeclaim-initialized".*"sinceNoticeMs":\d/.test(line);
  await world.until('what replaces it is in use', () => world.lines.some(isReplaced), SILENT_WITHIN_MS);
}

/** Nodes with pods go, as their pool has changed. */
async function drifted(world: World): Promise<void> {
  await world.apply(nodePool('spot', { capacityTypes: ['spot'], labels: { kind: 'spot', age: 'new' } }));
  const hasMoved = async (): Promise<boolean> =>
    (await readMetrics(world)).includes('karpenter_pods_disruption_initiated_total{');
  await world.until('pods had to move', hasMoved, SILENT_WITHIN_MS);
}

/** A deployment that lacks what every node needs, in a subscription that tells it nothing. */
async function hindered(): Promise<ReadonlyArray<string>> {
  const refuse = (method: string, pathContains: string): OrderedFault => ({
    method,
    pathContains,
    times: 4,
    fault: { kind: 'refuse', status: 403, code: 'AuthorizationFailed', message: 'No role.', retryAfterSeconds: null },
  });
  const world = await startWorld('embedded', {
    settings: { SSH_PUBLIC_KEY: '' },
    azure: { orderedFaults: [refuse('GET', '/usages'), refuse('POST', 'Microsoft.ResourceGraph')] },
  });
  try {
    await world.apply(nodeClass, nodePool('general'));
    await said(world, 'deployment-not-ready', 'quotas-unknown', 'eviction-rates-unknown');
    return world.lines;
  } finally {
    await world.close();
  }
}

async function said(world: World, ...events: ReadonlyArray<string>): Promise<void> {
  for (const event of events) {
    await world.until(
      `the log has ${event}`,
      () => world.lines.some((line) => line.includes(`"event":"${event}"`)),
      SILENT_WITHIN_MS,
    );
  }
}

/** Of each event the lines that show something new, by the event's name. */
function compact(events: ReadonlyArray<AppEvent>): ReadonlyArray<string> {
  const kept = new Map<string, Array<string>>();
  const shown = new Set<string>();
  for (const { event, facts } of events) {
    const own = kept.get(event) ?? [];
    kept.set(event, own);
    const news = Object.entries(facts).map(([name, value]) => {
      const isTelling = name === 'reason' && event !== 'message-kept';
      return `${event} ${name} ${isTelling ? String(value) : kindOf(value)}`;
    });
    if (own.length >= KEPT_MAX || news.every((one) => shown.has(one))) continue;
    for (const one of news) shown.add(one);
    own.push(JSON.stringify({ event, ...facts }));
  }
  return [...kept].toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, own]) => own);
}

/** What is empty shows nothing of what could be in it. */
function kindOf(value: unknown): string {
  return value === null ? 'null' : value === '' || value === '{}' ? 'empty' : 'given';
}

/** Of each metric its type and one sample for each set of labels. */
function compactMetrics(page: string): ReadonlyArray<string> {
  const shown = new Set<string>();
  return page.split('\n').filter((line) => {
    if (line === '' || line.startsWith('# HELP')) return false;
    const shape = line.startsWith('#') ? line : line.replaceAll(/="(?:[^"\\]|\\.)*"/g, '').replace(/ [^ ]*$/, '');
    return !shown.has(shape) && shown.add(shape) !== undefined;
  });
}

const { lines, metrics } = await live();
const events = compact([...eventsOf(lines), ...eventsOf(await hindered())]);
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'lines.jsonl'), events.map((line) => `${line}\n`).join(''));
const samples = compactMetrics(metrics);
writeFileSync(join(folder, 'relay-metrics.txt'), samples.map((line) => `${line}\n`).join(''));
tell(`${events.length} lines, ${samples.length} lines of metrics`);
