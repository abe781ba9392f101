import { describe, expect, test } from 'vitest';
import { carryOut } from '../../../../shared/app/disrupt/begin.ts';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import type { DisruptOutcome } from '../../../../shared/app/disrupt/disrupt-outcome.ts';
import { planReplacements, type Beginning } from '../../../../shared/app/disrupt/plan-replacements.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { gather, type Gathered } from '../../../../shared/app/gather/gather.ts';
import type { DisruptionStep, PlannedReplacement } from '../../../../shared/core/disruption/plan/disruption-plan.ts';
import type { Plan } from '../../../../shared/core/model/plan.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import type { Fields, Reply } from '../../../simulation/world/api-server.ts';
import { consolidated, emptied } from '../../../kit/app/consolidated.ts';
import { denying, since, START } from '../../../kit/app/small-cluster.ts';
import { size } from '../../../kit/core/build.ts';

/**
 * A step as a plan of disruption has it, and what provisioning makes of it at that moment. Sizes cost 100,000 (D2) and
 * 400,000 (D8).
 */

const ZONE = 'westeurope-1';
const cpu = (amount: string): Fields => ({ spec: { containers: [{ resources: { requests: { cpu: amount } } }] } });

/** One node of eight cores, `large`, with a pod of half a core. */
async function oversized(podCpu = '500m') {
  const cluster = emptied({ types: 2 });
  cluster.addReady('large', 8);
  const pod = cluster.addRunning('web', 'large', cpu(podCpu));
  const logged: Array<Readonly<Record<string, unknown>>> = [];
  const gates = { ...cluster.ports.policy.gates, staticCapacity: true };
  const ports = {
    ...cluster.ports,
    policy: { ...cluster.ports.policy, gates },
    log: (event: string, facts: object) => void logged.push({ event, ...facts }),
  } as typeof cluster.ports;
  const pool = (spec: Fields): void => void cluster.server.patch('nodepools', 'general', { spec }, 'object');
  const asked = async (given: Given = {}) => {
    const gathered = await gather(ports, await ports.ledger.read(), true);
    if (gathered === null) throw new Error('there is no snapshot');
    return begun(ports, gathered, beginning(given, pod.uid));
  };
  const others = (): ReadonlyArray<string> =>
    cluster.server
      .list('nodeclaims')
      .map(({ metadata }) => metadata.name)
      .filter((name) => name !== 'large');
  return { ...cluster, ports, logged, pod, pool, asked, others };
}

/** What comes of a step. */
async function begun(ports: Ports, gathered: Gathered, given: Beginning): Promise<DisruptOutcome> {
  const held = await planReplacements(ports, gathered, given);
  return held.kind === 'holds' ? carryOut(ports, gathered, held) : held;
}

interface Given {
  readonly step?: Partial<DisruptionStep>;
  readonly replacement?: Partial<PlannedReplacement>;
  readonly before?: Partial<Plan>;
  readonly fixed?: ReadonlyArray<string>;
}

/** `large` is replaced by a small node, which saves 300,000 micro-USD an hour. */
function beginning({ step, replacement, before, fixed = [] }: Given, uid: string): Beginning {
  const one: PlannedReplacement = {
    name: 'general-1',
    nodePool: 'general',
    instanceType: 'Standard_D2_v5',
    zone: ZONE,
    capacityType: 'on-demand',
    price: microUsdPerHour(100_000),
    ...replacement,
  };
  const move = { pod: 'default/web', uid, from: 'aks-large', to: { kind: 'claim', name: 'general-1' } } as const;
  const whole = {
    reason: 'Underutilized',
    remove: ['aks-large'],
    create: ['general-1'],
    moves: [move],
    saved: 300_000,
    ...step,
  };
  return {
    plan: { replacements: [one], steps: [whole] },
    step: whole,
    before: { claims: [], left: [], nominations: [], ...before },
    fixed: new Set(fixed),
  } as unknown as Beginning;
}

const refused = (why: string): object => ({ kind: 'refused', why });

