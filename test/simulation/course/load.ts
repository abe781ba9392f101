import type { Rng } from '../../../sandbox/base/rng.ts';
import { label } from '../../../shared/contract/names.ts';
import { drawProtection, type Wished } from '../trouble/wishes.ts';
import { keyOf, type ApiServer, type Fields } from '../world/api-server.ts';
import { zones } from '../world/catalog.ts';

const NAMESPACE = 'shop';
/** It stays as it is. */
const OWN_SET = 'own';

/** What a run starts with: a class, one or two pools, some workloads with their budgets. */
export function createInitialObjects(server: ApiServer, rng: Rng, wished: Wished): void {
  server.create('aksnodeclasses', {
    metadata: { name: 'default' },
    spec: { imageFamily: 'Ubuntu', osDiskSizeGB: 128 },
  });
  const capacity = ['spot', 'on-demand'].filter(() => rng.chance(70));
  createPool(server, rng, 'general', capacity.length === 0 ? ['on-demand'] : capacity);
  if (rng.chance(40)) createPool(server, rng, 'spare', ['on-demand']);
  const tight = rng.split('limits');
  if (tight.chance(30)) tightenPool(server, tight, 'general');
  const fixed = rng.split('static');
  const { wishes } = wished;
  const isUsed = wishes.usedStaticPool !== null;
  if (fixed.chance(25) || isUsed) createStaticPool(server, fixed, wishes.usedStaticPool === 'by all');
  if (wishes.usedStaticPool === 'by its own') createOwnSet(server, fixed);
  const consolidated = rng.split('consolidation');
  for (const name of ['general', 'spare']) if (consolidated.chance(80)) consolidate(server, name);
  if (wishes.expireAfterMinutes !== null) expire(server, wishes.expireAfterMinutes);
  const sets = 1 + rng.below(3);
  for (let index = 0; index < sets; index++) createSet(server, rng, `app${index}`, wished);
}

/** Nodes of all pools grow old within the run. */
function expire(server: ApiServer, minutes: number): void {
  for (const { metadata } of server.list('nodepools')) {
    const spec = { template: { spec: { expireAfter: `${minutes}m` } } };
    server.patch('nodepools', metadata.name, { spec }, 'object');
  }
}

function createPool(server: ApiServer, rng: Rng, name: string, capacityTypes: ReadonlyArray<string>): void {
  const spec: Fields = {
    nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
    requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: capacityTypes }],
    expireAfter: 'Never',
    ...(rng.chance(30) ? { startupTaints: [{ key: 'cni', effect: 'NoSchedule' }] } : {}),
    ...(rng.chance(30) ? { terminationGracePeriod: `${60 + rng.below(300)}s` } : {}),
  };
  server.create('nodepools', {
    metadata: { name },
    spec: {
      template: { spec },
      disruption: { consolidateAfter: '1m', consolidationPolicy: 'WhenEmpty', budgets: [{ nodes: '10%' }] },
      ...(rng.chance(25) ? { limits: { cpu: String(16 + 4 * rng.below(12)) } } : {}),
      weight: name === 'spare' ? 1 : 10,
    },
  });
}

/** Nodes that hold too little go too. Nothing is done about it where nodes are not disrupted. */
function consolidate(server: ApiServer, name: string): void {
  const pool = server.get('nodepools', name);
  if (pool === null) return;
  const disruption = { ...pool.spec?.['disruption'], consolidationPolicy: 'WhenEmptyOrUnderutilized' };
  server.patch('nodepools', name, { spec: { disruption } }, 'object');
}

/**
 * So little that a size larger than planned may be too much at once, and at times a choice of sizes to be kept, for
 * which a plan sets more aside than it takes.
 */
function tightenPool(server: ApiServer, rng: Rng, name: string): void {
  const template = server.get('nodepools', name)?.spec?.['template'] ?? {};
  const choice = { key: 'node.kubernetes.io/instance-type', operator: 'Exists', minValues: 3 };
  const requirements = [...template.spec.requirements, ...(rng.chance(50) ? [choice] : [])];
  const limits = { cpu: String(6 + 2 * rng.below(6)) };
  server.patch(
    'nodepools',
    name,
    { spec: { limits, template: { ...template, spec: { ...template.spec, requirements } } } },
    'object',
  );
}

