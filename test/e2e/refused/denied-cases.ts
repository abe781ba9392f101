import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { kubectlOf } from '../../contract/kubernetes/kubectl.ts';
import { expectConsistent } from '../kit/consistent.ts';
import { type Denied, deny } from '../kit/deny.ts';
import { deployment, nodeClass, nodePool, oneToANode } from '../kit/manifests.ts';
import { forbidClosing } from '../kit/node-policy.ts';
import { removeAll } from '../kit/remove-all.ts';
import { type State, isRunning } from '../kit/state.ts';
import { type Mode, type World, startWorld } from '../kit/world.ts';

const POOLS = '/apis/karpenter.sh/v1/nodepools';
const CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';
const CLASSES = '/apis/karpenter.azure.com/v1beta1/aksnodeclasses';
const NODES = '/api/v1/nodes';
const PODS = '/api/v1/namespaces/default/pods';
const EVENTS = '/api/v1/namespaces/default/events';
const POOL = 'karpenter.sh/nodepool';

const claims = { group: 'karpenter.sh', version: 'v1', resource: 'nodeclaims' } as const;
const core = { group: '', version: 'v1' } as const;
/** Of a deletion, whose query counts for nothing where it has a body. */
const DRY = { dryRun: ['All'] };
/** Nodes of two cores, each for one pod. */
const smallest = [{ key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['2'] }];
const whenEmpty = { consolidateAfter: '0s', consolidationPolicy: 'WhenEmpty', budgets: [{ nodes: '100%' }] };

/**
 * One object of each kind that we write may not be written: all beside it goes on, and the object says why it does not.
 */
