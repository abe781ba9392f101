import { expect, test } from 'vitest';
import type { Gathered } from '../../../../shared/app/gather/gather.ts';
import { tellHeldBack } from '../../../../shared/app/provision/tell-held-back.ts';
import type { Plan } from '../../../../shared/core/model/plan.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { smallCluster } from '../../../kit/app/small-cluster.ts';

test('only pods that wait, and have their place on a node that is in use, are told, and once an hour', async () => {
  const { ports, server, clock, addPod } = smallCluster();
  const [p, q] = [addPod('p'), addPod('q')];
  const label = (value: string): Fields => ({ 'karpenter.sh/initialized': value });
  const waits = { nodeName: null, unschedulable: true, shape: 0 };
  const gathered = {
    snapshot: {
      nodes: [
        { metadata: { name: 'goes', labels: label('true'), deletionTimestamp: 'now' } },
        { metadata: { name: 'used', labels: label('true') } },
        { metadata: { name: 'starts', labels: {} } },
      ],
      pods: [
        { uid: p.uid, ...waits },
        { uid: q.uid, ...waits, nodeName: 'used' },
      ],
    },
    input: { crowds: new Map([[0, 2]]) },
  } as unknown as Gathered;
  const send = async (kind: 'node' | 'claim', name: string): Promise<ReadonlyArray<string>> => {
    const nominations: Plan['nominations'] = [{ target: { kind, name }, pods: [p, q] }];
    await tellHeldBack(ports, gathered, { nominations });
    return server.list('events').map((event) => (event as Fields)['involvedObject'].name as string);
  };
  expect(await send('claim', 'used')).toEqual([]);
  expect(await send('node', 'starts')).toEqual([]);
  expect(await send('node', 'used')).toEqual(['p']);
  const countOf = (): unknown => (server.list('events')[0] as Fields | undefined)?.['count'];
  const before = [server.list('events').length, countOf()];
  clock.advance(3_599_000);
  await send('node', 'used');
  expect([server.list('events').length, countOf()]).toEqual(before);
});
