import { describe, expect, test } from 'vitest';
import {
  createdAtMs,
  deleteClaim,
  ensureFinalizer,
  eventAbout,
  transitionMs,
  writeStatus,
} from '../../../../shared/app/claims/node-claim.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import type { NodeClaim } from '../../../../shared/kubernetes/manifest.ts';
import { LostRaceError, RefusedError } from '../../../../shared/ports/errors.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { denying, since, smallCluster, START } from '../../../kit/app/small-cluster.ts';

const GIVEN_UP = 'nodewright.dev/given-up';
const FINALIZER = 'karpenter.sh/termination';

/** Claim `c` as it is read now. */
async function read(given: Parameters<ReturnType<typeof smallCluster>['addClaim']>[1] = {}) {
  const cluster = smallCluster();
  const { ports, server, trace } = cluster;
  cluster.addClaim('c', given);
  const claim = await ports.kubernetes.get('NodeClaim', { name: 'c', namespace: null });
  if (claim === null) throw new Error('there is no claim');
  trace.length = 0;
  const lines: Array<Fields> = [];
  const log: Ports['log'] = (event, facts) => void lines.push({ event, ...facts });
  /** Somebody else writes to it. */
  const touch = (): void =>
    void server.patch('nodeclaims', 'c', { metadata: { annotations: { written: 'meanwhile' } } }, 'object');
  return {
    ...cluster,
    ports: { ...ports, log },
    claim,
    lines,
    touch,
    told: () => server.list('events').map((event) => (event as Fields)['reason']),
    writes: () => trace.filter((step) => !step.startsWith('GET')),
    givenUp: () => server.get('nodeclaims', 'c')?.metadata.annotations?.[GIVEN_UP],
  };
}

describe('a claim that is given up', () => {
  const late = (claim: NodeClaim) => eventAbout(claim, 'Warning', 'LaunchTimeout', 'not launched');

  test('says why on itself and by an event, and is on its way out', async () => {
    const { ports, claim, stateOf, told, givenUp, lines } = await read();
    expect(await deleteClaim(ports, claim, late(claim))).toEqual({ kind: 'ended', why: 'LaunchTimeout' });
    expect([stateOf('c'), told(), givenUp()]).toEqual(['leaving', ['LaunchTimeout'], 'LaunchTimeout']);
    expect(lines).toMatchObject([{ event: 'nodeclaim-deleted', reason: 'LaunchTimeout', message: 'not launched' }]);
  });

  test('stays, and tells nobody, where somebody has written to it since it was read', async () => {
    const { ports, claim, stateOf, told, touch, givenUp } = await read();
    touch();
    await expect(deleteClaim(ports, claim, late(claim))).rejects.toThrow(LostRaceError);
    expect([stateOf('c'), told(), givenUp()]).toEqual(['there', [], undefined]);
  });

  test('stays where somebody writes to it between the word on it and its deletion', async () => {
    const { ports, claim, stateOf, touch, outside, lines } = await read();
    outside.onRequest = ({ method }) => {
      if (method === 'DELETE') touch();
    };
    await expect(deleteClaim(ports, claim, late(claim))).rejects.toThrow(LostRaceError);
    expect([stateOf('c'), lines]).toEqual(['there', []]);
  });

  test('goes though a policy denies the word on it', async () => {
    const { ports, claim, stateOf, outside, givenUp } = await read();
    outside.deny = denying('PATCH', '/nodeclaims/c');
    await deleteClaim(ports, claim, late(claim));
    expect([stateOf('c'), givenUp()]).toEqual(['leaving', undefined]);
  });

  test('stays where another has its name by then', async () => {
    const { ports, claim, stateOf, server, addClaim, givenUp } = await read();
    server.remove('nodeclaims', 'c');
    addClaim('c');
    await expect(deleteClaim(ports, claim, late(claim))).rejects.toThrow(LostRaceError);
    await expect(deleteClaim(ports, claim, null)).rejects.toThrow(LostRaceError);
    expect([stateOf('c'), givenUp()]).toEqual(['there', undefined]);
  });

  test('has gone, and that is no error, where another was quicker', async () => {
    const { ports, claim, server } = await read();
    server.remove('nodeclaims', 'c');
    expect(await deleteClaim(ports, claim, late(claim))).toEqual({ kind: 'ended', why: 'LaunchTimeout' });
  });
});

test('a claim that goes as somebody wants it to is not called given up', async () => {
  const { ports, claim, stateOf, told, givenUp } = await read();
  await deleteClaim(ports, claim, eventAbout(claim, 'Normal', 'NodeDeleted', 'Node aks-c was deleted'));
  expect([stateOf('c'), told(), givenUp()]).toEqual(['leaving', ['NodeDeleted'], undefined]);
});

