import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Kubectl, kubectlOf } from '../../contract/kubernetes/kubectl.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { isRunning } from '../kit/state.ts';
import { startWorld, type World } from '../kit/world.ts';

const assets = process.env['KUBEBUILDER_ASSETS'];

const eager = {
  disruption: { consolidateAfter: '0s', consolidationPolicy: 'WhenEmptyOrUnderutilized', budgets: [{ nodes: '100%' }] },
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

/** Names that are drawn, ages and decisions, so that a run compares with another. */
function named(line: string): string {
  return line
    .replaceAll(/\b(aks-)?general-[a-z0-9]{8}\b/g, '$1general-NAME')
    .replaceAll(/\bweb-[a-z0-9]+-[a-z0-9]{5}\b/g, 'web-NAME')
    .replaceAll(/\b\d{9}-[a-z0-9]{13}\b/g, 'DECISION')
    .replaceAll(/\bwesteurope-\d\b/g, 'ZONE');
}

/**
 * The lines of `kubectl describe` that have one of the words: of events reason and message, of an annotation both of
 * its lines.
 */
function linesWith(printed: string, ...words: ReadonlyArray<string>): ReadonlyArray<string> {
  const lines = printed.split('\n').map((line) => line.trim());
  return lines.flatMap((line, index) => {
    if (!words.some((word) => line.includes(word))) return [];
    const event = /^(?:Normal|Warning) +(\w+) +.*? +karpenter +(.*)$/.exec(line);
    if (event !== null) return [named(`${event[1] ?? ''}: ${event[2] ?? ''}`)];
    return /^nodewright\.dev\/.*:$/.test(line) ? [named(`${line} ${lines[index + 1] ?? ''}`)] : [named(line)];
  });
}

/**
 * Six questions that somebody has about a pod or a node, each answered by `kubectl describe` of one object, as it
 * prints it. The control plane is the sandbox's; kubectl is the real one.
 */
describe.skipIf(assets === undefined)('kubectl describe alone answers', () => {
  let world: World;
  let kubectl: Kubectl;
  const describeOf = async (kind: string, name: string): Promise<string> =>
    (await kubectl(['describe', kind, name])).out;
  /** Prints the object until one of its lines has the word: events are written after what they are about. */
  const printedWith = async (word: string, kind: string, name: string): Promise<string> => {
    let printed = '';
    await world.until(`${kind} ${name} says ${word}`, async () => {
      printed = await describeOf(kind, name);
      return printed.includes(word);
    });
    return printed;
  };

  beforeAll(async () => {
    world = await startWorld('embedded');
    kubectl = kubectlOf(join(assets ?? '', 'kubectl'), world.sandbox.cluster.kubeconfigPath);
    await world.apply(nodeClass, nodePool('general', { spec: eager }), deployment('web', 3), misplaced);
    await world.until('three pods run', ({ pods }) => pods.filter(isRunning).length === 3);
  });
  afterAll(() => world.close());

  /** The one node that the pods need. */
  const theNode = async (): Promise<string> => {
    const { pods } = await world.state();
    return pods.find(isRunning)?.spec.nodeName ?? '';
  };

  test('why a pod is pending', async () => {
    const printed = await printedWith('karpenter', 'pod', 'misplaced');
    expect(linesWith(printed, 'karpenter')).toMatchInlineSnapshot(`
      [
        "FailedScheduling: Failed to schedule pod, general: the pod asks for topology.kubernetes.io/zone In [ZONE], which no node of the NodePool has; let the pod ask for topology.kubernetes.io/zone In [ZONE]",
      ]
    `);
  });

  test('whether help is on its way', async () => {
    const { pods } = await world.state();
    const own = pods.find(isRunning)?.metadata.name ?? '';
    // A scheduler that takes its time leaves the pod for a plan that knows the node: that one is told, too.
    const printed = await printedWith('nodeclaim/', 'pod', own);
    expect(linesWith(printed, 'nodeclaim/')).toMatchInlineSnapshot(`
      [
        "Nominated: Pod should schedule on: nodeclaim/general-NAME, planned as Standard_D4als_v6 (on-demand) in ZONE at $0.194 an hour",
      ]
    `);
  });

  test('why a node has this size, also as the event of its NodeClaim', async () => {
    const node = await theNode();
    expect(linesWith(await describeOf('node', node), 'size-reason')).toMatchInlineSnapshot(`
      [
        "nodewright.dev/size-reason: holds 3 pods; ruled out 119 cheaper offerings, such as Standard_D2ls_v5: too small: the pods want 3 cpu, it has 1.9",
      ]
    `);
    const claim = await printedWith('Reason: Initialized', 'nodeclaim', node.replace(/^aks-/, ''));
    expect(linesWith(claim, 'Launched  ', 'Registered  ', 'Initialized  ')).toMatchInlineSnapshot(`
      [
        "Launched: Status condition transitioned, Type: Launched, Status: Unknown -> True, Reason: Launched, Message: Standard_D4als_v6 (on-demand) in ZONE at $0.194 an hour: holds 3 pods; ruled out 119 cheaper offerings, such as Standard_D2ls_v5: too small: the pods want 3 cpu, it has 1.9",
        "Registered: Status condition transitioned, Type: Registered, Status: Unknown -> True, Reason: Registered",
        "Initialized: Status condition transitioned, Type: Initialized, Status: Unknown -> True, Reason: Initialized",
      ]
    `);
  });

  test('what a node costs', async () => {
    const node = await theNode();
    const told = linesWith(await describeOf('node', node), 'price-per-hour');
    expect(told).toMatchInlineSnapshot(`
      [
        "nodewright.dev/price-per-hour: 0.194 USD",
      ]
    `);
    expect(linesWith(await describeOf('nodeclaim', node.replace(/^aks-/, '')), 'price-per-hour')).toEqual(told);
  });

  test('why a node stays', async () => {
    const printed = await printedWith('Unconsolidatable', 'node', await theNode());
    expect(linesWith(printed, 'karpenter ')).toMatchInlineSnapshot(`
      [
        "Unconsolidatable: No other node has room for pod default/web-NAME",
      ]
    `);
  });

  test('why a node went, after it has gone', async () => {
    const went = (await theNode()).replace(/^aks-/, '');
    await world.apply(deployment('web', 1));
    await world.until('the node has gone', ({ claims }) => claims.every(({ metadata }) => metadata.name !== went));
    const printed = await printedWith('DisruptionPlanned', 'nodepool', 'general');
    expect(linesWith(printed, 'DisruptionPlanned')).toMatchInlineSnapshot(`
      [
        "DisruptionPlanned: Decision DECISION removes aks-general-NAME: Underutilized, saves $0.097 an hour; 1 pod moves to nodeclaim/general-NAME (1); replaced by nodeclaim/general-NAME, Standard_D2ls_v5 (on-demand) in ZONE at $0.097 an hour",
      ]
    `);
  });
});