describe('a step', () => {
  test('is begun where provisioning buys what it needs, and the log says what it saves', async () => {
    const { ports, asked, others, logged, marks } = await oversized();
    const outcome = await asked();
    expect(outcome).toMatchObject({ kind: 'begun', nodes: 1, replacements: 1 });
    const [replacement = ''] = others();
    expect(logged).toContainEqual({
      event: 'disruption-begun',
      decision: outcome.kind === 'begun' ? outcome.decision : '',
      reason: 'Underutilized',
      nodes: 'aks-large',
      replacements: replacement,
      pods: 1,
      savedMicroPerHour: 300_000,
      currency: ports.catalogs.currency,
    });
    expect(marks('large').tainted).toBe(true);
  });

  test('is not begun where nobody may close its node, and the log says which and why', async () => {
    const { asked, outside, logged } = await oversized();
    outside.deny = denying('PATCH', '/nodes/aks-large');
    const outcome = await asked();
    expect(outcome).toMatchObject({ kind: 'denied' });
    const why = outcome.kind === 'denied' ? outcome.why : '';
    expect(logged).toContainEqual({ event: 'disruption-refused', reason: 'Underutilized', nodes: 'aks-large', why });
  });

  test('is not begun where its node may not be removed: nothing is bought, and its claim says why', async () => {
    const { asked, outside, others, logged, marks, conditionOf, trace } = await oversized();
    outside.deny = denying('DELETE', '/nodeclaims/large');
    const why = 'a policy does not let aks-large be removed';
    expect(await asked()).toEqual({ ...refused(why), nodes: ['aks-large'] });
    expect([others(), marks('large').tainted]).toEqual([[], false]);
    expect(logged).toContainEqual({ event: 'disruption-refused', reason: 'Underutilized', nodes: 'aks-large', why });
    expect(conditionOf('large', 'WriteDenied')).toMatchObject({
      reason: 'DeniedByPolicy',
      message: expect.stringMatching(
        /^Tried again from .*: ValidatingAdmissionPolicy 'nobody-does-this' does not allow/,
      ),
    });
    expect(trace.filter((what) => what.startsWith('DELETE'))).toEqual([]);
  });

  test('says of the node that it is about, and of no other of its step', async () => {
    const { asked, outside, conditionOf, addReady, addRunning } = await oversized();
    addReady('second', 8);
    addRunning('web2', 'second', cpu('500m'));
    outside.deny = denying('DELETE', '/nodeclaims/second');
    expect(await asked({ step: { remove: ['aks-large', 'aks-second'] } })).toMatchObject({ nodes: ['aks-second'] });
    expect(conditionOf('large', 'WriteDenied')).toBeUndefined();
    expect(conditionOf('second', 'WriteDenied')).toMatchObject({ reason: 'DeniedByPolicy' });
  });

  test('is begun where nobody can say so before: a webhook that takes no trials, and a server that does not answer', async () => {
    const noTrials = { kind: 'Status', status: 'Failure', message: 'admission webhook "w" does not support dry run' };
    const answers = [
      (): Reply => ({ status: 400, body: noTrials }),
      (): Reply => {
        throw new RetryableError('too late');
      },
    ];
    for (const answered of answers) {
      const { asked, outside, conditionOf } = await oversized();
      outside.deny = ({ method }) => (method === 'DELETE' ? answered() : null);
      expect(await asked()).toMatchObject({ kind: 'begun', replacements: 1 });
      expect(conditionOf('large', 'WriteDenied')).toBeUndefined();
    }
  });

  test('in whose place nothing is bought asks nothing before: the deletion itself will tell', async () => {
    const { asked, outside, trace, addReady } = await oversized();
    addReady('beside', 8);
    outside.deny = denying('DELETE', '/nodeclaims/large');
    expect(await asked({ step: { create: [] } })).toMatchObject({ kind: 'begun', replacements: 0 });
    expect(trace.filter((what) => what.startsWith('TRY'))).toEqual([]);
  });

  test('is not begun where a node of it is none of ours, though others are', async () => {
    const { asked, others } = await oversized();
    expect(await asked({ step: { remove: ['aks-large', 'aks-other'] } })).toEqual(
      refused('a node of the plan has no claim'),
    );
    expect(others()).toEqual([]);
  });

  test('that is refused is followed by what must go alone, while pods wait', async () => {
    const { server, ports, outside, addReady, addPod, conditionOf, marks } = await oversized('4');
    addReady('spare');
    addPod('waits', '6');
    const conditions = server.get('nodeclaims', 'large')?.status?.['conditions'] as ReadonlyArray<Fields>;
    const drifted = { status: { conditions: [...conditions, since(START, 'Drifted')] } };
    server.patch('nodeclaims', 'large', drifted, 'status');
    outside.deny = denying('DELETE', '/nodeclaims/large');
    expect(await disrupt(ports)).toMatchObject({ kind: 'refused', nodes: ['aks-large'] });
    expect(conditionOf('large', 'WriteDenied')).toBeDefined();
    expect(marks('spare').tainted).toBe(false);
  });

  test('of a pool that lacks nodes waits for these, where their number is fixed', async () => {
    const claim = { nodePool: 'general', pods: [] } as unknown as Plan['claims'][number];
    const { asked, others } = await oversized();
    expect(await asked({ before: { claims: [claim] }, fixed: ['general'] })).toEqual(
      refused('NodePool general is about to get nodes that it lacks'),
    );
    expect(others()).toEqual([]);
    expect(await asked({ before: { claims: [claim] } })).toMatchObject({ kind: 'begun' });
  });

  test('that would strand a pod is refused, and says which; one that waits anyway counts as stranded by nobody', async () => {
    const { asked, outside, logged, pod } = await oversized('3');
    outside.types = outside.types.slice(0, 1);
    const why = '1 pods would have no place, default/web among them';
    expect(await asked()).toEqual(refused(why));
    expect(logged).toContainEqual({ event: 'disruption-refused', reason: 'Underutilized', nodes: 'aks-large', why });
    const left = [{ pod }] as unknown as Plan['left'];
    expect(await asked({ before: { left }, step: { reason: 'Expired' } })).toMatchObject({
      kind: 'begun',
      replacements: 0,
    });
  });
});

