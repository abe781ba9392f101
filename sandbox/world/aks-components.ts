import { connect } from '../kubernetes/client/connection.ts';
import { hasCondition, type Node, type Taint } from '../kubernetes/client/objects.ts';
import { watchObjects } from '../kubernetes/client/watch-objects.ts';
import type { ClusterNetwork } from '../node/readiness.ts';

/** A taint that a component of AKS takes off a node once it is ready there. */
interface Component {
  readonly key: string;
  readonly name: string;
  /** Whether a cluster with that network has the component. */
  readonly isIn: (network: ClusterNetwork) => boolean;
}

/**
 * By their documentation, 2026-08: Cilium's agent, and the CSI drivers that AKS brings. Other startup taints are
 * nobody's here.
 */
const COMPONENTS: ReadonlyArray<Component> = [
  {
    key: 'node.cilium.io/agent-not-ready',
    name: "Cilium's agent",
    isIn: ({ dataplane }) => dataplane === 'cilium',
  },
  { key: 'disk.csi.azure.com/agent-not-ready', name: "Azure Disk's driver", isIn: () => true },
  { key: 'file.csi.azure.com/agent-not-ready', name: "Azure Files' driver", isIn: () => true },
];

/** From a node that is ready to its components, as their Pods start on it. */
const START_MS = 3_000;
const LOOK_MS = 500;

/** What one component does on one node. */
export interface TakenOff {
  readonly node: Node;
  readonly component: string;
  readonly taint: Taint;
}

/** The taints that are due: on nodes that have been ready for a while, by `readySince` in milliseconds. Pure. */
export function dueTaints(
  nodes: Iterable<Node>,
  { network, readySince, nowMs }: { network: ClusterNetwork; readySince: ReadonlyMap<string, number>; nowMs: number },
): ReadonlyArray<TakenOff> {
  const components = new Map(COMPONENTS.filter(({ isIn }) => isIn(network)).map(({ key, name }) => [key, name]));
  return [...nodes].flatMap((node) => {
    const since = readySince.get(node.metadata.name);
    if (since === undefined || nowMs - since < START_MS) return [];
    return (node.spec?.taints ?? []).flatMap((taint) => {
      const component = components.get(taint.key);
      return component === undefined ? [] : [{ node, component, taint }];
    });
  });
}

/** What a component has done, in one sentence for all its nodes. */
export function takenOffSentences(taken: ReadonlyArray<TakenOff>): ReadonlyArray<string> {
  return [...Map.groupBy(taken, ({ component }) => component)].map(([component, all]) => {
    const [first] = all;
    const where = all.length === 1 ? (first?.node.metadata.name ?? '') : `${all.length} nodes`;
    return `${component} is ready on ${where} and has taken off the startup taint ${first?.taint.key ?? ''}.`;
  });
}

/** What the components need. `onLine` gets a sentence for what they have done. */
export interface ComponentParts {
  readonly kubeconfig: string;
  readonly network: ClusterNetwork;
  readonly onLine: (line: string) => void;
}

/**
 * Plays the components of AKS that take startup taints off nodes, without which such nodes wait for ever. The answer
 * ends it.
 */
export function playAksComponents({ kubeconfig, network, onLine }: ComponentParts): () => void {
  const connection = connect(kubeconfig);
  const readySince = new Map<string, number>();
  const nodes = watchObjects<Node>({
    connection,
    path: '/api/v1/nodes',
    query: '',
    onChange: ({ metadata, status }) => {
      if (!hasCondition(status?.conditions, 'Ready')) readySince.delete(metadata.name);
      else if (!readySince.has(metadata.name)) readySince.set(metadata.name, Date.now());
    },
    onDelete: ({ metadata }) => void readySince.delete(metadata.name),
  });
  let isBusy = false;
  const look = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    const due = dueTaints(nodes.objects.values(), { network, readySince, nowMs: Date.now() });
    const done: Array<TakenOff> = [];
    for (const [node, all] of Map.groupBy(due, (one) => one.node)) {
      const { name, resourceVersion } = node.metadata;
      const taints = (node.spec?.taints ?? []).filter((taint) => !all.some((one) => one.taint === taint));
      const patch = { metadata: { resourceVersion }, spec: { taints } };
      // Where somebody else has written the node meanwhile the next look tries again.
      const written = connection.patch(`/api/v1/nodes/${name}`, 'merge', patch).then(() => done.push(...all));
      await written.catch(() => undefined);
    }
    for (const sentence of takenOffSentences(done)) onLine(sentence);
    isBusy = false;
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    nodes.close();
    connection.close();
  };
}
