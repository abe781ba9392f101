import type { Finding, Subject } from '../audit/seen/finding.ts';
import type { Plan, PlannedClaim, PodReference } from '../model/plan.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';

/** What findings say is wrong, as parts of the input that can be left out. */
export interface Named {
  /** Indexes of shapes: pods that are alike meet the same fault. */
  readonly shapes: ReadonlySet<number>;
  /** Pools whose claims have no pods: static ones. */
  readonly staticPools: ReadonlySet<string>;
}

export const NOTHING_NAMED: Named = { shapes: new Set(), staticPools: new Set() };

export function isNothingNamed({ shapes, staticPools }: Named): boolean {
  return shapes.size + staticPools.size === 0;
}

/** Both, and how much that is. */
export function together(a: Named, b: Named): { readonly named: Named; readonly size: number } {
  const shapes = new Set([...a.shapes, ...b.shapes]);
  const staticPools = new Set([...a.staticPools, ...b.staticPools]);
  return { named: { shapes, staticPools }, size: shapes.size + staticPools.size };
}

/** What the findings name of the plan's input, and the NodePools among it. */
export function namedBy(
  findings: ReadonlyArray<Finding>,
  plan: Plan,
  { cluster }: ProvisioningInput,
): { readonly named: Named; readonly nodePools: ReadonlyArray<string> } {
  const shapeOf = new Map(cluster.pods.map(({ uid, shape }) => [uid, shape]));
  const fixed = new Set(
    cluster.nodePools.flatMap(({ metadata, spec }) => (spec.replicas === undefined ? [] : [metadata.name])),
  );
  const shapes = new Set<number>();
  const staticPools = new Set<string>();
  const nodePools = new Set<string>();
  const nameAll = (pods: ReadonlyArray<PodReference>): void => {
    for (const { uid } of pods) {
      const shape = shapeOf.get(uid);
      if (shape !== undefined) shapes.add(shape);
    }
  };
  const nameClaim = ({ nodePool, pods }: PlannedClaim): void => {
    nodePools.add(nodePool);
    if (pods.length === 0 && fixed.has(nodePool)) staticPools.add(nodePool);
    nameAll(pods);
  };
  for (const subject of findings.flatMap(({ about }) => about)) nameSubject(subject);
  return { named: { shapes, staticPools }, nodePools: [...nodePools].toSorted() };

  function nameSubject(subject: Subject): void {
    switch (subject.kind) {
      case 'planned': {
        const claim = plan.claims[subject.index];
        if (claim !== undefined) nameClaim(claim);
        return;
      }
      case 'pool':
        nodePools.add(subject.name);
        for (const claim of plan.claims) if (claim.nodePool === subject.name) nameClaim(claim);
        return;
      case 'node':
        for (const { target, pods } of plan.nominations) if (target.name === subject.name) nameAll(pods);
        return;
      case 'shape':
        shapes.add(subject.shape);
        return;
      case 'pod':
        nameAll([{ name: '', uid: subject.uid }]);
        return;
      default:
        subject satisfies never;
    }
  }
}

/**
 * The input without the pods and pools that are named: nothing is planned for them. `pending`: uids of all pods that
 * are planned for.
 */
export function withoutNamed(
  input: ProvisioningInput,
  { shapes, staticPools }: Named,
  pending: ReadonlySet<string>,
): ProvisioningInput {
  const { cluster } = input;
  return {
    ...input,
    cluster: {
      ...cluster,
      pods: cluster.pods.filter(({ uid, shape }) => !(shapes.has(shape) && pending.has(uid))),
      nodePools: cluster.nodePools.filter(({ metadata }) => !staticPools.has(metadata.name)),
    },
  };
}