describe('what is bought', () => {
  test('must cost less than what goes, to the last micro-dollar', async () => {
    const asMuch = await oversized();
    expect(await asMuch.asked({ step: { saved: 0 } })).toEqual(refused('the replacements would cost as much'));
    expect(asMuch.others()).toEqual([]);
    const less = await oversized();
    expect(await less.asked({ step: { saved: 1 } })).toMatchObject({ kind: 'begun' });
  });

  test('may be nothing at all, also where nobody knows what the node costs that goes', async () => {
    const { asked, addReady, others } = await oversized();
    addReady('other');
    const step = { create: [], saved: 0 };
    expect(await asked({ step })).toMatchObject({ kind: 'begun', replacements: 0 });
    expect(others()).toEqual(['other']);
  });

  test.each(['Drifted', 'Expired', 'Unhealthy', 'StaticSurplus'] as const)(
    'may cost anything where the node must go: %s',
    async (reason) => {
      const { asked } = await oversized();
      expect(await asked({ step: { reason, saved: -50_000 } })).toMatchObject({ kind: 'begun', replacements: 1 });
    },
  );

  test('is nothing for what is empty', async () => {
    const { asked } = await oversized();
    expect(await asked({ step: { reason: 'Empty', create: [] } })).toEqual(refused('empty nodes need no replacement'));
  });

  test('is of the capacity type that was meant', async () => {
    const { asked } = await oversized();
    expect(await asked({ replacement: { capacityType: 'spot' } })).toEqual(
      refused('the replacement would be on-demand'),
    );
  });

  test('is of the capacity type that this step means, whatever another does', async () => {
    const cluster = await oversized();
    const gathered = await gather(cluster.ports, await cluster.ports.ledger.read(), true);
    if (gathered === null) throw new Error('there is no snapshot');
    const given = beginning({ replacement: { capacityType: 'spot' } }, 'u');
    const other = { ...given.plan.replacements[0], name: 'general-2', capacityType: 'on-demand' };
    const plan = { ...given.plan, replacements: [...given.plan.replacements, other] };
    expect(await begun(cluster.ports, gathered, { ...given, plan } as Beginning)).toEqual(
      refused('the replacement would be on-demand'),
    );
  });
});