export function deniedCases(mode: Mode, assets: string): void {
  describe(`what a policy denies of one object (${mode})`, () => {
    let world: World;
    let lifts: Array<() => Promise<void>> = [];

    beforeAll(async () => {
      world = await startWorld(mode, { settings: { DISRUPT_SCHEDULE: '*/2 * * * * *' } });
      await world.apply(nodeClass);
    });
    afterAll(async () => {
      await world?.close();
    });
    afterEach(async () => {
      for (const lift of lifts) await lift();
      lifts = [];
      await removeAll(world);
    });

    const denied = async (what: Denied, breaking: () => Promise<unknown>): Promise<void> => {
      lifts.push(await deny(world, what, breaking));
    };
    const dry = (path: string, patch: object): Promise<unknown> =>
      world.api.patch(`${path}?dryRun=All`, 'merge', patch);

    /** What a person reads of an object, once it names the policy. */
    const described = async (kind: string, name: string, policy: string): Promise<string> => {
      const kubectl = kubectlOf(join(assets, 'kubectl'), world.sandbox.cluster.kubeconfigPath);
      let text = '';
      await world.until(`kubectl describe ${kind} ${name} names ${policy}`, async () => {
        const { out, err } = await kubectl(['describe', kind, name]);
        text = `${out}${err}`;
        return text.includes('WriteDenied') && text.includes(policy);
      });
      return text;
    };

    const running = (app: string, { pods }: State): number =>
      pods.filter((pod) => isRunning(pod) && pod.metadata.name.startsWith(`${app}-`)).length;
    const runs = (app: string, count: number, withinMs?: number): Promise<State> =>
      world.until(`${count} pods of ${app} run`, (state) => running(app, state) === count, withinMs);
    const inPool = (pool: string): object => ({ pod: { nodeSelector: { [POOL]: pool } } });

    /** Two nodes of a pool, each with a pod of `app`; the name of the claim of the first and of the second. */
    const two = async (app: string, pool: object): Promise<readonly [string, string]> => {
      await world.apply(pool, deployment(app, 2, { cpu: '1', pod: oneToANode(app) }));
      const { nodes } = await world.until('two nodes run a pod each', (state) => {
        return running(app, state) === 2 && state.nodes.length === 2;
      });
      const [first = '', second = ''] = nodes.map(({ metadata }) => metadata.name.replace(/^aks-/, '')).toSorted();
      return [first, second];
    };
    const isGone = (claim: string) => (state: State) =>
      !state.vms.some(({ name }) => name === `aks-${claim}`) &&
      !state.claims.some(({ metadata }) => metadata.name === claim);
    const isThere = (claim: string, { nodes }: State): boolean =>
      nodes.some(({ metadata }) => metadata.name === `aks-${claim}`);

    it('a NodeClaim that may not be created: pods of another pool get nodes, and its own when the policy is gone', async () => {
      const bare = {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodeClaim',
        metadata: { name: 'tried', labels: { [POOL]: 'denied' } },
        spec: {
          nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
          requirements: [],
        },
      };
      const allowed = `!has(object.metadata.labels) || !('${POOL}' in object.metadata.labels) || object.metadata.labels['${POOL}'] != 'denied'`;
      await denied({ ...claims, name: 'no-claims-here', operation: 'CREATE', allowed }, () =>
        world.api.create(`${CLAIMS}?dryRun=All`, bare),
      );
      await world.apply(
        nodePool('denied', { spec: { weight: 100 } }),
        nodePool('general'),
        deployment('wanting', 1, inPool('denied')),
        deployment('either', 2),
        deployment('other', 2, inPool('general')),
      );
      await runs('other', 2);
      await runs('either', 2);
      expect(running('wanting', await world.state())).toBe(0);
      const told = await described('nodepool', 'denied', "ValidatingAdmissionPolicy 'no-claims-here'");
      expect(told).toContain('this one is denied by a test');
      expect(told).toContain('exempt the identity of Nodewright from that policy');
      // Another pod, and another plan: the denied one stops neither.
      await world.apply(deployment('later', 1, inPool('general')));
      await runs('later', 1);
      for (const lift of lifts.splice(0)) await lift();
      // It is tried again after two minutes, and then a machine boots.
      await runs('wanting', 1, 200_000);
      await world.until('the pool says nothing of it any more', async () => {
        const pool = await world.api.get<{ readonly status: object }>(`${POOLS}/denied`);
        return !JSON.stringify(pool.status).includes('WriteDenied');
      });
    }, 460_000);

    it('a NodeClaim that may not be changed: its node stays when it is empty, and the other goes', async () => {
      const [stays, goes] = await two(
        'empties',
        nodePool('general', { requirements: smallest, spec: { disruption: whenEmpty } }),
      );
      await denied(
        { ...claims, name: 'this-claim-stays', operation: 'UPDATE', allowed: `object.metadata.name != '${stays}'` },
        () => dry(`${CLAIMS}/${stays}`, { metadata: { annotations: { tried: 'yes' } } }),
      );
      await world.apply(deployment('empties', 0, { cpu: '1', pod: oneToANode('empties') }));
      await world.until('the other is gone', isGone(goes));
      expect(isThere(stays, await world.state())).toBe(true);
      const told = await described('nodeclaim', stays, "ValidatingAdmissionPolicy 'this-claim-stays'");
      expect(told).toContain(`patch NodeClaim ${stays}`);
    });

    it('a Node that may not be tainted: it stays when it is empty, and the other goes', async () => {
      const [stays, goes] = await two(
        'empties',
        nodePool('general', { requirements: smallest, spec: { disruption: whenEmpty } }),
      );
      lifts.push(await forbidClosing(world, `aks-${stays}`));
      await world.apply(deployment('empties', 0, { cpu: '1', pod: oneToANode('empties') }));
      await world.until('the other is gone', isGone(goes));
      expect(isThere(stays, await world.state())).toBe(true);
      for (const [kind, name] of [
        ['node', `aks-${stays}`],
        ['nodeclaim', stays],
      ] as const) {
        const told = await described(kind, name, "ValidatingAdmissionPolicy 'nobody-closes-this-node'");
        expect(told).toContain('exempt the identity of Nodewright from that policy');
      }
    });

    it('the status of a NodePool that may not be written: pods of another pool get nodes', async () => {
      const status = { group: 'karpenter.sh', version: 'v1', resource: 'nodepools/status' } as const;
      const name = 'this-pool-says-nothing';
      const allowed = "!object.metadata.name.startsWith('denied')";
      await world.apply(nodePool('general'), nodePool('denied-first'));
      await denied({ ...status, name, operation: 'UPDATE', allowed }, () =>
        dry(`${POOLS}/denied-first/status`, { status: { nodes: 7 } }),
      );
      await world.apply(nodePool('denied'), deployment('other', 2, inPool('general')));
      await runs('other', 2);
      const told = await described('nodepool', 'denied', `ValidatingAdmissionPolicy '${name}'`);
      expect(told).toContain('patch the status of NodePool denied');
    });

    it('the status of an AKSNodeClass that may not be written: pods of pools of another class get nodes', async () => {
      const status = { group: 'karpenter.azure.com', version: 'v1beta1', resource: 'aksnodeclasses/status' } as const;
      const name = 'this-class-says-nothing';
      const allowed = "!object.metadata.name.startsWith('silent')";
      const classNamed = (own: string): object => ({ ...nodeClass, metadata: { name: own } });
      await world.apply(classNamed('silent-first'));
      await denied({ ...status, name, operation: 'UPDATE', allowed }, () =>
        dry(`${CLASSES}/silent-first/status`, { status: { kubernetesVersion: '7' } }),
      );
      await world.apply(classNamed('silent'), nodePool('wanting', { nodeClass: 'silent' }), nodePool('general'));
      await world.apply(deployment('other', 2, inPool('general')));
      await runs('other', 2);
      const told = await described('aksnodeclass', 'silent', `ValidatingAdmissionPolicy '${name}'`);
      expect(told).toContain('patch the status of AKSNodeClass silent');
      for (const lift of lifts.splice(0)) await lift();
      await world.api.remove(`${POOLS}/wanting`, {});
      for (const own of ['silent', 'silent-first']) await world.api.remove(`${CLASSES}/${own}`, {});
    });

    it.each([
      ['evicted', { ...core, resource: 'pods/eviction', operation: 'CREATE' }, {}],
      [
        'deleted by its deadline',
        { ...core, resource: 'pods', operation: 'DELETE' },
        { terminationGracePeriod: '10s' },
      ],
    ] as const)('a pod that may not be %s: the other node drains', async (how, what, template) => {
      const protects =
        how === 'evicted' ? {} : { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } };
      const [stays, goes] = await two('moves', nodePool('general', { requirements: smallest, template }));
      const { pods } = await world.state();
      const pod = pods.find(({ spec }) => spec.nodeName === `aks-${stays}`)?.metadata.name ?? '';
      const name = `pods-are-not-${how.replaceAll(' ', '-')}`;
      await world.api.patch(`${PODS}/${pod}`, 'merge', { metadata: { labels: { app: 'moves' } }, ...protects });
      await denied({ ...what, name, allowed: `request.name != '${pod}'` }, () =>
        how === 'evicted'
          ? world.api.create(`${PODS}/${pod}/eviction`, {
              apiVersion: 'policy/v1',
              kind: 'Eviction',
              metadata: { name: pod, namespace: 'default' },
              deleteOptions: { dryRun: ['All'] },
            })
          : world.api.remove(`${PODS}/${pod}`, DRY),
      );
      for (const claim of [stays, goes]) await world.api.remove(`${CLAIMS}/${claim}`, {});
      await world.until('the other is gone', isGone(goes));
      expect(isThere(stays, await world.state())).toBe(true);
      const told = await described('pod', pod, `ValidatingAdmissionPolicy '${name}'`);
      expect(told).toContain('exempt the identity of Nodewright from that policy');
    });

    it('a Node that may not be deleted: it is drained all the same, the other goes, and it too when the policy is gone', async () => {
      const [stays, goes] = await two('moves', nodePool('general', { requirements: smallest }));
      const node = `aks-${stays}`;
      await denied(
        {
          ...core,
          resource: 'nodes',
          operation: 'DELETE',
          name: 'this-node-is-kept',
          allowed: `request.name != '${node}'`,
        },
        () => world.api.remove(`${NODES}/${node}`, DRY),
      );
      for (const claim of [stays, goes]) await world.api.remove(`${CLAIMS}/${claim}`, {});
      await world.until('the other is gone', isGone(goes));
      await world.until(
        'its pods have left, and its machine',
        ({ pods, vms }) => pods.every(({ spec }) => spec.nodeName !== node) && !vms.some(({ name }) => name === node),
      );
      expect(isThere(stays, await world.state())).toBe(true);
      const told = await described('node', node, "ValidatingAdmissionPolicy 'this-node-is-kept'");
      expect(told).toContain(`delete Node ${node}`);
      for (const lift of lifts.splice(0)) await lift();
      await world.until('it is gone, too', isGone(stays));
      await expectConsistent(world, { pods: 2 });
    });

    it('events that may not be written: all goes on, and the log has what is denied, and by whom', async () => {
      await denied(
        {
          ...core,
          resource: 'events',
          operation: 'CREATE',
          name: 'no-news',
          allowed: "!has(object.reportingComponent) || object.reportingComponent != 'karpenter'",
        },
        () =>
          world.api.create(`${EVENTS}?dryRun=All`, {
            apiVersion: 'v1',
            kind: 'Event',
            metadata: { name: 'tried', namespace: 'default' },
            involvedObject: { kind: 'Node', name: 'n' },
            reason: 'Tried',
            reportingComponent: 'karpenter',
          }),
      );
      const nowhere = [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['mars-1'] }];
      await world.apply(
        nodePool('hopeless', { requirements: nowhere }),
        nodePool('general'),
        deployment('wanting', 1, inPool('hopeless')),
        deployment('other', 2, inPool('general')),
      );
      await runs('other', 2);
      await world.until('the log has what could not be said', () =>
        world.lines.some(
          (line) => line.includes('"event-lost"') && line.includes("ValidatingAdmissionPolicy 'no-news'"),
        ),
      );
      const lost = world.lines.find((line) => line.includes('"event-lost"')) ?? '';
      expect(lost).toContain('"kind":"');
      expect(lost).toContain('"message":"');
    });
  });
}