/** Its number alone decides how many nodes it has. A taint keeps all pods off, unless it is open to them. */
function createStaticPool(server: ApiServer, rng: Rng, isOpen: boolean): void {
  const spec: Fields = {
    nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
    requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }],
    ...(isOpen ? {} : { taints: [{ key: 'dedicated', effect: 'NoSchedule' }] }),
    expireAfter: 'Never',
  };
  server.create('nodepools', {
    metadata: { name: 'static' },
    spec: { template: { spec }, disruption: { consolidateAfter: 'Never' }, replicas: 1 + rng.below(3) },
  });
}

/** Of pods that may be on nodes of the static pool alone, of which the smallest holds all. */
function createOwnSet(server: ApiServer, rng: Rng): void {
  const spec = {
    containers: [{ name: 'main', resources: { requests: { cpu: '250m', memory: '512Mi' } } }],
    nodeSelector: { [label.nodePool]: 'static' },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    terminationGracePeriodSeconds: 10,
  };
  server.create('replicasets', {
    metadata: { name: OWN_SET, namespace: NAMESPACE },
    spec: { replicas: 1 + rng.below(2), template: { metadata: { labels: { app: OWN_SET } }, spec } },
  });
}

function createSet(server: ApiServer, rng: Rng, name: string, wished: Wished): void {
  const protection = drawProtection(wished, name);
  const cpu = ['250m', '500m', '1', '1500m'][rng.below(4)];
  const memory = ['512Mi', '2Gi', '6Gi'][rng.below(3)];
  const labels = { app: name };
  const selector = rng.chance(20) ? { 'topology.kubernetes.io/zone': zones[rng.below(zones.length)] } : undefined;
  const replicas = 1 + rng.below(4);
  server.create('replicasets', {
    metadata: { name, namespace: NAMESPACE, annotations: protection.own },
    spec: {
      replicas,
      template: {
        metadata: { labels, annotations: protection.pods },
        spec: {
          containers: [{ name: 'main', resources: { requests: { cpu, memory } } }],
          terminationGracePeriodSeconds: [1, 10, 30][rng.below(3)],
          ...(selector === undefined ? {} : { nodeSelector: selector }),
        },
      },
    },
  });
  const hasBudget = rng.chance(40);
  if (!hasBudget && !protection.isBudgetClosed) return;
  const asks = protection.isBudgetClosed ? { maxUnavailable: 0 } : { minAvailable: Math.max(0, replicas - 1) };
  server.create('poddisruptionbudgets', {
    metadata: { name, namespace: NAMESPACE },
    spec: { selector: { matchLabels: labels }, ...asks },
  });
}

/** A workload or the static pool grows or shrinks, or a workload comes. At least one pod of each stays. */
export function changeLoad(server: ApiServer, rng: Rng, wished: Wished): void {
  const fixed = server.get('nodepools', 'static');
  if (fixed !== null && rng.chance(10)) {
    const least = server.get('replicasets', `${NAMESPACE}/${OWN_SET}`) === null ? 0 : 1;
    server.patch('nodepools', 'static', { spec: { replicas: Math.max(least, rng.below(4)) } }, 'object');
    return;
  }
  const sets = server
    .list('replicasets')
    .filter(({ metadata }) => metadata.namespace === NAMESPACE && metadata.name !== OWN_SET);
  if (sets.length < 4 && rng.chance(20)) {
    createSet(server, rng, `app${sets.length}`, wished);
    return;
  }
  const set = sets[rng.below(sets.length)];
  if (set === undefined) return;
  const key = keyOf(set.metadata);
  const budget = server.get('poddisruptionbudgets', key);
  // A budget that allows no disruption at all would hold a drain for ever, and rightly.
  const least = Number(budget?.spec?.['minAvailable'] ?? 0) + 1;
  server.patch('replicasets', key, { spec: { replicas: least + rng.below(4) } }, 'object');
}