describe('what follows in a pool with a fixed number of nodes', () => {
  /** The pool makes D2 nodes in the first zone; the pod moves to that which follows. */
  async function fixed() {
    const cluster = await oversized();
    cluster.pool({ replicas: 1 });
    return cluster;
  }
  const why = 'the next node of NodePool general would not be what its pods need';
  const step = { reason: 'Drifted', saved: 300_000 } as const;

  test('is what its pods are to have', async () => {
    const { asked } = await fixed();
    expect(await asked({ step, fixed: ['general'] })).toMatchObject({ kind: 'begun', replacements: 1 });
  });

  test.each<readonly [string, Partial<PlannedReplacement>]>([
    ['another size', { instanceType: 'Standard_D8_v5' }],
    ['another zone', { zone: 'westeurope-2' }],
    ['another capacity type', { capacityType: 'spot' }],
  ])('keeps the node where they need %s', async (_, replacement) => {
    const { asked, others } = await fixed();
    expect(await asked({ step, replacement, fixed: ['general'] })).toEqual(refused(why));
    expect(others()).toEqual([]);
  });

  test('is no matter of pools whose number is not fixed', async () => {
    const { asked } = await oversized();
    expect(await asked({ step, replacement: { zone: 'westeurope-2' } })).toMatchObject({ kind: 'begun' });
  });

  test('is what its pods are to have, also where nodes of other pools are replaced with it', async () => {
    const { asked, addPool, addReady, addRunning, server } = await fixed();
    addPool('free');
    addReady('busy', 8, {}, 'free');
    addRunning('full', 'busy', cpu('1900m'));
    server.patch('pods', 'default/full', { spec: { nodeSelector: { 'karpenter.sh/nodepool': 'free' } } }, 'object');
    const both = { ...step, remove: ['aks-busy', 'aks-large'] };
    expect(await asked({ step: both, fixed: ['general'] })).toMatchObject({ kind: 'begun', replacements: 2 });
  });

  test('is not what another pool buys', async () => {
    const { asked, addPool, addReady, addRunning, pool, server } = await fixed();
    const wanted = { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D8_v5'] };
    const template = server.get('nodepools', 'general')?.spec?.['template'] as Fields;
    pool({ template: { spec: { ...template['spec'], requirements: [...template['spec'].requirements, wanted] } } });
    addPool('free');
    addReady('busy', 8, {}, 'free');
    addRunning('full', 'busy', cpu('1900m'));
    server.patch('pods', 'default/full', { spec: { nodeSelector: { 'karpenter.sh/nodepool': 'free' } } }, 'object');
    const both = { ...step, remove: ['aks-busy', 'aks-large'] };
    expect(await asked({ step: both, fixed: ['general'] })).toEqual(refused(why));
  });

  describe('has room for those alone that are to come to it', () => {
    /** One node more, `open`, of a pool that makes no other. */
    async function beside() {
      const cluster = await fixed();
      cluster.addPool('free');
      cluster.server.patch('nodepools', 'free', { spec: { limits: { nodes: '1' } } }, 'object');
      cluster.addReady('open', 2, {}, 'free');
      const second = cluster.addRunning('second', 'large', cpu('1600m'));
      const from = 'aks-large';
      const moves = [
        { pod: 'default/web', uid: cluster.pod.uid, from, to: { kind: 'claim', name: 'general-1' } },
        { pod: 'default/second', uid: second.uid, from, to: { kind: 'node', name: 'aks-open' } },
      ] as const;
      return { ...cluster, step: { ...step, moves } };
    }

    test('and the others that leave the node have theirs elsewhere', async () => {
      const { asked, step: both } = await beside();
      expect(await asked({ step: both, fixed: ['general'] })).toMatchObject({ kind: 'begun', replacements: 1 });
    });

    test('and so one that was to go to another node keeps its own where that has no room any more', async () => {
      const { asked, addRunning, step: both } = await beside();
      addRunning('late', 'open', cpu('1'));
      const none = refused('1 pods would have no place, default/second among them');
      expect(await asked({ step: both, fixed: ['general'] })).toEqual(none);
    });

    test('and so not for one that waits for room on another node, which that keeps for it', async () => {
      const { asked, addReady, addRunning, server, step: both } = await beside();
      addReady('stuck');
      const pods = [addRunning('kept', 'stuck', cpu('1'))];
      server.delete('nodeclaims', 'stuck');
      const nominations = [{ target: { kind: 'node', name: 'aks-open' }, pods }] as const;
      expect(await asked({ step: both, before: { nominations }, fixed: ['general'] })).toEqual(
        refused(expect.stringContaining('1 pods would have no place') as unknown as string),
      );
    });
  });

  describe('while a pod that leaves another node has its only home on the one that goes', () => {
    /** `kept` waits for room on `large`. */
    async function awaited(
      kept: Fields,
      arrange: (cluster: Awaited<ReturnType<typeof fixed>>) => void = () => undefined,
    ): Promise<DisruptOutcome> {
      const cluster = await fixed();
      const { asked, addReady, addRunning, server } = cluster;
      arrange(cluster);
      addReady('stuck');
      const pods = [addRunning('kept', 'stuck', kept)];
      server.delete('nodeclaims', 'stuck');
      const nominations = [{ target: { kind: 'node', name: 'aks-large' }, pods }] as const;
      return asked({ step, before: { nominations }, fixed: ['general'] });
    }
    const stays = refused('1 pods would have no place, default/kept among them');
    const goes = { kind: 'begun', nodes: 1, replacements: 1 };
    /** One more node, of a pool that may have no other. */
    const beside = ({ addPool, addReady, server }: Awaited<ReturnType<typeof fixed>>): void => {
      addPool('free');
      server.patch('nodepools', 'free', { spec: { limits: { nodes: '1' } } }, 'object');
      addReady('open', 2, {}, 'free');
    };
    const changed = ({ server }: Awaited<ReturnType<typeof fixed>>, changes: (spec: Fields) => Fields): void => {
      const spec = server.get('nodepools', 'general')?.spec ?? {};
      server.patch('nodepools', 'general', { spec: changes(spec) }, 'object');
    };

    /** One large node costs less than two small ones. */
    const cheaperWhenLarge = ({ outside }: Awaited<ReturnType<typeof fixed>>): void => {
      outside.types = [size('Standard_D2_v5', 2, 8, 100_000), size('Standard_D8_v5', 8, 32, 150_000)];
    };

    test('has room for it too', async () => {
      expect(await awaited(cpu('1'))).toMatchObject(goes);
    });

    test('has room for it, at the limit of the pool and whatever choice of sizes that wants', async () => {
      const wanted = { key: 'node.kubernetes.io/instance-type', operator: 'Exists', minValues: 2 };
      const wants = ({ template }: Fields): Fields => ({
        limits: { nodes: '1' },
        template: { spec: { ...template.spec, requirements: [...template.spec.requirements, wanted] } },
      });
      expect(await awaited(cpu('1'), (cluster) => changed(cluster, wants))).toMatchObject(goes);
    });

    test('keeps the node where it has no room for it beside the pods that come along', async () => {
      expect(await awaited(cpu('1600m'))).toEqual(stays);
    });

    test('keeps the node where it needs another zone than that of the next node', async () => {
      const nodeSelector = { 'topology.kubernetes.io/zone': 'westeurope-2' };
      expect(await awaited({ spec: { ...cpu('1')['spec'], nodeSelector } })).toEqual(stays);
    });

    test('keeps the node where only a larger one than the next would have room for it', async () => {
      expect(await awaited(cpu('1600m'), cheaperWhenLarge)).toEqual(stays);
    });

    test('keeps the node where the room elsewhere is that of a pod that runs there', async () => {
      const busy = (cluster: Awaited<ReturnType<typeof fixed>>): void => {
        beside(cluster);
        cluster.addRunning('busy', 'open', cpu('1900m'));
      };
      expect(await awaited(cpu('1600m'), busy)).toEqual(stays);
    });

    test('keeps the node where the room elsewhere is that of another pod that waits', async () => {
      const first = (cluster: Awaited<ReturnType<typeof fixed>>): void => {
        beside(cluster);
        cluster.server.create('pods', { metadata: { name: 'first', namespace: 'default' }, ...cpu('2') });
        const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
        const status = { phase: 'Pending', conditions: [unschedulable] };
        cluster.server.patch('pods', 'default/first', { status }, 'status');
      };
      expect(await awaited(cpu('1600m'), first)).toEqual(stays);
    });

    test('has another node made for it where only those of another pool have the label that it asks for', async () => {
      const labelled = ({ addPool, server }: Awaited<ReturnType<typeof fixed>>): void => {
        addPool('free');
        const { template } = server.get('nodepools', 'free')?.spec ?? {};
        const spec = { template: { ...template, metadata: { labels: { team: 'a' } } } };
        server.patch('nodepools', 'free', { spec }, 'object');
      };
      const nodeSelector = { team: 'a' };
      expect(await awaited({ spec: { ...cpu('1')['spec'], nodeSelector } }, labelled)).toMatchObject({
        ...goes,
        replacements: 2,
      });
    });

    test('has another node made for it where only another pool has room', async () => {
      const free = (cluster: Awaited<ReturnType<typeof fixed>>): void => {
        cheaperWhenLarge(cluster);
        cluster.addPool('free');
      };
      expect(await awaited(cpu('1600m'), free)).toMatchObject({ ...goes, replacements: 2 });
    });
  });

  test('is all that is made: nodes that another such pool lacks are not made along with it', async () => {
    const { asked, addPool, server } = await fixed();
    addPool('lacking');
    server.patch('nodepools', 'lacking', { spec: { replicas: 1 } }, 'object');
    const claims = [{ nodePool: 'lacking', pods: [] }] as unknown as Plan['claims'];
    expect(await asked({ step, before: { claims }, fixed: ['general', 'lacking'] })).toMatchObject({
      kind: 'begun',
      replacements: 1,
    });
  });
});

describe('an empty node is asked for pods that the view does not have yet', () => {
  const daemonSet = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' };
  const another = { apiVersion: 'example.com/v1', kind: 'Rollout', name: 'r', uid: 'r' };

  /** `spare` is empty in the view, and the API server knows one more pod of it. */
  async function after(
    status: Fields,
    metadata: Fields = {},
    arrange: (cluster: ReturnType<typeof consolidated>) => void = () => undefined,
  ) {
    const cluster = consolidated();
    const { ports, server, addRunning } = cluster;
    arrange(cluster);
    const view = await ports.snapshots.list();
    addRunning('late', 'spare', { metadata });
    server.patch('pods', 'default/late', { status }, 'status');
    const snapshots = { ...ports.snapshots, latest: () => Promise.resolve(view) };
    return { ...cluster, ports: { ...ports, snapshots } };
  }
  const time = (agoMs: number): string => new Date(START - agoMs).toISOString();

  test.each<readonly [string, Fields]>([
    ['of which its kubelet has not heard', {}],
    ['that started less than a minute ago', { startTime: time(59_000) }],
  ])('and stays with one %s', async (_, status) => {
    const { ports, marks } = await after(status);
    // The other node may go in its place.
    await disrupt(ports);
    expect(marks('spare')).toEqual({ tainted: false, decision: false, reason: undefined });
  });

  test.each<readonly [string, Fields, Fields]>([
    ['has ended', { phase: 'Succeeded' }, {}],
    ['is of a DaemonSet', {}, { ownerReferences: [daemonSet] }],
    ['is of a DaemonSet and of something else', {}, { ownerReferences: [another, daemonSet] }],
    ['is static', {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'n' }] }],
    ['has failed', { phase: 'Failed' }, {}],
    ['started earlier, and is none that plans are about', { startTime: time(60_000) }, {}],
    ['is on its way out', {}, { finalizers: ['hold'], deletionTimestamp: time(0) }],
  ])('and goes where that %s', async (_, status, metadata) => {
    const { ports, marks } = await after(status, metadata);
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1 });
    expect(marks('spare').reason).toBe('Empty');
  });

  test('and goes where nobody answers', async () => {
    const { ports, outside, marks } = await after({});
    outside.onRequest = ({ path }) => {
      if (path.includes('fieldSelector=spec.nodeName')) throw new RetryableError('not now');
    };
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1 });
    expect(marks('spare').reason).toBe('Empty');
  });

  test('and goes, whatever comes to it, where it must', async () => {
    const drift = ({ server }: ReturnType<typeof consolidated>): void => {
      const conditions = server.get('nodeclaims', 'spare')?.status?.['conditions'] as ReadonlyArray<Fields>;
      server.patch(
        'nodeclaims',
        'spare',
        { status: { conditions: [...conditions, since(START, 'Drifted')] } },
        'status',
      );
    };
    const { ports, marks } = await after({ startTime: time(0) }, {}, drift);
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1 });
    expect(marks('spare').reason).toBe('Drifted');
  });

  test('and the API server answers from what it has at hand', async () => {
    const { ports, outside } = await after({});
    const asked: Array<string> = [];
    outside.onRequest = ({ path }) => {
      if (path.includes('fieldSelector=spec.nodeName')) asked.push(path);
    };
    await disrupt(ports);
    // Of `spare`, and of the node that may go in its place.
    const old = expect.stringContaining('resourceVersion=0') as unknown;
    expect(asked).toEqual([old, old]);
  });

  /** The pod comes to `spare` while its removal is planned, which takes seconds. */
  async function duringPlan(cluster: ReturnType<typeof consolidated>) {
    const view = await cluster.ports.snapshots.list();
    let plans = 0;
    const planner: Ports['planner'] = (...asked) => {
      plans += 1;
      // The first is for pods that wait, the second for those of the nodes that go.
      if (plans === 2) cluster.addRunning('late', 'spare');
      return cluster.ports.planner(...asked);
    };
    const snapshots = { ...cluster.ports.snapshots, latest: () => Promise.resolve(view) };
    const outcome = await disrupt({ ...cluster.ports, planner, snapshots });
    return { outcome, plans };
  }

  test('and stays with one that comes while its removal is planned, which takes seconds', async () => {
    const cluster = consolidated();
    const { plans } = await duringPlan(cluster);
    expect(plans).toBeGreaterThanOrEqual(2);
    expect(cluster.marks('spare').tainted).toBe(false);
  });

  test('and goes, and is opened again, where it is one of several for which nothing is bought', async () => {
    const cluster = consolidated();
    cluster.addReady('other');
    const { outcome } = await duringPlan(cluster);
    expect(outcome).toMatchObject({ kind: 'begun', nodes: 2 });
    expect([cluster.marks('spare').tainted, cluster.marks('other').tainted]).toEqual([true, true]);
  });

  test('and so is each that may go in its place', async () => {
    const { ports, addRunning, marks } = await after({});
    addRunning('later', 'used');
    expect(await disrupt(ports)).toMatchObject({ kind: 'refused', why: 'new pods have come to aks-used' });
    expect([marks('spare').tainted, marks('used').tainted]).toEqual([false, false]);
  });

  test('and goes where others stay for that', async () => {
    const { ports, addReady, marks } = await after({});
    addReady('other');
    const view = await ports.snapshots.list();
    const pods = view.pods.filter(({ nodeName }) => nodeName !== 'aks-spare');
    const snapshots = { ...ports.snapshots, latest: () => Promise.resolve({ ...view, pods }) };
    expect(await disrupt({ ...ports, snapshots })).toMatchObject({ kind: 'begun', nodes: 1 });
    expect([marks('spare').tainted, marks('other').tainted]).toEqual([false, true]);
  });
});
