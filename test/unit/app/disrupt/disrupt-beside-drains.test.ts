import { expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { consolidated } from '../../../kit/app/consolidated.ts';

test.each([
  // Both are empty, and one of them is the pod's new place.
  ['that is on its way', {}, 1],
  // As nobody may evict it, no room was made for it, and none is kept: it stays as long as its node does.
  ['that may not be disrupted', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } }, 2],
])(
  'room for a pod %s, on a node that is being removed, stays or goes with what is empty beside it [L10]',
  async (_, pod, nodes) => {
    const { ports, server, addReady, addRunning, marks } = consolidated();
    addReady('stuck');
    addRunning('kept', 'stuck', pod);
    server.delete('nodeclaims', 'stuck');
    addReady('other');
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes });
    expect([marks('spare'), marks('other')].filter(({ tainted }) => tainted)).toHaveLength(nodes);
  },
);
