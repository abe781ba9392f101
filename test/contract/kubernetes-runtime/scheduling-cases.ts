import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../sandbox/kubernetes/client/objects.ts';
import { asking, eventually, isReady, must, unschedulableMessage, type Runtime, type Stage } from './runtime.ts';
import { stagesOn } from './stages-on.ts';

/** The cases about placement: what a kube-scheduler with its default profile does. */
export function describeScheduling(start: () => Promise<Runtime>): void {
  const on = stagesOn(start);
  const pod = (
    stage: Stage,
    name: string,
    spec: object = {},
    labels: Readonly<Record<string, string>> = {},
  ): Promise<Pod> =>
    stage.create('pods', { apiVersion: 'v1', kind: 'Pod', ...withName(stage.template(labels, spec), name) });
  const nodeOf = async (stage: Stage, name: string): Promise<string | undefined> =>
    (await stage.get<Pod>('pods', name)).spec.nodeName;
  const untilBound = (stage: Stage, name: string, node: string): Promise<void> =>
    eventually(async () => {
      must(await nodeOf(stage, name), node, `node of ${name}`);
    });
  const untilMessage = (stage: Stage, name: string, message: string): Promise<void> =>
    eventually(async () => {
      must(unschedulableMessage(await stage.get<Pod>('pods', name)), message, `message of ${name}`);
    });
  const helpless = (nodes: number): string =>
    `no new claims to deallocate, preemption: 0/${nodes} nodes are available: ${nodes} Preemption is not helpful for scheduling.`;

  describe('a pod that fits nowhere', () => {
    it('says that there are no nodes when there are none', () =>
      on('empty', async (stage) => {
        await pod(stage, 'lonely');
        await untilMessage(stage, 'lonely', 'no nodes available to schedule pods');
      }));

    it('says what each node lacks, in the words of kube-scheduler', () =>
      on('words', async (stage) => {
        const taints = [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }] as const;
        await stage.untilReady(await stage.join('small', { allocatable: { cpu: '1', memory: '1Gi', pods: '110' } }));
        const tainted = await stage.join('tainted', { taints });
        const other = await stage.join('other', { labels: { stage: 'elsewhere' } });
        await stage.untilReady(tainted);
        await stage.untilReady(other);
        await pod(stage, 'big', asking('2', '2Gi'));
        await untilMessage(
          stage,
          'big',
          "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s). " +
            helpless(3),
        );
        await eventually(async () => {
          const { items } = await stage.connection.get<{ readonly items: ReadonlyArray<{ readonly reason: string }> }>(
            `/api/v1/namespaces/${stage.namespace}/events`,
          );
          must(
            items.some(({ reason }) => reason === 'FailedScheduling'),
            true,
            'event',
          );
        });
      }));

    it('is bound as soon as a node comes that has room', () =>
      on('arrival', async (stage) => {
        await pod(stage, 'waiting');
        await untilMessage(stage, 'waiting', 'no nodes available to schedule pods');
        await untilBound(stage, 'waiting', await stage.join('a'));
      }));

    it('is bound as soon as another pod leaves its room', () =>
      on('leaving', async (stage) => {
        const node = await stage.join('a');
        await stage.untilReady(node);
        await pod(stage, 'first', asking('3'));
        await untilBound(stage, 'first', node);
        await pod(stage, 'second', asking('3'));
        await untilMessage(
          stage,
          'second',
          '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
        );
        await stage.connection.remove(`/api/v1/namespaces/${stage.namespace}/pods/first`);
        await untilBound(stage, 'second', node);
      }));

    it('stays unscheduled while it is gated', () =>
      on('gated', async (stage) => {
        const node = await stage.join('a');
        await stage.untilReady(node);
        await pod(stage, 'gated', { schedulingGates: [{ name: 'example.test/hold' }] });
        await pod(stage, 'free');
        await untilBound(stage, 'free', node);
        expect(await nodeOf(stage, 'gated')).toBeUndefined();
        const path = `/api/v1/namespaces/${stage.namespace}/pods/gated`;
        await stage.connection.patch(path, 'merge', { spec: { schedulingGates: null } });
        await untilBound(stage, 'gated', node);
      }));
  });

  describe('a reserved node', () => {
    const reservation = { key: 'nodewright.dev/reserved', value: 'a', effect: 'NoSchedule' } as const;
    const toleration = { ...reservation, operator: 'Equal' };

    /** Adds to what the pod tolerates, as the product does. */
    async function letIn(stage: Stage, name: string): Promise<void> {
      const { spec } = await stage.get<Pod>('pods', name);
      const path = `/api/v1/namespaces/${stage.namespace}/pods/${name}`;
      await stage.connection.patch(path, 'merge', {
        spec: { tolerations: [...(spec.tolerations ?? []), toleration] },
      });
    }

    it('takes a pod once it is given the toleration, and keeps others out until the taint goes', () =>
      on('passage', async (stage) => {
        const node = await stage.join('a', { taints: [reservation] });
        await stage.untilReady(node);
        await pod(stage, 'meant', asking('2'));
        await pod(stage, 'other', asking('2'));
        for (const name of ['meant', 'other']) {
          await eventually(async () => {
            must(unschedulableMessage(await stage.get<Pod>('pods', name)).startsWith('0/1 nodes'), true, name);
          });
        }
        await letIn(stage, 'meant');
        await untilBound(stage, 'meant', node);
        expect(await nodeOf(stage, 'other')).toBeUndefined();
        await stage.connection.patch(`/api/v1/nodes/${node}`, 'merge', { spec: { taints: null } });
        await pod(stage, 'small', asking('1'));
        await untilBound(stage, 'small', node);
        expect(await nodeOf(stage, 'other')).toBeUndefined();
      }));

    it('loses no toleration: a list that lacks one of a pod’s is refused', () =>
      on('additions', async (stage) => {
        await pod(stage, 'meant', { tolerations: [{ key: 'mine', operator: 'Exists' }] });
        const path = `/api/v1/namespaces/${stage.namespace}/pods/meant`;
        const patch = stage.connection.patch(path, 'merge', { spec: { tolerations: [toleration] } });
        await expect(patch).rejects.toMatchObject({ code: 422 });
      }));
  });

  describe('a nomination', () => {
    const nominate = (stage: Stage, name: string, node: string): Promise<unknown> =>
      stage.connection.patch(`/api/v1/namespaces/${stage.namespace}/pods/${name}/status`, 'merge', {
        status: { nominatedNodeName: node },
      });
    const hold = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' } as const;
    const release = (stage: Stage, node: string): Promise<unknown> =>
      stage.connection.patch(`/api/v1/nodes/${node}`, 'merge', { spec: { taints: null } });

    it('brings a pod to its node, also where another would be the better choice', () =>
      on('nominated', async (stage) => {
        const first = await stage.join('a', { taints: [hold] });
        const second = await stage.join('b', { taints: [hold] });
        await stage.untilReady(first);
        await stage.untilReady(second);
        await pod(stage, 'ballast', { nodeName: first, ...asking('2'), tolerations: [{ operator: 'Exists' }] });
        await eventually(async () => {
          must(isReady(await stage.get<Pod>('pods', 'ballast')), true, 'ballast');
        });
        // Not tried before both nodes are known to be open: an attempt that fails costs a pod its nomination.
        await pod(stage, 'meant', { schedulingGates: [{ name: 'example.com/later' }] });
        await nominate(stage, 'meant', first);
        await release(stage, first);
        await release(stage, second);
        await pod(stage, 'witness', { nodeSelector: { 'kubernetes.io/hostname': second } });
        await untilBound(stage, 'witness', second);
        await stage.connection.patch(`/api/v1/namespaces/${stage.namespace}/pods/meant`, 'merge', {
          spec: { schedulingGates: null },
        });
        await untilBound(stage, 'meant', first);
      }));

    it('keeps its room from pods of the same priority, not from more important ones', () =>
      on('reserved', async (stage) => {
        const node = await stage.join('a');
        await stage.untilReady(node);
        const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
        const priority = (name: string, value: number): object => ({
          apiVersion: 'scheduling.k8s.io/v1',
          kind: 'PriorityClass',
          metadata: { name },
          value,
          preemptionPolicy: 'Never',
        });
        await stage.connection.create(classes, priority('reserved-patient', 0));
        await stage.connection.create(classes, priority('reserved-boss', 100));
        await pod(stage, 'filler', asking('2'));
        await untilBound(stage, 'filler', node);
        // It does not fit yet; it may not preempt, so that its failed tries leave its nomination alone.
        await pod(stage, 'meant', { ...asking('2500m'), priorityClassName: 'reserved-patient' });
        await eventually(async () => {
          must(
            unschedulableMessage(await stage.get<Pod>('pods', 'meant')).startsWith('0/1 nodes'),
            true,
            'meant waits',
          );
        });
        await nominate(stage, 'meant', node);
        await pod(stage, 'other', asking('1'));
        await eventually(async () => {
          must(
            unschedulableMessage(await stage.get<Pod>('pods', 'other')).startsWith('0/1 nodes'),
            true,
            'other waits',
          );
        });
        await pod(stage, 'boss', { ...asking('500m'), priorityClassName: 'reserved-boss' });
        await untilBound(stage, 'boss', node);
        await stage.connection.remove(`/api/v1/namespaces/${stage.namespace}/pods/filler`);
        await untilBound(stage, 'meant', node);
        expect(await nodeOf(stage, 'other')).toBeUndefined();
        for (const name of ['reserved-patient', 'reserved-boss']) await stage.connection.remove(`${classes}/${name}`);
      }));

    it('to a node that is still tainted is lost when a change makes the pod try before the taint is gone', () =>
      on('early', async (stage) => {
        const node = await stage.join('a', { taints: [hold] });
        await stage.untilReady(node);
        await pod(stage, 'meant');
        await eventually(async () => {
          must(unschedulableMessage(await stage.get<Pod>('pods', 'meant')) !== '', true, 'tried once');
        });
        await nominate(stage, 'meant', node);
        const path = `/api/v1/namespaces/${stage.namespace}/pods/meant`;
        await stage.connection.patch(path, 'merge', { metadata: { labels: { again: 'yes' } } });
        const small = { cpu: '50m', memory: '1Gi', pods: '110' };
        await stage.untilReady(await stage.join('small', { allocatable: small }));
        await eventually(async () => {
          must((await stage.get<Pod>('pods', 'meant')).status?.nominatedNodeName, undefined, 'nomination');
        });
      }));

    it('of a pod that may not preempt outlives such a try', () =>
      on('kept', async (stage) => {
        const node = await stage.join('a', { taints: [hold] });
        await stage.untilReady(node);
        const name = 'kept-never';
        const priority = { metadata: { name }, value: 0, preemptionPolicy: 'Never' };
        const body = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', ...priority };
        await stage.connection.create('/apis/scheduling.k8s.io/v1/priorityclasses', body);
        await pod(stage, 'meant', { priorityClassName: name });
        const first =
          '0/1 nodes are available: 1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.';
        await untilMessage(stage, 'meant', first);
        await nominate(stage, 'meant', node);
        const small = { cpu: '50m', memory: '1Gi', pods: '110' };
        await stage.untilReady(await stage.join('small', { allocatable: small }));
        const path = `/api/v1/namespaces/${stage.namespace}/pods/meant`;
        await stage.connection.patch(path, 'merge', { metadata: { labels: { again: 'yes' } } });
        await eventually(async () => {
          must(
            unschedulableMessage(await stage.get<Pod>('pods', 'meant')).startsWith('0/2 nodes'),
            true,
            'tried again',
          );
        });
        expect((await stage.get<Pod>('pods', 'meant')).status?.nominatedNodeName).toBe(node);
        await release(stage, node);
        await untilBound(stage, 'meant', node);
        await stage.connection.remove(`/apis/scheduling.k8s.io/v1/priorityclasses/${name}`);
      }));

    it('to a node that does not exist is dropped when the pod is tried and fails', () =>
      on('dropped', async (stage) => {
        await stage.untilReady(await stage.join('full', { allocatable: { cpu: '100m', memory: '1Gi', pods: '110' } }));
        await pod(stage, 'meant', asking('1'));
        await eventually(async () => {
          must(unschedulableMessage(await stage.get<Pod>('pods', 'meant')) !== '', true, 'tried once');
        });
        await nominate(stage, 'meant', 'not-there-yet');
        await stage.join('another', {
          allocatable: { cpu: '100m', memory: '1Gi', pods: '110' },
          labels: { size: 'small' },
        });
        const path = `/api/v1/namespaces/${stage.namespace}/pods/meant`;
        await stage.connection.patch(path, 'merge', { metadata: { labels: { again: 'yes' } } });
        await eventually(async () => {
          must((await stage.get<Pod>('pods', 'meant')).status?.nominatedNodeName, undefined, 'nomination');
        });
      }));
  });

  describe('placement', () => {
    it('spreads over zones as far as a constraint demands', () =>
      on('spread', async (stage) => {
        const zones = new Map<string, string>();
        for (const zone of ['region-1', 'region-2', 'region-3']) {
          const node = await stage.join(zone, { labels: { 'topology.kubernetes.io/zone': zone } });
          await stage.untilReady(node);
          zones.set(node, zone);
        }
        const constraint = {
          maxSkew: 1,
          topologyKey: 'topology.kubernetes.io/zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: 'spread' } },
        };
        const template = stage.template({ app: 'spread' }, { topologySpreadConstraints: [constraint] });
        const spec = { replicas: 9, selector: { matchLabels: { app: 'spread' } }, template };
        await stage.create('replicasets', {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          metadata: { name: 'spread' },
          spec,
        });
        await eventually(async () => {
          const found = (await stage.pods({ app: 'spread' })).map((one) => zones.get(one.spec.nodeName ?? ''));
          const counts = [...zones.values()].map((zone) => found.filter((other) => other === zone).length);
          must(counts, [3, 3, 3], 'pods per zone');
        });
      }));

    it('keeps pods apart that refuse each other, and leaves over the one that has no node', () =>
      on('apart', async (stage) => {
        const nodes = [await stage.join('a'), await stage.join('b')];
        for (const node of nodes) await stage.untilReady(node);
        const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'apart' } } };
        const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
        for (const name of ['one', 'two']) {
          await pod(stage, name, { affinity }, { app: 'apart' });
          await eventually(async () => {
            must((await nodeOf(stage, name)) !== undefined, true, `${name} is bound`);
          });
        }
        expect(new Set([await nodeOf(stage, 'one'), await nodeOf(stage, 'two')])).toStrictEqual(new Set(nodes));
        await pod(stage, 'three', { affinity }, { app: 'apart' });
        await untilMessage(
          stage,
          'three',
          "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.",
        );
        // The refusal holds in the other direction too: a plain pod of that app comes near none of them.
        await pod(stage, 'four', {}, { app: 'apart' });
        await untilMessage(
          stage,
          'four',
          "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.",
        );
      }));

    it('puts pods together that want to be together', () =>
      on('together', async (stage) => {
        for (const name of ['a', 'b', 'c']) await stage.untilReady(await stage.join(name));
        const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'group' } } };
        const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
        const names = ['one', 'two', 'three'];
        for (const name of names) {
          await pod(stage, name, { affinity }, { app: 'group' });
          await eventually(async () => {
            must((await nodeOf(stage, name)) !== undefined, true, `${name} is bound`);
          });
        }
        expect(new Set(await Promise.all(names.map((name) => nodeOf(stage, name)))).size).toBe(1);
      }));

    it('gives one host port of a node to one pod', () =>
      on('ports', async (stage) => {
        const node = await stage.join('a');
        await stage.untilReady(node);
        const container = { name: 'main', image: 'x', ports: [{ containerPort: 80, hostPort: 8080 }] };
        await pod(stage, 'one', { containers: [container] });
        await untilBound(stage, 'one', node);
        await pod(stage, 'two', { containers: [container] });
        await untilMessage(
          stage,
          'two',
          "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
        );
      }));

    it('takes the emptier of two nodes, and the preferred one before that', () =>
      on('scores', async (stage) => {
        const first = await stage.join('a');
        const second = await stage.join('b', { labels: { disk: 'fast' } });
        await stage.untilReady(first);
        await stage.untilReady(second);
        await pod(stage, 'ballast', { nodeName: second, ...asking('2', '8Gi') });
        await eventually(async () => {
          must(isReady(await stage.get<Pod>('pods', 'ballast')), true, 'ballast');
        });
        await pod(stage, 'plain', asking('500m', '2Gi'));
        await untilBound(stage, 'plain', first);
        const preference = { matchExpressions: [{ key: 'disk', operator: 'In', values: ['fast'] }] };
        const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference }] };
        await pod(stage, 'picky', { affinity: { nodeAffinity } });
        await untilBound(stage, 'picky', second);
      }));

    it('makes room for a more important pod by the least important', () =>
      on('preemption', async (stage) => {
        const node = await stage.join('a');
        await stage.untilReady(node);
        const name = 'preemption-high';
        const body = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, value: 1000 };
        await stage.connection.create('/apis/scheduling.k8s.io/v1/priorityclasses', body);
        for (const low of ['low-1', 'low-2', 'low-3']) {
          await pod(stage, low, asking('1'));
          await untilBound(stage, low, node);
        }
        await pod(stage, 'high', { ...asking('1500m'), priorityClassName: name });
        await untilBound(stage, 'high', node);
        await eventually(async () => {
          must((await stage.pods()).length, 3, 'pods: one had to go');
        });
        await stage.connection.remove(`/apis/scheduling.k8s.io/v1/priorityclasses/${name}`);
      }));
  });
}

function withName(template: object, name: string): object {
  const { metadata, ...rest } = template as { readonly metadata: object };
  return { ...rest, metadata: { ...metadata, name } };
}