test('a claim may be deleted without a word', async () => {
  const { ports, claim, stateOf, told, lines } = await read();
  expect(await deleteClaim(ports, claim, null)).toEqual({ kind: 'ended', why: 'deleted' });
  expect([stateOf('c'), told()]).toEqual(['leaving', []]);
  expect(lines).toMatchObject([{ reason: null, message: null }]);
});

describe('our finalizer', () => {
  test('is added to those of others, once', async () => {
    const { ports, claim, writes } = await read({ finalizers: ['a/b'] });
    const held = await ensureFinalizer(ports, claim);
    expect(held.metadata.finalizers).toEqual(['a/b', FINALIZER]);
    expect(await ensureFinalizer(ports, held)).toBe(held);
    expect(writes()).toHaveLength(1);
  });

  test('is not written over what somebody else wrote meanwhile, nor where a policy denies it', async () => {
    const { ports, claim, server, touch, outside } = await read({ finalizers: ['a/b'] });
    touch();
    await expect(ensureFinalizer(ports, claim)).rejects.toThrow(LostRaceError);
    outside.deny = denying('PATCH', '/nodeclaims/c');
    await expect(ensureFinalizer(ports, claim)).rejects.toThrow(RefusedError);
    expect(server.get('nodeclaims', 'c')?.metadata.finalizers).toEqual(['a/b']);
  });
});

describe('the status of a claim', () => {
  const launched = { type: 'Launched', status: 'True', reason: 'Launched', message: '' } as const;

  test('is written where a condition or a field of it changes, and else not', async () => {
    const { ports, claim, writes } = await read();
    const once = await writeStatus(ports, claim, { conditions: [launched], fields: { providerID: 'azure://c' } });
    expect(writes()).toHaveLength(1);
    const again = { conditions: [launched], fields: { providerID: 'azure://c' } };
    expect(await writeStatus(ports, once, again)).toBe(once);
    expect(writes()).toHaveLength(1);
    await writeStatus(ports, once, { conditions: [], fields: { imageID: 'image' } });
    expect(writes()).toHaveLength(2);
  });

  test('keeps what others have in it, and conditions that are not taken off', async () => {
    const { ports, claim, server, conditionOf } = await read({
      status: { nodeName: 'aks-c', conditions: [since(START, 'Theirs'), since(START, 'Drifted')] },
    });
    await writeStatus(ports, claim, { conditions: [launched], clear: ['Drifted'] });
    expect(server.get('nodeclaims', 'c')?.status?.['nodeName']).toBe('aks-c');
    const shown = ['Theirs', 'Drifted', 'Launched'].map((type) => conditionOf('c', type)?.['status']);
    expect(shown).toEqual(['True', undefined, 'True']);
  });

  test('begins where there is none, with all that is awaited since the claim was made', async () => {
    const { ports, claim, clock, conditionOf } = await read();
    const { status: _, ...bare } = claim;
    expect(transitionMs(bare, 'Launched')).toBe(START);
    clock.advance(7_000);
    await writeStatus(ports, bare, { conditions: [launched] });
    const times = ['Launched', 'Registered'].map((type) => conditionOf('c', type)?.['lastTransitionTime']);
    expect(times).toEqual(['2026-12-01T00:00:07Z', '2026-12-01T00:00:00Z']);
  });

  test('says which generation of the claim it is of', async () => {
    const { ports, server, conditionOf } = await read();
    server.patch('nodeclaims', 'c', { spec: { expireAfter: '1h' } }, 'object');
    const claim = await ports.kubernetes.get('NodeClaim', { name: 'c', namespace: null });
    if (claim === null) throw new Error('there is no claim');
    await writeStatus(ports, claim, { conditions: [launched] });
    expect(conditionOf('c', 'Launched')?.['observedGeneration']).toBe(2);
  });

  test('is not written over what somebody else wrote meanwhile', async () => {
    const { ports, claim, touch, conditionOf } = await read();
    touch();
    await expect(writeStatus(ports, claim, { conditions: [launched] })).rejects.toThrow(LostRaceError);
    expect(conditionOf('c', 'Launched')).toBeUndefined();
  });
});

test('a condition counts from when it last changed, and from the creation of its claim where nobody has said when', async () => {
  const { claim } = await read({
    status: { conditions: [since(START + 5_000, 'Launched'), { type: 'Registered', status: 'True' }] },
  });
  expect(createdAtMs(claim)).toBe(START);
  const times = ['Launched', 'Registered', 'Initialized'].map((type) => transitionMs(claim, type));
  expect(times).toEqual([START + 5_000, START, START]);
});
