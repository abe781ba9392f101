import { describe, expect, test } from 'vitest';
import type { Gathered } from '../../../../shared/app/gather/gather.ts';
import { letSpareIn } from '../../../../shared/app/provision/let-spare-in.ts';
import type { PodReference } from '../../../../shared/core/model/plan.ts';
import { smallCluster } from '../../../kit/app/small-cluster.ts';

/** A pod that a mover is: where it runs; null where it waits. */
interface Mover {
  readonly nodeName: string | null;
  readonly deleting?: boolean;
}

/** A node that is kept for one pod, `mover`; a plan sends `p`, which waits, there. Answers whether it is let in. */
async function isLetIn(mover: Mover, given: { readonly placed?: boolean; readonly promised?: boolean } = {}) {
  const { ports, addClaim, addPod, server } = smallCluster();
  addClaim('c');
  const p = addPod('p');
  const claim = await ports.kubernetes.get('NodeClaim', { name: 'c', namespace: null });
  const pods = [
    { uid: 'mover', deleting: false, ...mover },
    { uid: p.uid, nodeName: null, deleting: false },
  ];
  const gathered = {
    snapshot: { pods },
    input: { inFlight: new Map([['c', { pods: ['mover', ...(given.promised === true ? [p.uid] : [])] }]]) },
    kept: new Map([['aks-c', { claim, value: 'c' }]]),
  } as unknown as Gathered;
  const sent: ReadonlyArray<PodReference> = [p, ...(given.placed === true ? [{ name: 'mover', uid: 'mover' }] : [])];
  await letSpareIn(ports, gathered, { nominations: [{ target: { kind: 'node', name: 'aks-c' }, pods: sent }] });
  return (server.get('pods', 'default/p')?.spec?.['tolerations'] ?? []).length > 0;
}

describe('a pod that a plan sends to a node that is kept for another', () => {
  test.each([
    ['which the plan gives its place there', { nodeName: 'aks-old' }, { placed: true }, true],
    ['which has come', { nodeName: 'aks-c' }, {}, true],
    ['which goes, and whose successor has not come', { nodeName: 'aks-old', deleting: true }, {}, true],
    ['which nothing may evict yet, so that the plan does not know of it', { nodeName: 'aks-old' }, {}, false],
  ] as const)('%s', async (_, mover, given, expected) => {
    expect(await isLetIn(mover, given)).toBe(expected);
  });

  test('is let in by others where it is one of those that it is kept for', async () => {
    expect(await isLetIn({ nodeName: 'aks-c' }, { promised: true })).toBe(false);
  });
});
