import type { SignalHint } from '../../../shared/contract/messages/messages.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import type { Simulation } from './simulation.ts';
import type { Vm } from '../world/azure.ts';

const POOL = 'stormy';
const NOTICE_MS = 30_000;

/**
 * From a notice until its node is closed and its pods are told: the relay's watches lag by a second or two, calls take
 * up to 120 ms.
 */
const BOUND_MS = 5_000;

/**
 * A pool of spot nodes, and so many pods that want nothing else, each too large for another beside it on the smallest
 * size.
 */
export function createStormyLoad({ server }: Simulation, pods: number): void {
  server.create('nodepools', {
    metadata: { name: POOL },
    spec: {
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
          requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'] },
            { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['2'] },
          ],
          expireAfter: 'Never',
        },
      },
      disruption: { consolidateAfter: 'Never', consolidationPolicy: 'WhenEmpty' },
      weight: 1,
    },
  });
  server.create('replicasets', {
    metadata: { name: 'stormy', namespace: 'shop' },
    spec: {
      replicas: pods,
      template: {
        metadata: { labels: { app: 'stormy' } },
        spec: {
          containers: [{ name: 'main', resources: { requests: { cpu: '600m', memory: '512Mi' } } }],
          terminationGracePeriodSeconds: 5,
          nodeSelector: { 'karpenter.sh/nodepool': POOL },
        },
      },
    },
  });
}

/** What became of the notices of a storm. */
export interface Told {
  readonly confirmed: number;
  readonly lost: number;
  readonly forged: number;
}

/**
 * All spot machines of the pool are taken back within half a second. Of their notices some come once, some by both ways
 * and several times, some so late that their time has nearly passed, some never; and there are some that nobody at
 * Azure sent: of machines on demand, of another resource group, of nobody. Meanwhile somebody else writes to the Lease
 * that plans are committed by.
 */
export function sendNotices(simulation: Simulation, rng: Rng): Told {
  const { azure, laws, timeline } = simulation;
  const all = [...azure.vms.values()].filter(({ state }) => state === 'running');
  const spot = all.filter(({ order, machine }) => order.nodePool === POOL && machine.capacityType === 'spot');
  let lost = 0;
  for (const vm of spot) {
    const { claim } = vm.machine;
    const endMs = timeline.now() + NOTICE_MS;
    laws.preempt(claim, endMs);
    timeline.after(NOTICE_MS, () => simulation.takeBack(claim));
    const draw = rng.below(100);
    if (draw < 10) {
      lost++;
      continue;
    }
    const late = draw < 20 ? NOTICE_MS - 15_000 : 0;
    const copies = draw < 50 ? 1 : 1 + rng.below(3);
    timeline.after(late + rng.below(500), () => {
      laws.expectGivenUp(claim, timeline.now() + BOUND_MS);
      conditionSays(simulation, vm, endMs);
      for (let copy = 1; copy < copies; copy++) queueSays(simulation, vm.machine, endMs, `${claim}-${copy}`);
    });
  }
  const forged = forge(
    simulation,
    rng,
    all.filter((vm) => vm.machine.capacityType === 'on-demand'),
  );
  loseLeases(simulation);
  return { confirmed: spot.length - lost, lost, forged };
}

function conditionSays({ server }: Simulation, { machine }: Vm, endMs: number): void {
  const node = `aks-${machine.claim}`;
  const message = `Preempt Scheduled: ${new Date(endMs).toUTCString()}. DurationInSeconds: -1. EventId: 00000000-${machine.claim}`;
  const known = server.get('nodes', node)?.status?.['conditions'] ?? [];
  const conditions = [
    ...known,
    { type: 'PreemptionScheduled', status: 'True', reason: 'SpotEvictionIncoming', message },
  ];
  server.patch('nodes', node, { status: { conditions } }, 'status');
}

function queueSays(
  { queues, outside }: Simulation,
  { claim, providerId }: Vm['machine'],
  endMs: number,
  id: string,
): void {
  const body: SignalHint = {
    kind: 'signal',
    version: 1,
    cluster: outside.cluster,
    vmId: providerId.slice('azure://'.length),
    nodeName: `aks-${claim}`,
    event: 'preempt',
    notBeforeMs: endMs,
    eventId: null,
    source: 'event-grid',
  };
  queues.signals.send({ id, sessionId: null, body, atMs: null });
}

/** Answers how many. None of them names a machine that goes: the laws break where one of its pods is told. */
function forge(simulation: Simulation, rng: Rng, onDemand: ReadonlyArray<Vm>): number {
  const { timeline } = simulation;
  const elsewhere = [...simulation.azure.vms.values()].map(({ machine }) => ({
    ...machine,
    providerId: machine.providerId.replace('/resourceGroups/sim/', '/resourceGroups/other/'),
  }));
  const nobody = { claim: 'nobody', providerId: 'azure:///virtualMachines/aks-nobody' } as Vm['machine'];
  const machines = [...onDemand.map(({ machine }) => machine), ...elsewhere, nobody];
  for (const [index, machine] of machines.entries()) {
    timeline.after(rng.below(500), () => queueSays(simulation, machine, 10_000, `forged-${index}`));
  }
  return machines.length;
}

/** Ten seconds in which every plan comes second. */
function loseLeases({ server, timeline }: Simulation): void {
  for (let ms = 0; ms < 10_000; ms += 50) {
    timeline.after(ms, () => {
      const [lease] = server.list('leases');
      if (lease === undefined) return;
      const key = `${lease.metadata.namespace ?? ''}/${lease.metadata.name}`;
      server.patch('leases', key, { metadata: { annotations: { somebody: String(ms) } } }, 'object');
    });
  }
}
