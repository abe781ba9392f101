import { describe, expect, test } from 'vitest';
import { follow } from '../../../../shared/app/follow/follow.ts';
import { RefusedError, RetryableError } from '../../../../shared/ports/errors.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { START, denying, machine, since, smallCluster } from '../../../kit/app/small-cluster.ts';

/** Claims whose node has joined, and those whose node is missed. */

const MINUTE_MS = 60_000;
const C = { kind: 'NodeClaim', name: 'c' } as const;
const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };

/** Claim `c`, launched at the start. */
function claimed(types: ReadonlyArray<string>, withMachine = true) {
  const cluster = smallCluster();
  cluster.addClass('True');
  cluster.addPool();
  cluster.addClaim('c', {
    labels: { 'karpenter.sh/nodepool': 'general' },
    status: { providerID: 'azure://c', conditions: types.map((type) => since(START, type)) },
  });
  if (withMachine) cluster.azure.machines.set('c', machine('c'));
  return cluster;
}

describe('a node that has joined', () => {
  const joining = (failure: Error) => {
    const { ports, addNode, ...cluster } = claimed(['Launched']);
    addNode('c', { taints: [unregistered] });
    const logged: Array<unknown> = [];
    const failing = async (): Promise<never> => Promise.reject(failure);
    const through = {
      ...ports,
      cloud: { ...ports.cloud, equip: failing },
      log: (event: string, facts: object) => void logged.push([event, facts]),
    };
    return { ...cluster, logged, join: () => follow(through, C) };
  };

  test('is in use though its machine cannot get the rest of its equipment now, and the log says why', async () => {
    const { join, logged, conditionOf } = joining(new RetryableError('Azure is busy'));
    await join();
    expect(conditionOf('c', 'Registered')?.['status']).toBe('True');
    expect(logged).toContainEqual(['machine-not-equipped', { claim: 'c', why: 'Azure is busy' }]);
  });

  test('hides no fault of ours by that', async () => {
    await expect(joining(new TypeError('a fault')).join()).rejects.toThrow('a fault');
  });
});

describe('a registered claim whose node is missed, which a policy keeps us from saying', () => {
  function missed() {
    const cluster = claimed(['Launched', 'Registered']);
    cluster.outside.deny = denying('PATCH', '/nodeclaims/c/status');
    const at = (minute: number): ReturnType<typeof follow> => {
      cluster.clock.advance(START + minute * MINUTE_MS - cluster.clock.now());
      return follow(cluster.ports, C);
    };
    return { ...cluster, at };
  }

  test('is given up once it has been missed for as long as a node may take to join', async () => {
    const { at, stateOf } = missed();
    for (let minute = 0; minute < 15; minute++) await expect(at(minute)).rejects.toThrow(RefusedError);
    expect(await at(15)).toEqual({ kind: 'ended', why: 'RegistrationTimeout' });
    expect(stateOf('c')).toBe('leaving');
  });

  test('stays where it has been missed now and then in that time', async () => {
    const { at, stateOf } = missed();
    for (let minute = 0; minute < 40; minute += 2) await expect(at(minute)).rejects.toThrow(RefusedError);
    expect(stateOf('c')).toBe('there');
  });
});

test('a claim whose node is another machine’s, and whose own is gone, says which machine it misses', async () => {
  const { ports, addNode, server } = claimed(['Launched', 'Registered'], false);
  addNode('c', { id: 'other' });
  expect(await follow(ports, C)).toMatchObject({ kind: 'ended' });
  const messages = server.list('events').map((event) => (event as unknown as Fields)['message'] as string);
  expect(messages).toContain('no machine has the providerID azure://c');
});
